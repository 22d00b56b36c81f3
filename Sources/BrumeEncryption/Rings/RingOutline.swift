/// What an entry of a ring says of the values that are encrypted with its key, and of the zone's assets: whoever has no
/// key needs no more of it to tell whether they are of the ring's newest one, and a server is such a reader.
package struct RingOutline: Hashable, Sendable {
    package let ring: RingName
    /// The number of the entry, and of its key.
    package let number: UInt32
    package let hash: [UInt8]
    /// Whether all of the zone is one tree.
    package let isPerZone: Bool
    /// Whether assets of the zone are not encrypted.
    package let hasPlainAssets: Bool
    /// In the first entry of a tree's ring the number of the zone's newest key: from that one on the ring hands on none
    /// of the keys that the tree had while it was private. 0 for a zone's own ring.
    package let zoneKeyNumber: UInt32
    /// Whether the tree is private again, so that new values take the zone's key.
    package let isClosed: Bool
    /// The statement to whose keys the owner's box is.
    package let ownerStatementHash: [UInt8]
    /// The other members.
    package let others: [Member]

    /// A member, and the statement to whose keys their box is.
    package struct Member: Hashable, Sendable {
        package let user: String
        package let statementHash: [UInt8]
        /// Whether they make entries: all but readers do.
        package let isAuthor: Bool
    }

    /// Reads it from a signed entry that was checked as it was kept: no key and no signature is checked again, and
    /// nothing is read behind the members.
    package init(kept bytes: [UInt8]) throws(EncryptionRefusal) {
        var signed = try PartReader(bytes, .signedRingEntry)
        let entry = try signed.readBytes(atMost: bytes.count)
        hash = RingEntry.hash(entry)
        var reader = try PartReader(entry, .ringEntry)
        try reader.readFormat()
        ring = try reader.readRingName()
        number = try reader.readU32()
        _ = try reader.readBytes(exactly: Digest.byteCount)
        _ = try reader.readBytes(atMost: Digest.byteCount)
        _ = try reader.readText()
        isPerZone = try reader.readFlag()
        hasPlainAssets = try reader.readFlag()
        zoneKeyNumber = try reader.readU32()
        isClosed = try reader.readFlag()
        _ = try reader.readBytes(exactly: Digest.byteCount)
        _ = try reader.readBytes(atMost: RingKeySeals.earlierKeysBytesMax)
        _ = try reader.readBytes(atMost: RingKeySeals.closedKeyBytes)
        var owner: [UInt8]?
        var others: [Member] = []
        for _ in 0..<(try reader.readCount(1...Limits.members)) {
            let member = try reader.readMember()
            if member.role == .owner {
                owner = member.statementHash
            } else {
                others.append(
                    Member(
                        user: member.user, statementHash: member.statementHash, isAuthor: member.role != .reader))
            }
        }
        guard number > 0, let owner else { throw .damaged }
        ownerStatementHash = owner
        self.others = others
    }
}
