/// What an author wants of the next entry.
package struct RingDraft: Sendable {
    package var members: [RingMember]
    package var invitations: [RingInvitation]
    /// The newest key of the zone's ring, for a tree's; 0 for a zone's.
    package var zoneKeyNumber: UInt32
    /// The tree's keys from while it was private, for a tree's ring that begins or is opened again.
    package var treeKeys: [UInt32: SecretKey] = [:]
    /// The head of another branch that ends here.
    package var otherBranch: [UInt8] = []
    /// The zone's newest key where the ring is to be closed.
    package private(set) var closingZoneKey: SecretKey?

    package init(members: [RingMember], invitations: [RingInvitation] = [], zoneKeyNumber: UInt32 = 0) {
        self.members = members
        self.invitations = invitations
        self.zoneKeyNumber = zoneKeyNumber
    }

    /// The same members and invitations as in an entry, each member with the newest statement that is known: the key
    /// must not go to keys that somebody replaced, as after a device was lost.
    package init(after entry: RingEntry, statements: StatementDirectory) {
        members = entry.members.map { member in
            let newest = statements.find(member.user, hash: member.statementHash, in: entry.ring.place)?.newest
            return RingMember(user: member.user, statementHash: newest?.hash ?? member.statementHash, role: member.role)
        }
        invitations = entry.invitations
        zoneKeyNumber = entry.zoneKeyNumber
    }

    /// Closes the ring: whoever has the zone's newest key reads what was written until now, and new values take it.
    package mutating func close(zoneKey: (key: SecretKey, number: UInt32)) {
        closingZoneKey = zoneKey.key
        zoneKeyNumber = zoneKey.number
    }

    /// Drops members. Invitations for many go with them, since they may know the links, and get others in their
    /// places; so do those that they made.
    ///
    /// - Parameters:
    ///   - owner: The identity of the ring's owner.
    ///   - author: Who makes the entry.
    ///   - authorKeys: The author's identity; nil for the owner's.
    /// - Returns: The secrets of the new invitations, by their ids.
    package mutating func drop(
        _ users: [String], owner: PublicKeys, author: String, authorKeys: PublicKeys?
    ) throws(EncryptionRefusal) -> [[UInt8]: LinkSecret] {
        func isDropped(_ name: String) -> Bool { users.contains { $0.hasBytes(of: name) } }
        members.removeAll { isDropped($0.user) }
        invitations.removeAll { $0.isForOneGuest && isDropped($0.maker) }
        var secrets: [[UInt8]: LinkSecret] = [:]
        for index in invitations.indices where !invitations[index].isForOneGuest {
            let secret = LinkSecret()
            invitations[index] = try RingInvitation.make(
                maker: author, makerKeys: authorKeys, owner: owner, role: invitations[index].role, isForOneGuest: false,
                isOpen: invitations[index].isOpen, secret: secret)
            secrets[invitations[index].id] = secret
        }
        return secrets
    }
}
