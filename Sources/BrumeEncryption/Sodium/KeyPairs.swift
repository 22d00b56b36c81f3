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

    /// Refuses a key from outside that is none: libraries don't agree on whose signatures some points of small order
    /// make.
    static func check(signing key: [UInt8]) throws(EncryptionRefusal) {
        Sodium.start()
        guard key.count == byteCount, crypto_core_ed25519_is_valid_point(key) == 1 else { throw .damaged }
    }

    /// Whether a number is below 2^255 − 19: others are another way of writing one that is.
    private static func isBelowField(_ key: [UInt8]) -> Bool {
        guard key[byteCount - 1] >= 0x7f, key[1..<byteCount - 1].allSatisfy({ $0 == 0xff }) else {
            return key[byteCount - 1] <= 0x7f
        }
        return key[byteCount - 1] == 0x7f && key[0] < 0xed
    }

    /// Refuses a key from outside that is none: with some points of small order everybody would know the secret.
    ///
    /// By comparison alone: a statement has many keys for boxes, and a multiplication for each would let one account
    /// keep the devices of others busy.
    static func check(box key: [UInt8]) throws(EncryptionRefusal) {
        guard key.count == byteCount, isBelowField(key), !givingZeros.contains(key) else { throw .damaged }
    }

    /// All numbers below the field's with which X25519 gives zeros (RFC 7748, section 6.1): points of order 1, 2, 4
    /// and 8, on the curve and on its twist.
    private static let givingZeros: Set<[UInt8]> = [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
            0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
        ],
        [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
            0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
        ],
    ]
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
