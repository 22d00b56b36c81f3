/// A statement as it travels and is stored: with its signatures, and with the identity's seed in a box for each device
/// and for the code.
package struct SignedStatement: Hashable, Sendable {
    package let statement: Statement
    let ownSignature: [UInt8]
    /// By the identity of the statement before; empty in the first.
    let previousSignature: [UInt8]
    /// For whoever has the recovery code; empty where the code is the one of the statement before.
    package let anchor: [UInt8]
    let boxes: [[UInt8]]

    private static let boxBytes =
        4 + Label.identityBox.text.utf8.count + 4 + SecretKey.byteCount + BoxPair.overheadBytes

    init(
        statement: Statement, ownSignature: [UInt8], previousSignature: [UInt8], anchor: [UInt8], boxes: [[UInt8]]
    ) {
        self.statement = statement
        self.ownSignature = ownSignature
        self.previousSignature = previousSignature
        self.anchor = anchor
        self.boxes = boxes
    }

    package init(_ bytes: [UInt8]) throws(EncryptionRefusal) { try self.init(bytes, checksKeys: true) }

    /// - Parameter checksKeys: False for one that was read before: whether its keys are some, and each stands once, is
    ///   slow to check.
    init(_ bytes: [UInt8], checksKeys: Bool) throws(EncryptionRefusal) {
        var reader = try PartReader(bytes, .signedStatement)
        let statement = try Statement(try reader.readBytes(atMost: bytes.count), checksKeys: checksKeys)
        self.statement = statement
        ownSignature = try reader.readBytes(exactly: Signature.byteCount)
        previousSignature = try reader.readBytes(atMost: Signature.byteCount)
        anchor = try reader.readBytes(atMost: Digest.byteCount)
        let boxCount = try reader.readCount(0...(Limits.devices + 1))
        var boxes: [[UInt8]] = []
        for _ in 0..<boxCount {
            boxes.append(try reader.readBytes(exactly: Self.boxBytes))
        }
        try reader.end()
        self.boxes = boxes
        guard boxCount == statement.boxKeys.count,
            previousSignature.isEmpty || previousSignature.count == Signature.byteCount,
            previousSignature.isEmpty == (statement.number == 1), anchor.isEmpty || anchor.count == Digest.byteCount
        else { throw .damaged }
    }

    package var bytes: [UInt8] {
        var writer = PartWriter(.signedStatement, capacity: statement.bytes.count + 512 + boxes.count * 84)
        writer.write(bytes: statement.bytes)
        writer.write(bytes: ownSignature)
        writer.write(bytes: previousSignature)
        writer.write(bytes: anchor)
        writer.write(list: boxes)
        return writer.bytes
    }

    /// The identity, as the owner of a box gets it.
    ///
    /// - Throws: `keyMissing` where there is no box for it; `damaged` where the box holds another seed than the
    ///   statement's keys are of.
    package func openIdentity(as device: BoxPair) throws(EncryptionRefusal) -> KeyPairs {
        guard let index = statement.boxKeys.firstIndex(of: device.publicKey) else { throw .keyMissing }
        var reader = try PartReader(try device.open(boxes[index]), .identityBox)
        defer { reader.wipe() }
        let identity = KeyPairs(seed: try reader.readKey(isLocked: true))
        try reader.end()
        guard identity.publicKeys == statement.keys else { throw .damaged }
        return identity
    }

    /// What its own identity signs: all that whoever opens a box, or recovers, relies on.
    static func ownMessage(_ statement: Statement, anchor: [UInt8], boxes: [[UInt8]]) -> PartWriter {
        var message = PartWriter(.statementOwn, capacity: statement.bytes.count + 512 + boxes.count * boxBytes)
        message.write(bytes: statement.bytes)
        message.write(bytes: anchor)
        message.write(list: boxes)
        return message
    }

    /// What the identity of the statement before signs.
    static func nextMessage(_ statement: Statement) -> PartWriter {
        var message = PartWriter(.statementNext, capacity: statement.bytes.count + 64)
        message.write(bytes: statement.bytes)
        return message
    }

    /// Whether it stands behind another statement and is signed as one that does: all that can be said without those
    /// before.
    package func checkSignatures(behind last: Statement) throws(EncryptionRefusal) {
        guard statement.stands(behind: last) else { throw .brokenChain }
        try checkOwnSignature()
        try Signature.check(previousSignature, of: Self.nextMessage(statement), by: last.keys.signing)
    }

    func checkOwnSignature() throws(EncryptionRefusal) {
        try Signature.check(
            ownSignature, of: Self.ownMessage(statement, anchor: anchor, boxes: boxes), by: statement.keys.signing)
    }
}
