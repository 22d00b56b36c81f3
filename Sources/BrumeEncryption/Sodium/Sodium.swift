internal import CSodium

/// What of libsodium is neither a key nor a construction.
package enum Sodium {
    /// libsodium must be initialised before anything else of it is called; a second call costs a comparison.
    static func start() {
        precondition(sodium_init() >= 0, "libsodium cannot be initialised: the kernel gives it no random bytes")
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        start()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            randombytes_buf(buffer.sodium, count)
            initialized = count
        }
    }

    /// Whether two strings of bytes are equal, in a time that depends on their lengths alone.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }

    /// Overwrites what was secret, in a way that the compiler does not leave out.
    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { sodium_memzero($0.sodium, $0.count) }
    }
}
