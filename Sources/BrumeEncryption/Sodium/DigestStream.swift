internal import CSodium

/// A hash, or what is derived from a key, of a message that does not have to be in memory at once.
///
/// `@unchecked Sendable`: it has one owner, who alone has the state, and changes it in `mutating` methods.
struct DigestStream: ~Copyable, @unchecked Sendable {
    /// libsodium's state of the hash, of `crypto_generichash_blake2b_statebytes()` bytes.
    private let state: OpaquePointer

    /// - Parameter message: The label and the first parts, and of a part that comes in pieces the length.
    init(_ message: PartWriter, key: SecretKey? = nil) {
        Sodium.start()
        // libsodium wants it at a multiple of 64.
        state = OpaquePointer(
            UnsafeMutableRawPointer.allocate(byteCount: crypto_generichash_blake2b_statebytes(), alignment: 64))
        let result =
            if let key {
                key.withBytes {
                    crypto_generichash_blake2b_init(state, $0.sodium, $0.count, Digest.byteCount)
                }
            } else {
                crypto_generichash_blake2b_init(state, nil, 0, Digest.byteCount)
            }
        precondition(result == 0, "libsodium cannot compute BLAKE2b")
        message.bytes.withUnsafeBytes { update($0) }
    }

    deinit {
        let memory = UnsafeMutableRawPointer(state)
        sodium_memzero(memory, crypto_generichash_blake2b_statebytes())
        memory.deallocate()
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        _ = crypto_generichash_blake2b_update(state, bytes.sodium, UInt64(bytes.count))
    }

    consuming func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.byteCount) { buffer, initialized in
            _ = crypto_generichash_blake2b_final(state, buffer.sodium, Digest.byteCount)
            initialized = Digest.byteCount
        }
    }
}
