/// What an account says of itself at one time: its identity's keys, its devices and its recovery code
/// (Documentation/EncryptionFormats.md, section 8).
///
/// A statement that was read is no more than well-formed; what counts is a ``StatementChain``.
package struct Statement: Hashable, Sendable {
    package struct Device: Hashable, Sendable {
        package let keys: PublicKeys
        /// Sealed for the account's devices; empty where it has none.
        package let name: [UInt8]

        package init(keys: PublicKeys, name: [UInt8] = []) {
            self.keys = keys
            self.name = name
        }
    }

    static let noHash = [UInt8](repeating: 0, count: Digest.byteCount)

    package let scope: IdentityScope
    /// From 1.
    package let number: UInt32
    /// Hash of the statement before; zeros in the first.
    package let previousHash: [UInt8]
    package let keys: PublicKeys
    package let codeKey: [UInt8]
    package let devices: [Device]
    /// The identity's seed before, sealed with this one; empty where it is the same.
    let earlierSeed: [UInt8]
    /// What is signed.
    let bytes: [UInt8]
    package let hash: [UInt8]

    init(
        scope: IdentityScope, number: UInt32, previousHash: [UInt8], keys: PublicKeys, codeKey: [UInt8],
        devices: [Device], earlierSeed: [UInt8] = []
    ) {
        var writer = PartWriter(.statement, capacity: 512 + devices.count * 350)
        writer.write(u8: Suite.format)
        writer.write(u8: Suite.suite)
        writer.write(scope)
        writer.write(u32: number)
        writer.write(bytes: previousHash)
        writer.write(keys)
        writer.write(bytes: codeKey)
        writer.write(u32: UInt32(devices.count))
        for device in devices {
            writer.write(device.keys)
            writer.write(bytes: device.name)
        }
        writer.write(bytes: earlierSeed)
        self.scope = scope
        self.number = number
        self.previousHash = previousHash
        self.keys = keys
        self.codeKey = codeKey
        self.devices = devices
        self.earlierSeed = earlierSeed
        bytes = writer.bytes
        hash = Self.hash(writer.bytes)
    }

    init(_ bytes: [UInt8], checksKeys: Bool) throws(EncryptionRefusal) {
        var reader = try PartReader(bytes, .statement)
        try reader.readFormat()
        scope = try reader.readScope()
        number = try reader.readU32()
        previousHash = try reader.readBytes(exactly: Digest.byteCount)
        keys = try reader.readKeys(checksSigningKey: checksKeys)
        codeKey = try reader.readBoxKey()
        var devices: [Device] = []
        for _ in 0..<(try reader.readCount(1...Limits.devices)) {
            devices.append(
                Device(
                    // Its key for signatures is checked where it comes in an enrolment: here nobody uses it.
                    keys: try reader.readKeys(checksSigningKey: false),
                    name: try reader.readBytes(atMost: Limits.sealedNameBytes)))
        }
        earlierSeed = try reader.readBytes(atMost: EarlierSeed.byteCount)
        try reader.end()
        self.devices = devices
        self.bytes = bytes
        hash = Self.hash(bytes)
        guard number > 0, earlierSeed.isEmpty || (earlierSeed.count == EarlierSeed.byteCount && number > 1) else {
            throw .damaged
        }
        if checksKeys {
            // A key that stood twice would let one of its owners pass for another.
            let all = [codeKey, keys.signing, keys.box] + devices.flatMap { [$0.keys.signing, $0.keys.box] }
            guard Set(all).count == all.count else { throw .damaged }
        }
    }

    /// A signed statement as it was kept, which was checked before it was.
    ///
    /// - Throws: Where it is not as it was: its own signature is of all that is in it.
    package init(kept bytes: [UInt8]) throws(EncryptionRefusal) {
        let signed = try SignedStatement(bytes, checksKeys: false)
        try signed.checkOwnSignature()
        self = signed.statement
    }

    /// The hash of a signed statement that was kept, whatever became of its signatures: of what a reader sees.
    package static func hash(kept bytes: [UInt8]) throws(EncryptionRefusal) -> [UInt8] {
        try SignedStatement(bytes, checksKeys: false).statement.hash
    }

    /// Whether it is the next one behind another, whoever made it.
    func stands(behind last: Statement) -> Bool {
        scope == last.scope && last.number < .max && number == last.number + 1 && previousHash == last.hash
    }

    package func lists(_ device: PublicKeys) -> Bool { devices.contains { $0.keys == device } }

    /// Those to whom the identity's seed is boxed, in the order of the boxes.
    var boxKeys: [[UInt8]] { devices.map(\.keys.box) + [codeKey] }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var message = PartWriter(.statementHash, capacity: bytes.count + 64)
        message.write(bytes: bytes)
        return Digest.hash(message)
    }
}

extension PartWriter {
    mutating func write(_ keys: PublicKeys) {
        write(bytes: keys.signing)
        write(bytes: keys.box)
    }
}

extension PartReader {
    /// - Parameter checksSigningKey: False where nobody relies on it: the check is slow.
    mutating func readKeys(checksSigningKey: Bool = true) throws(EncryptionRefusal) -> PublicKeys {
        let signing = try readBytes(exactly: PublicKeys.byteCount)
        if checksSigningKey { try PublicKeys.check(signing: signing) }
        return PublicKeys(signing: signing, box: try readBoxKey())
    }

    mutating func readBoxKey() throws(EncryptionRefusal) -> [UInt8] {
        let key = try readBytes(exactly: PublicKeys.byteCount)
        try PublicKeys.check(box: key)
        return key
    }
}
