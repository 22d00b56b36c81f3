/// One key of a ring, and who has it (Documentation/EncryptionFormats.md, section 10).
///
/// An entry that was read is no more than well-formed; what counts is a ``RingChain``.
package struct RingEntry: Hashable, Sendable {
    package let ring: RingName
    /// From 1; the key's number too.
    package let number: UInt32
    /// Hash of the entry before; zeros in the first.
    package let previousHash: [UInt8]
    /// The head of another branch, which the owner ends with this entry; empty as a rule.
    package let otherBranch: [UInt8]
    /// The user record name.
    package let author: String
    /// Whether all of the zone is one tree; false for a tree's ring.
    package let isPerZone: Bool
    /// Whether assets of the zone are not encrypted.
    package let hasPlainAssets: Bool
    /// The newest key of the zone's ring; 0 in the zone's own.
    package let zoneKeyNumber: UInt32
    /// Whether the tree is private again, so that new values take the zone's key.
    package let isClosed: Bool
    let commitment: [UInt8]
    let earlierKeys: [UInt8]
    /// The key, for whoever has the zone's; empty but in an entry that closes the ring.
    let closedKey: [UInt8]
    package let members: [RingMember]
    package let invitations: [RingInvitation]
    /// What is signed.
    let bytes: [UInt8]
    package let hash: [UInt8]

    /// An entry to be signed.
    init(
        ring: RingName, number: UInt32, previousHash: [UInt8], author: String, isPerZone: Bool, hasPlainAssets: Bool,
        draft: RingDraft, commitment: [UInt8], earlierKeys: [UInt8], closedKey: [UInt8]
    ) {
        var writer = PartWriter(.ringEntry, capacity: 1024 + draft.members.count * 200 + draft.invitations.count * 500)
        writer.write(u8: Suite.format)
        writer.write(u8: Suite.suite)
        writer.write(ring)
        writer.write(u32: number)
        writer.write(bytes: previousHash)
        writer.write(bytes: draft.otherBranch)
        writer.write(text: author)
        writer.write(u8: isPerZone ? 1 : 0)
        writer.write(u8: hasPlainAssets ? 1 : 0)
        writer.write(u32: draft.zoneKeyNumber)
        writer.write(u8: closedKey.isEmpty ? 0 : 1)
        writer.write(bytes: commitment)
        writer.write(bytes: earlierKeys)
        writer.write(bytes: closedKey)
        writer.write(u32: UInt32(draft.members.count))
        for member in draft.members { writer.write(member) }
        writer.write(u32: UInt32(draft.invitations.count))
        for invitation in draft.invitations { writer.write(invitation) }
        self.ring = ring
        self.number = number
        self.previousHash = previousHash
        otherBranch = draft.otherBranch
        self.author = author
        self.isPerZone = isPerZone
        self.hasPlainAssets = hasPlainAssets
        zoneKeyNumber = draft.zoneKeyNumber
        isClosed = !closedKey.isEmpty
        self.commitment = commitment
        self.earlierKeys = earlierKeys
        self.closedKey = closedKey
        members = draft.members
        invitations = draft.invitations
        bytes = writer.bytes
        hash = Self.hash(writer.bytes)
    }

    init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        var reader = try PartReader(bytes, .ringEntry)
        try reader.readFormat()
        ring = try reader.readRingName()
        number = try reader.readU32()
        previousHash = try reader.readBytes(exactly: Digest.byteCount)
        otherBranch = try reader.readBytes(atMost: Digest.byteCount)
        author = try reader.readText()
        isPerZone = try reader.readFlag()
        hasPlainAssets = try reader.readFlag()
        zoneKeyNumber = try reader.readU32()
        isClosed = try reader.readFlag()
        commitment = try reader.readBytes(exactly: Digest.byteCount)
        earlierKeys = try reader.readBytes(atMost: RingKeySeals.earlierKeysBytesMax)
        closedKey = try reader.readBytes(atMost: RingKeySeals.closedKeyBytes)
        var members: [RingMember] = []
        for _ in 0..<(try reader.readCount(1...Limits.members)) { members.append(try reader.readMember()) }
        var invitations: [RingInvitation] = []
        for _ in 0..<(try reader.readCount(0...Limits.invitations)) { invitations.append(try reader.readInvitation()) }
        try reader.end()
        self.members = members
        self.invitations = invitations
        self.bytes = bytes
        hash = Self.hash(bytes)
        let isZones = ring.root == nil
        guard number > 0, otherBranch.isEmpty || otherBranch.count == Digest.byteCount, AccountName.isValid(author),
            invitations.allSatisfy({ $0.makerBox.isEmpty == $0.maker.hasBytes(of: ring.place.owner) }),
            isZones || !isPerZone, isZones == (zoneKeyNumber == 0), zoneKeyNumber <= Limits.ringEntries,
            !isZones || !isClosed,
            RingKeySeals.canBeEarlierKeys(byteCount: earlierKeys.count),
            closedKey.count == (isClosed ? RingKeySeals.closedKeyBytes : 0)
        else { throw .damaged }
    }

    package func member(named user: String) -> RingMember? { members.first { $0.user.hasBytes(of: user) } }

    /// Checks that a guest can be taken in behind this entry with a proof.
    ///
    /// - Throws: `notAllowed` where the entry lists no such invitation, `badSignature` where the proof is of another
    ///   link, ring, guest or statement.
    package func check(
        _ joining: RingMember.Joining, ofGuest guest: String, statementHash: [UInt8]
    ) throws(EncryptionRefusal) {
        guard let invitation = invitations.first(where: { $0.id == joining.invitationID }) else { throw .notAllowed }
        try invitation.check(joining.proof, ofGuest: guest, statementHash: statementHash, ring: ring)
    }

    /// The open invitations, in the order of their boxes.
    var openInvitations: [RingInvitation] { invitations.filter(\.isOpen) }

    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var message = PartWriter(.ringHash, capacity: bytes.count + 64)
        message.write(bytes: bytes)
        return Digest.hash(message)
    }
}
