/// What a user writes down to get at encrypted data when all devices are lost: 128 random bits in 28 characters
/// (Documentation/EncryptionFormats.md, section 7).
package struct RecoveryCode: Sendable {
    package static let secretBytes = 16
    private static let checkBits = 12

    package let secret: SecretKey

    /// A code that nobody had before.
    package init() { secret = .random(byteCount: Self.secretBytes) }

    /// The code with these 128 bits, which the caller wipes.
    package init(bytes: [UInt8]) { secret = SecretKey(copying: bytes, byteCount: Self.secretBytes) }

    /// Reads what a person typed: small letters, spaces and hyphens are as good, and so are I and L for 1, and O for
    /// 0.
    ///
    /// - Throws: `wrongCode` for what is no code, as with one wrong character.
    package init(_ text: String) throws(EncryptionRefusal) {
        let characterCount = (Self.secretBytes * 8 + Self.checkBits) / TypedCharacters.bits
        guard var values = TypedCharacters.values(text), values.count == characterCount else { throw .wrongCode }
        var bits = BitReader(values)
        defer { bits.wipe() }
        Sodium.wipe(&values)
        var bytes = [UInt8](repeating: 0, count: Self.secretBytes)
        defer { Sodium.wipe(&bytes) }
        for index in bytes.indices { bytes[index] = UInt8(bits.take(8)) }
        self.init(bytes: bytes)
        guard bits.take(Self.checkBits) == Self.check(secret) else { throw .wrongCode }
    }

    /// The code as it is shown: seven groups of four characters.
    package var text: String {
        var bits = BitWriter()
        defer { bits.wipe() }
        secret.withBytes { for byte in $0 { bits.write(Int(byte), count: 8) } }
        bits.write(Self.check(secret), count: Self.checkBits)
        let characters = TypedCharacters.text(bits.values)
        return stride(from: 0, to: characters.count, by: 4)
            .map { start in String(characters.dropFirst(start).prefix(4)) }
            .joined(separator: "-")
    }

    /// The device on paper that the code is.
    package func paperKey(_ scope: IdentityScope) -> BoxPair {
        var message = PartWriter(.paper)
        message.write(scope)
        return BoxPair(seed: Digest.deriveKey(secret, message))
    }

    /// What says, to whoever has the code, that a statement is the one that it was made with.
    package func anchor(statementHash: [UInt8]) -> [UInt8] {
        var message = PartWriter(.anchor)
        message.write(bytes: statementHash)
        return Digest.derive(secret, message)
    }

    private static func check(_ secret: SecretKey) -> Int {
        var message = PartWriter(.recoveryCheck)
        message.write(secret)
        defer { message.wipe() }
        let hash = Digest.hash(message)
        return Int(hash[0]) << 4 | Int(hash[1]) >> 4
    }
}
