internal import CSodium

/// BLAKE2b of labelled messages, 32 bytes: `hash` and, with a key, `derive`.
enum Digest {
    static let byteCount = 32

    /// The hash of a message.
    static func hash(_ message: PartWriter) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
            compute(message.bytes, key: nil, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = byteCount
        }
    }

    /// What is derived from a key and is no secret itself.
    static func derive(_ key: SecretKey, _ message: PartWriter) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
            key.withBytes { compute(message.bytes, key: $0, into: UnsafeMutableRawBufferPointer(buffer)) }
            initialized = byteCount
        }
    }

    /// A key that is derived from another, for as long as it is worked with.
    static func deriveKey(_ key: SecretKey, _ message: PartWriter) -> SecretKey {
        SecretKey(isLocked: false) { target in key.withBytes { compute(message.bytes, key: $0, into: target) } }
    }

    static func deriveKey(_ key: SecretKey, _ label: Label) -> SecretKey { deriveKey(key, PartWriter(label)) }

    private static func compute(
        _ message: [UInt8], key: UnsafeRawBufferPointer?, into target: UnsafeMutableRawBufferPointer
    ) {
        Sodium.start()
        let result = crypto_generichash_blake2b(
            target.sodium, byteCount, message, UInt64(message.count), key?.sodium, key?.count ?? 0)
        precondition(result == 0, "libsodium cannot compute BLAKE2b")
    }
}
