/// What an author wants of the next entry.
package struct RingDraft: Sendable {
    package var members: [RingMember]
    package var invitations: [RingInvitation]
    /// The newest key of the zone's ring, for a tree's.
    package var zoneKeyNumber: UInt32 = 0
    /// The tree's keys from while it was private, for a tree's ring that begins or is opened again.
    package var treeKeys: [UInt32: SecretKey] = [:]
    /// The head of another branch that ends here.
    package var otherBranch: [UInt8] = []
    /// The zone's newest key where the ring is to be closed.
    package var closingZoneKey: SecretKey?

    package init(members: [RingMember], invitations: [RingInvitation] = []) {
        self.members = members
        self.invitations = invitations
    }

    /// The same members and invitations as in an entry, with a new key.
    package init(after entry: RingEntry) {
        members = entry.members.map { RingMember(user: $0.user, statementHash: $0.statementHash, role: $0.role) }
        invitations = entry.invitations
        zoneKeyNumber = entry.zoneKeyNumber
    }

    /// Drops members. Invitations for many go with them, since they may know the links; each gets one in its place.
    ///
    /// - Returns: The secrets of the new invitations, by their ids.
    package mutating func drop(
        _ users: Set<String>, owner: PublicKeys, author: PublicKeys?
    ) throws(EncryptionRefusal) -> [[UInt8]: LinkSecret] {
        members.removeAll { users.contains($0.user) }
        var secrets: [[UInt8]: LinkSecret] = [:]
        for index in invitations.indices where !invitations[index].isForOneGuest {
            let secret = LinkSecret()
            invitations[index] = try RingInvitation.make(
                role: invitations[index].role, isForOneGuest: false, isOpen: invitations[index].isOpen, secret: secret,
                owner: owner, maker: author)
            secrets[invitations[index].id] = secret
        }
        return secrets
    }
}
