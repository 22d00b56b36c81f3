/// The seed that an identity had before, for whoever has its new one: boxes in rings may still be to the older keys.
enum EarlierSeed {
    static let byteCount =
        4 + Label.earlierSeed.text.utf8.count + 4 + SecretKey.byteCount + Seal.overheadBytes

    static func seal(_ earlier: KeyPairs, for newer: KeyPairs, behind previousHash: [UInt8]) -> [UInt8] {
        var plain = PartWriter(.earlierSeed)
        defer { plain.wipe() }
        plain.write(earlier.seed)
        return Seal.seal(plain.bytes, data: data(previousHash), key: key(newer))
    }

    /// The identity of the statement before.
    static func open(_ statement: Statement, with newer: KeyPairs, before: Statement) throws(EncryptionRefusal)
        -> KeyPairs
    {
        var reader = try PartReader(
            try Seal.open(statement.earlierSeed[...], data: data(before.hash), key: key(newer)), .earlierSeed)
        defer { reader.wipe() }
        let earlier = KeyPairs(seed: try reader.readKey())
        try reader.end()
        guard earlier.publicKeys == before.keys else { throw .damaged }
        return earlier
    }

    private static func key(_ newer: KeyPairs) -> SecretKey { Digest.deriveKey(newer.seed, .earlierSeedKey) }

    private static func data(_ previousHash: [UInt8]) -> [UInt8] {
        var data = PartWriter(.earlierSeedData)
        data.write(bytes: previousHash)
        return data.bytes
    }
}
