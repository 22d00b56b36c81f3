internal import CSodium

/// The public halves of what a seed gives.
package struct PublicKeys: Hashable, Sendable {
    package static let byteCount = 32

    /// For signatures: Ed25519.
    package let signing: [UInt8]
    /// For boxes: X25519.
    package let box: [UInt8]

    package init(signing: [UInt8], box: [UInt8]) {
        self.signing = signing
        self.box = box
    }

    /// Refuses keys from outside that are none: with some points of small order everybody would know the secret, and
    /// libraries don't agree on whose signatures those are.
    func check() throws(EncryptionRefusal) {
        Sodium.start()
        guard signing.count == Self.byteCount, crypto_core_ed25519_is_valid_point(signing) == 1 else { throw .damaged }
        try Self.check(box: box)
    }

    /// Whether a number is below 2^255 − 19: others are another way of writing one that is.
    private static func isBelowField(_ key: [UInt8]) -> Bool {
        guard key[byteCount - 1] >= 0x7f, key[1..<byteCount - 1].allSatisfy({ $0 == 0xff }) else {
            return key[byteCount - 1] <= 0x7f
        }
        return key[byteCount - 1] == 0x7f && key[0] < 0xed
    }

    static func check(box key: [UInt8]) throws(EncryptionRefusal) {
        Sodium.start()
        let number = [UInt8](repeating: 1, count: Self.byteCount)
        var product = number
        guard key.count == Self.byteCount, isBelowField(key), crypto_scalarmult_curve25519(&product, number, key) == 0
        else {
            throw .damaged
        }
    }
}

/// The two pairs of keys of an identity or a device, from its seed (Documentation/EncryptionFormats.md, section 2).
///
/// Public keys are always computed from the seed, so that nobody can put others beside it.
package final class KeyPairs: Sendable {
    package let seed: SecretKey
    package let publicKeys: PublicKeys
    private let signingKey: SecretKey
    private let boxPair: BoxPair

    /// - Parameter seed: Where it is in locked memory, so are the keys.
    package init(seed: SecretKey) {
        self.seed = seed
        var signing = [UInt8](repeating: 0, count: PublicKeys.byteCount)
        let signingSeed = Digest.deriveKey(seed, .signSeed)
        signingKey = SecretKey(byteCount: crypto_sign_secretkeybytes(), isLocked: seed.isLocked) { target in
            signingSeed.withBytes {
                _ = crypto_sign_seed_keypair(&signing, target.sodium, $0.sodium)
            }
        }
        boxPair = BoxPair(seed: Digest.deriveKey(seed, .boxSeed), isLocked: seed.isLocked)
        publicKeys = PublicKeys(signing: signing, box: boxPair.publicKey)
    }

    func sign(_ message: PartWriter) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Signature.byteCount) { buffer, initialized in
            let result = signingKey.withBytes {
                crypto_sign_detached(
                    buffer.sodium, nil, message.bytes, UInt64(message.bytes.count), $0.sodium)
            }
            precondition(result == 0, "libsodium cannot sign")
            initialized = Signature.byteCount
        }
    }

    /// What a box to this pair holds.
    func open(_ box: [UInt8]) throws(EncryptionRefusal) -> [UInt8] { try boxPair.open(box) }

    /// Those that open boxes alone.
    package var boxes: BoxPair { boxPair }
}

/// Signatures: Ed25519 (RFC 8032).
enum Signature {
    static let byteCount = crypto_sign_bytes()

    static func check(_ signature: [UInt8], of message: PartWriter, by key: [UInt8]) throws(EncryptionRefusal) {
        Sodium.start()
        guard signature.count == byteCount, key.count == PublicKeys.byteCount,
            crypto_sign_verify_detached(signature, message.bytes, UInt64(message.bytes.count), key) == 0
        else { throw .badSignature }
    }
}
