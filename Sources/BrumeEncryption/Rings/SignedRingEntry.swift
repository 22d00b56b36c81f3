/// An entry as it travels and is stored: with its author's signature, and with the key in a box for each member and
/// each open invitation.
package struct SignedRingEntry: Hashable, Sendable {
    static let boxBytes =
        4 + Label.ringBox.text.utf8.count + 2 * (4 + SecretKey.byteCount) + BoxPair.overheadBytes

    package let entry: RingEntry
    let signature: [UInt8]
    let boxes: [[UInt8]]

    init(entry: RingEntry, signature: [UInt8], boxes: [[UInt8]]) {
        self.entry = entry
        self.signature = signature
        self.boxes = boxes
    }

    package init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        var reader = try PartReader(bytes, .signedRingEntry)
        let entry = try RingEntry(try reader.readBytes(atMost: bytes.count))
        self.entry = entry
        signature = try reader.readBytes(exactly: Signature.byteCount)
        let boxCount = entry.members.count + entry.openInvitations.count
        _ = try reader.readCount(boxCount...boxCount)
        var boxes: [[UInt8]] = []
        for _ in 0..<boxCount { boxes.append(try reader.readBytes(exactly: Self.boxBytes)) }
        try reader.end()
        self.boxes = boxes
    }

    /// As many as ``bytes`` has.
    var byteCount: Int {
        4 + Label.signedRingEntry.text.utf8.count + 4 + entry.bytes.count + 4 + Signature.byteCount + 4
            + boxes.count * (4 + Self.boxBytes)
    }

    package var bytes: [UInt8] {
        var writer = PartWriter(.signedRingEntry, capacity: entry.bytes.count + 256 + boxes.count * 150)
        writer.write(bytes: entry.bytes)
        writer.write(bytes: signature)
        writer.write(list: boxes)
        return writer.bytes
    }

    /// Whether it is signed with an account's keys.
    package func checkSignature(by keys: PublicKeys) throws(EncryptionRefusal) {
        try Signature.check(signature, of: Self.message(entry, boxes: boxes), by: keys.signing)
    }

    /// What the signature is of: the boxes, too, or a server could spoil one.
    static func message(_ entry: RingEntry, boxes: [[UInt8]]) -> PartWriter {
        var message = PartWriter(.ringSign, capacity: entry.bytes.count + 64 + boxes.count * (4 + boxBytes))
        message.write(bytes: entry.bytes)
        message.write(list: boxes)
        return message
    }

    /// What is in each box.
    static func boxMessage(_ key: SecretKey, _ entry: RingEntry) -> PartWriter {
        var message = PartWriter(.ringBox)
        message.write(key)
        message.write(bytes: entry.hash)
        return message
    }

    /// The key, as a member gets it; nil where the box does not open, or holds another key than the entry committed
    /// to.
    ///
    /// - Parameter identity: The member's, at the statement that the entry names.
    func key(of user: String, identity: KeyPairs) -> SecretKey? {
        guard let index = entry.members.firstIndex(where: { $0.user.hasBytes(of: user) }) else { return nil }
        return try? key(box: boxes[index], pairs: identity)
    }

    /// The key, as a guest with an open invitation's link gets it.
    func key(of link: LinkSecret) -> SecretKey? {
        let invitations = entry.openInvitations
        guard let index = invitations.firstIndex(where: { $0.keys == link.pairs.publicKeys }) else { return nil }
        return try? key(box: boxes[entry.members.count + index], pairs: link.pairs)
    }

    private func key(box: [UInt8], pairs: KeyPairs) throws(EncryptionRefusal) -> SecretKey {
        var reader = try PartReader(try pairs.open(box), .ringBox)
        defer { reader.wipe() }
        let key = try reader.readKey()
        let hash = try reader.readBytes(exactly: Digest.byteCount)
        try reader.end()
        guard hash == entry.hash, RingKeySeals.commits(entry, to: key) else { throw .damaged }
        return key
    }
}
