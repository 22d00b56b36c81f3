internal import Glibc

/// Bytes that wait for their turn: appended at the end, taken from the front, in one piece of memory.
///
/// It owns no memory while it is empty, so that an idle connection costs nothing.
struct ByteQueue: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private var end = 0

    init() {}

    deinit { free(memory) }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }

    /// The bytes, valid until the next change.
    var bytes: UnsafeRawBufferPointer {
        guard let memory else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: memory + start, count: count)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        (memory! + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Lets `body` write into at least `minimumCapacity` bytes and return how many it wrote.
    mutating func append(minimumCapacity: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        reserve(minimumCapacity)
        let space = UnsafeMutableRawBufferPointer(start: memory! + end, count: capacity - end)
        let written = body(space)
        precondition(memory.map { $0 + end } == space.baseAddress, "a queue was changed while it was written to")
        precondition(written >= 0 && written <= space.count, "more was written than there is room for")
        end += written
        if isEmpty { removeAll() }
    }

    mutating func removeFirst(_ count: Int) {
        precondition(count >= 0 && count <= self.count, "more is taken than there is")
        start += count
        if isEmpty { removeAll() }
    }

    mutating func removeAll() {
        free(memory)
        memory = nil
        (capacity, start, end) = (0, 0, 0)
    }

    private mutating func reserve(_ more: Int) {
        precondition(more >= 0, "a negative number of bytes")
        if memory != nil, capacity - end >= more { return }
        let needed = count + more
        // Moving what is left to the front is cheap only when that frees at least half.
        if let memory, needed <= capacity, start >= capacity / 2 {
            memory.copyMemory(from: memory + start, byteCount: count)
        } else {
            let newCapacity = max(needed, 2 * capacity, 1024)
            // Swift's allocation function requests aligned memory whatever the alignment is, which costs several times
            // as much.
            guard let new = malloc(newCapacity) else { preconditionFailure("there is no memory for a connection") }
            if let memory { new.copyMemory(from: memory + start, byteCount: count) }
            free(memory)
            memory = new
            capacity = newCapacity
        }
        end -= start
        start = 0
    }
}
