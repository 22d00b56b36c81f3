internal import CProtobufC

/// Memory for one message: protobuf-c unpacks into it, and messages to send are built in it.
///
/// Allocation moves a cursor through a chunk and a free is nothing; ``reset()`` takes everything back at once and keeps
/// one chunk for the next message. The limit counts what was handed out, not the chunks that it lies in: so a message
/// fits or does not, whatever the arena held before. Beyond it an allocation fails, which protobuf-c reports as a
/// failed unpack and ``isExhausted`` tells from damaged bytes.
///
/// Pointers into the arena live until the next reset. Not thread-safe.
final class MessageArena {
    /// Kept in C memory, so that protobuf-c's callback reaches it without reference counting.
    private struct State {
        var cursor: UnsafeMutableRawPointer?
        var remaining = 0
        /// The newest chunk; each begins with a ``ChunkHeader``.
        var chunk: UnsafeMutableRawPointer?
        /// Bytes of all chunks.
        var allocated = 0
        /// Bytes handed out since the last reset, each allocation rounded up.
        var used = 0
        var nextChunkBytes: Int
        let limit: Int
        var isExhausted = false
    }

    private struct ChunkHeader {
        var previous: UnsafeMutableRawPointer?
        var bytes: Int
    }

    private static let firstChunkBytes = 16 * 1024

    /// What a reset keeps: a full request of 400 records of 1 KiB fits, and an idle loop doesn't hold on to the memory
    /// of the largest message that it ever saw.
    private static let retainedBytesLimit = 4 * 1024 * 1024

    private let state: UnsafeMutablePointer<State>

    /// What protobuf-c is given.
    let allocator: UnsafeMutablePointer<ProtobufCAllocator>

    init(bytesLimit: Int) {
        state = .allocate(capacity: 1)
        state.initialize(to: State(nextChunkBytes: Self.firstChunkBytes, limit: bytesLimit))
        allocator = .allocate(capacity: 1)
        allocator.initialize(
            to: ProtobufCAllocator(
                alloc: { context, size in
                    MessageArena.allocate(size, from: context!.assumingMemoryBound(to: State.self))
                },
                free: { _, _ in },
                allocator_data: UnsafeMutableRawPointer(state)))
    }

    deinit {
        Self.releaseChunks(state)
        allocator.deallocate()
        state.deallocate()
    }

    /// Whether an allocation since the last reset was refused.
    var isExhausted: Bool { state.pointee.isExhausted }

    /// Bytes of memory that the arena holds now.
    var allocatedBytes: Int { state.pointee.allocated }

    /// Takes back everything that was allocated: all pointers into the arena are void.
    func reset() {
        state.pointee.isExhausted = false
        state.pointee.used = 0
        guard let chunk = state.pointee.chunk else { return }
        let header = chunk.load(as: ChunkHeader.self)
        if header.previous == nil, header.bytes <= Self.retainedBytesLimit {
            state.pointee.cursor = chunk + MemoryLayout<ChunkHeader>.size
            state.pointee.remaining = header.bytes - MemoryLayout<ChunkHeader>.size
            return
        }
        // Several chunks become one of their size at the next message.
        state.pointee.nextChunkBytes = min(state.pointee.allocated, Self.retainedBytesLimit)
        Self.releaseChunks(state)
    }

    /// `size` bytes, aligned to 8, for a message that is being built; for arenas without a limit.
    func allocate(_ size: Int) -> UnsafeMutableRawPointer {
        guard let memory = Self.allocate(size, from: state) else {
            preconditionFailure("an arena for building messages has no limit")
        }
        return memory
    }

    private static func allocate(_ size: Int, from state: UnsafeMutablePointer<State>) -> UnsafeMutableRawPointer? {
        // Sizes come from messages: one that can't be rounded up is refused like any that is too large.
        guard size >= 0, size <= Int.max - 4096 else {
            state.pointee.isExhausted = true
            return nil
        }
        let rounded = max((size + 7) & ~7, 8)
        guard rounded <= state.pointee.limit - state.pointee.used else {
            state.pointee.isExhausted = true
            return nil
        }
        state.pointee.used += rounded
        if rounded > state.pointee.remaining { addChunk(for: rounded, to: state) }
        let memory = state.pointee.cursor!
        state.pointee.cursor = memory + rounded
        state.pointee.remaining -= rounded
        return memory
    }

    private static func addChunk(for size: Int, to state: UnsafeMutablePointer<State>) {
        let needed = size + MemoryLayout<ChunkHeader>.size
        let bytes = max(state.pointee.nextChunkBytes, needed)
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 8)
        chunk.storeBytes(of: ChunkHeader(previous: state.pointee.chunk, bytes: bytes), as: ChunkHeader.self)
        state.pointee.chunk = chunk
        state.pointee.cursor = chunk + MemoryLayout<ChunkHeader>.size
        state.pointee.remaining = bytes - MemoryLayout<ChunkHeader>.size
        state.pointee.allocated += bytes
        // What is left of the limit needs no larger chunk.
        state.pointee.nextChunkBytes = min(
            bytes > Int.max / 2 ? bytes : bytes * 2, max(state.pointee.limit / 4, needed))
    }

    private static func releaseChunks(_ state: UnsafeMutablePointer<State>) {
        var next = state.pointee.chunk
        while let chunk = next {
            next = chunk.load(as: ChunkHeader.self).previous
            chunk.deallocate()
        }
        state.pointee.chunk = nil
        state.pointee.cursor = nil
        state.pointee.remaining = 0
        state.pointee.allocated = 0
    }
}
