internal import CSodium

/// 32 secret bytes (16 of a recovery code), which are wiped when nobody holds them any more.
///
/// Those that are kept lie in memory that is locked against being swapped out where the system allows it, that has
/// guards before and behind it, and that can't be written once it is filled. It takes some pages, of which the system
/// gives a process some ten thousands, and some thirty microseconds: what is derived from them for the work with one
/// record, and rings' keys, of which there are as many as others like, lie in ordinary memory.
package final class SecretKey: Sendable {
    package static let byteCount = 32

    /// Written in `init` alone.
    nonisolated(unsafe) private let memory: UnsafeMutableRawPointer
    let byteCount: Int
    let isLocked: Bool

    init(byteCount: Int = byteCount, isLocked: Bool = true, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        Sodium.start()
        self.byteCount = byteCount
        self.isLocked = isLocked
        if isLocked {
            guard let memory = sodium_malloc(byteCount) else {
                fatalError("there is no memory for a key of \(byteCount) bytes")
            }
            self.memory = memory
        } else {
            memory = .allocate(byteCount: byteCount, alignment: 16)
        }
        fill(UnsafeMutableRawBufferPointer(start: memory, count: byteCount))
        if isLocked { precondition(sodium_mprotect_readonly(memory) == 0, "the memory of a key can't be protected") }
    }

    deinit {
        if isLocked {
            sodium_free(memory)
        } else {
            sodium_memzero(memory, byteCount)
            memory.deallocate()
        }
    }

    /// A key that nobody had before.
    package static func random(byteCount: Int = byteCount, isLocked: Bool = true) -> SecretKey {
        SecretKey(byteCount: byteCount, isLocked: isLocked) { randombytes_buf($0.sodium, $0.count) }
    }

    /// A key whose bytes were read, which the caller wipes.
    package convenience init(copying bytes: [UInt8], byteCount: Int = byteCount, isLocked: Bool = true) {
        precondition(bytes.count == byteCount, "a key has \(byteCount) bytes, and not \(bytes.count)")
        self.init(byteCount: byteCount, isLocked: isLocked) { memory in
            bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
        }
    }

    /// The key's bytes, for as long as `body` runs.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: byteCount))
    }

    /// A copy for a file or a box. Whoever takes it wipes it.
    package func copyBytes() -> [UInt8] { withBytes { Array($0) } }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the bytes: descriptions end up in logs.
    package var description: String { "SecretKey(\(byteCount) bytes)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
