internal import CSodium

/// A pair of keys for boxes: X25519, and `crypto_box_seal` of libsodium.
///
/// Anybody can make a box, and nothing says who did: what is in it has to prove itself.
package final class BoxPair: Sendable {
    /// What a box has more than what is in it.
    package static let overheadBytes = crypto_box_sealbytes()

    package let publicKey: [UInt8]
    private let secretKey: SecretKey

    init(seed: SecretKey, isLocked: Bool = true) {
        precondition(seed.byteCount == SecretKey.byteCount, "a seed has 32 bytes")
        var publicKey = [UInt8](repeating: 0, count: PublicKeys.byteCount)
        secretKey = SecretKey(isLocked: isLocked) { target in
            seed.withBytes {
                _ = crypto_box_seed_keypair(&publicKey, target.sodium, $0.sodium)
            }
        }
        self.publicKey = publicKey
    }

    /// A box that only the owner of a key can open.
    ///
    /// - Throws: `damaged` if the key is none (``PublicKeys/check(box:)``).
    static func box(_ message: PartWriter, to key: [UInt8]) throws(EncryptionRefusal) -> [UInt8] {
        Sodium.start()
        guard key.count == PublicKeys.byteCount else { throw .damaged }
        let plain = message.bytes
        var isDone = false
        let box = [UInt8](unsafeUninitializedCapacity: plain.count + overheadBytes) { buffer, initialized in
            isDone = crypto_box_seal(buffer.sodium, plain, UInt64(plain.count), key) == 0
            initialized = isDone ? plain.count + overheadBytes : 0
        }
        guard isDone else { throw .damaged }
        return box
    }

    /// What is in a box: a labelled message, which the caller wipes.
    func open(_ box: [UInt8]) throws(EncryptionRefusal) -> [UInt8] {
        let count = box.count - Self.overheadBytes
        guard count >= 0 else { throw .damaged }
        var isGenuine = false
        let plain = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            isGenuine = secretKey.withBytes {
                crypto_box_seal_open(
                    buffer.sodium, box, UInt64(box.count), publicKey, $0.sodium) == 0
            }
            initialized = isGenuine ? count : 0
        }
        guard isGenuine else { throw .damaged }
        return plain
    }
}
