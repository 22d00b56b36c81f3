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
    /// The links for many that go since somebody does.
    package private(set) var endedLinks: [RingInvitation] = []
    /// The ring's owner; empty in a draft of a first entry, which ends no links.
    private var owner = ""

    package init(members: [RingMember], invitations: [RingInvitation] = [], zoneKeyNumber: UInt32 = 0) {
        self.members = members
        self.invitations = invitations
        self.zoneKeyNumber = zoneKeyNumber
    }

    /// The same members and invitations as in an entry, each member whose keys were replaced with the newest statement
    /// that is known: the key must not go to the former ones, as after a device was lost. A statement that leaves the
    /// keys as they were, as of another device, is not named: the server may not know it. Neither does a link go on
    /// that the former keys open: ``replaceLinks(owner:author:authorKeys:)`` puts others in their places.
    package init(after entry: RingEntry, statements: StatementDirectory) {
        members = []
        invitations = entry.invitations
        zoneKeyNumber = entry.zoneKeyNumber
        var renewed: [String] = []
        for member in entry.members {
            var hash = member.statementHash
            if let found = statements.find(member.user, hash: hash, in: entry.ring.place),
                found.newest.keys != found.keys
            {
                hash = found.newest.hash
                renewed.append(member.user)
            }
            members.append(RingMember(user: member.user, statementHash: hash, role: member.role))
        }
        owner = entry.ring.place.owner
        endLinks(knownTo: renewed)
    }

    /// Drops members, with the links that they may know.
    package mutating func drop(_ users: [String]) {
        members.removeAll { member in users.contains { $0.hasBytes(of: member.user) } }
        endLinks(knownTo: users)
    }

    /// Takes out all links for many, which others take the places of.
    package mutating func endLinksForMany() {
        endedLinks += invitations.filter { !$0.isForOneGuest }
        invitations.removeAll { !$0.isForOneGuest }
    }

    /// Takes out all links, with none in their places.
    package mutating func removeLinks() {
        invitations = []
        endedLinks = []
    }

    /// Takes out what these members, or whoever has their old keys, may know: all links for many, those that they
    /// made, and, of the owner's keys, all.
    private mutating func endLinks(knownTo users: [String]) {
        func isAmongThem(_ name: String) -> Bool { users.contains { $0.hasBytes(of: name) } }
        if users.isEmpty { return }
        endedLinks += invitations.filter { !$0.isForOneGuest }
        invitations.removeAll { !$0.isForOneGuest || isAmongThem($0.maker) || isAmongThem(owner) }
    }

    /// Puts another link in the place of each for many that goes.
    ///
    /// - Parameters:
    ///   - owner: The identity of the ring's owner.
    ///   - author: Who makes the entry.
    ///   - authorKeys: The author's identity; nil for the owner's.
    /// - Returns: The secrets of the new invitations, by their ids.
    package mutating func replaceLinks(
        owner: PublicKeys, author: String, authorKeys: PublicKeys?
    ) throws(EncryptionRefusal) -> [[UInt8]: LinkSecret] {
        var secrets: [[UInt8]: LinkSecret] = [:]
        for ended in endedLinks {
            let secret = LinkSecret()
            let invitation = try RingInvitation.make(
                maker: author, makerKeys: authorKeys, owner: owner, role: ended.role, isForOneGuest: false,
                isOpen: ended.isOpen, secret: secret)
            invitations.append(invitation)
            secrets[invitation.id] = secret
        }
        endedLinks = []
        return secrets
    }

    /// Closes the ring: whoever has the zone's newest key reads what was written until now, and new values take it.
    package mutating func close(zoneKey: (key: SecretKey, number: UInt32)) {
        closingZoneKey = zoneKey.key
        zoneKeyNumber = zoneKey.number
    }
}
