internal import BrumeModel
package import CBrumeProto

/// Memory for one message: protobuf-c unpacks into it, and messages to send are built in it.
///
/// Allocation moves a cursor through a chunk, and freeing does nothing; ``reset()`` frees everything at once and keeps
/// one chunk for the next message. The limit counts the bytes handed out, not the chunks that they are in: so a message
/// fits or does not, whatever the arena held before. Beyond the limit an allocation fails, which protobuf-c reports as
/// a failed unpack; ``isExhausted`` distinguishes it from damaged bytes.
///
/// Pointers into the arena live until the next reset. Not thread-safe.
package final class MessageArena {
    /// Kept in C memory, so that protobuf-c's callback reaches it without reference counting.
    private struct State {
        package var cursor: UnsafeMutableRawPointer?
        package var remaining = 0
        /// The newest chunk; each begins with a ``ChunkHeader``.
        package var chunk: UnsafeMutableRawPointer?
        /// Bytes of all chunks.
        package var allocated = 0
        /// Bytes handed out since the last reset, each allocation rounded up.
        package var used = 0
        package var nextChunkBytes: Int
        package let limit: Int
        package var isExhausted = false
    }

    private struct ChunkHeader {
        package var previous: UnsafeMutableRawPointer?
        package var bytes: Int
    }

    private static let firstChunkBytes = 16 * 1024

    /// What a reset keeps: a full request of 400 records of 1 KiB fits, and an idle loop doesn't hold on to the memory
    /// of the largest message that it ever saw.
    private static let retainedBytesLimit = 4 * 1024 * 1024

    /// The default bound of what one message may take in memory: 16 times ``Limits/requestBytes``.
    ///
    /// A record with text takes about twice its bytes. Fields of 11 bytes, such as a short key and a number, take 17
    /// times theirs (two structs, a pointer, a copy of the key, and protobuf-c's notes on each member), so all but the
    /// most fragmented requests of full size fit. Those beyond are refused with `limitExceeded`, which tells a client
    /// to send less at a time.
    package static let defaultBytesLimit = 16 * Limits.requestBytes

    private let state: UnsafeMutablePointer<State>

    /// What protobuf-c is given.
    package let allocator: UnsafeMutablePointer<ProtobufCAllocator>

    package init(bytesLimit: Int) {
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
    package var isExhausted: Bool { state.pointee.isExhausted }

    /// Bytes of memory that the arena holds now.
    package var allocatedBytes: Int { state.pointee.allocated }

    /// Frees everything that was allocated: all pointers into the arena become invalid.
    package func reset() {
        state.pointee.isExhausted = false
        state.pointee.used = 0
        guard let chunk = state.pointee.chunk else { return }
        let header = chunk.load(as: ChunkHeader.self)
        if header.previous == nil, header.bytes <= Self.retainedBytesLimit {
            state.pointee.cursor = chunk + MemoryLayout<ChunkHeader>.size
            state.pointee.remaining = header.bytes - MemoryLayout<ChunkHeader>.size
            return
        }
        // The next message replaces several chunks by one of their total size.
        state.pointee.nextChunkBytes = min(state.pointee.allocated, Self.retainedBytesLimit)
        Self.releaseChunks(state)
    }

    /// `size` bytes, aligned to 8, for a message that is being built; for arenas without a limit.
    package func allocate(_ size: Int) -> UnsafeMutableRawPointer {
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
        // The rest of the limit needs no larger chunk.
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

/// A generated `unpack` function.
package typealias Unpack<Message> = (
    UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
) -> UnsafeMutablePointer<Message>?

extension MessageArena {
    /// The message that `bytes` hold, valid until the next reset. Returns nil for bytes that are not one, and when the
    /// arena's limit is reached.
    package func unpack<Message>(_ unpack: Unpack<Message>, _ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<
        Message
    >? {
        unpack(allocator, bytes.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
}
