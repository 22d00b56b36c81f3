/// Whether an entry may stand behind another: rules 2 to 9 of Documentation/EncryptionFormats.md, section 10.
struct RingRules {
    /// nil: the entry is the first.
    private let before: RingEntry?
    private let signed: SignedRingEntry
    /// Whether it is one of the last that a ring can have.
    private let isNearEnd: Bool
    private let statements: StatementDirectory

    private var entry: RingEntry { signed.entry }
    private var ring: RingName { entry.ring }

    init(before: RingEntry?, signed: SignedRingEntry, isNearEnd: Bool, statements: StatementDirectory) {
        self.before = before
        self.signed = signed
        self.isNearEnd = isNearEnd
        self.statements = statements
    }

    func check() throws(EncryptionRefusal) {
        let changes = try changes()
        try checkSignatures()
        try checkNames()
        let author = try checkAuthor(changes)
        try checkMembers(changes, author: author)
        try checkInvitations(changes, author: author)
        try checkClosing()
    }

    /// What an entry changes of the members.
    private struct Changes {
        var added: [RingMember] = []
        /// Those of them whose name the entry before has, with another chain.
        var replaced: Set<[UInt8]> = []
        var stayed: [(earlier: RingMember, now: RingMember)] = []
        /// Those of them who stay with the same keys: nobody else has what was made for them.
        var keptKeys: Set<[UInt8]> = []
        /// Whether somebody goes, or an identity's old keys do, with which whoever has them reads on.
        var endsLinks = false
    }

    /// Rule 3: whose statements these are, and who stays.
    private func changes() throws(EncryptionRefusal) -> Changes {
        var changes = Changes()
        let membersBefore = Dictionary((before?.members ?? []).map { (Array($0.user.utf8), $0) }) { first, _ in first }
        for member in entry.members {
            guard let now = statements.find(member.user, hash: member.statementHash, in: ring.place) else {
                throw .brokenChain
            }
            let name = Array(member.user.utf8)
            guard let earlier = membersBefore[name],
                let then = statements.find(member.user, hash: earlier.statementHash, in: ring.place),
                then.location.first == now.location.first
            else {
                changes.added.append(member)
                if membersBefore[name] != nil { changes.replaced.insert(name) }
                continue
            }
            guard now.location.index >= then.location.index else { throw .brokenChain }
            changes.stayed.append((earlier, member))
            if now.keys == then.keys { changes.keptKeys.insert(name) }
        }
        changes.endsLinks = changes.keptKeys.count < membersBefore.count
        return changes
    }

    /// The author's, and those of join proofs.
    private func checkSignatures() throws(EncryptionRefusal) {
        guard let author = entry.member(named: entry.author),
            let keys = statements.find(author.user, hash: author.statementHash, in: ring.place)?.keys
        else { throw .notAllowed }
        try Signature.check(
            signed.signature, of: SignedRingEntry.message(entry, boxes: signed.boxes), by: keys.signing)
        for member in entry.members {
            guard let joining = member.joining,
                let invitation = before?.invitations.first(where: { $0.id == joining.invitationID })
            else { continue }
            try invitation.check(
                joining.proof, ofGuest: member.user, statementHash: member.statementHash, ring: ring)
        }
    }

    /// Rule 2.
    private func checkNames() throws(EncryptionRefusal) {
        let owners = entry.members.filter { $0.role == .owner }
        let names = Set(entry.members.map { Array($0.user.utf8) })
        let ids = Set(entry.invitations.map(\.id))
        let keys = Set(entry.invitations.flatMap { [$0.keys.signing, $0.keys.box] })
        guard owners.count == 1, owners[0].user.hasBytes(of: ring.place.owner),
            names.count == entry.members.count, ids.count == entry.invitations.count,
            keys.count == 2 * entry.invitations.count
        else { throw .notAllowed }
    }

    /// Rule 4, and what of rule 1 the owner alone does. Returns the author's role.
    private func checkAuthor(_ changes: Changes) throws(EncryptionRefusal) -> RingRole {
        guard let before else { return .owner }
        guard let author = changes.stayed.first(where: { $0.now.user.hasBytes(of: entry.author) })?.earlier.role,
            author != .reader
        else { throw .notAllowed }
        let isOwners = !entry.otherBranch.isEmpty || entry.zoneKeyNumber != before.zoneKeyNumber || isNearEnd
        guard author == .owner || !isOwners else { throw .notAllowed }
        return author
    }

    /// Rules 5 to 7. Nobody gives or takes the owner's role, and so nobody puts another in the owner's place.
    private func checkMembers(_ changes: Changes, author: RingRole) throws(EncryptionRefusal) {
        for (earlier, now) in changes.stayed {
            let isChange = earlier.role != now.role
            guard !isChange || mayGive(author, earlier.role) && mayGive(author, now.role), now.joining == nil else {
                throw .notAllowed
            }
        }
        for member in changes.added {
            if let joining = member.joining {
                guard let invitation = before?.invitations.first(where: { $0.id == joining.invitationID }),
                    member.role.isAtMost(invitation.role),
                    author != .writer || !changes.replaced.contains(Array(member.user.utf8))
                else { throw .notAllowed }
            } else {
                guard mayGive(author, member.role) || member.role == .owner && before == nil else { throw .notAllowed }
            }
        }
    }

    /// Whether an author makes and unmakes members of a role.
    private func mayGive(_ author: RingRole, _ role: RingRole) -> Bool {
        switch author {
        case .owner: role != .owner
        case .administrator: role == .writer || role == .reader
        case .writer, .reader: false
        }
    }

    /// Rule 8.
    private func checkInvitations(_ changes: Changes, author: RingRole) throws(EncryptionRefusal) {
        let before = before?.invitations ?? []
        let used = changes.added.compactMap(\.joining).map(\.invitationID)
        var gone = before
        var new: [RingInvitation] = []
        for invitation in entry.invitations {
            if let index = gone.firstIndex(where: { $0.id == invitation.id }) {
                let isSafe = [invitation.maker, ring.place.owner].allSatisfy {
                    changes.keptKeys.contains(Array($0.utf8))
                }
                let isKept = !changes.endsLinks || invitation.isForOneGuest && isSafe
                guard gone.remove(at: index) == invitation, isKept,
                    !(invitation.isForOneGuest && used.contains(invitation.id))
                else { throw .notAllowed }
            } else {
                new.append(invitation)
            }
        }
        gone.removeAll { $0.isForOneGuest }
        let earlierKeys = Set(before.flatMap { [$0.keys.signing, $0.keys.box] })
        for invitation in new {
            guard !earlierKeys.contains(invitation.keys.signing), !earlierKeys.contains(invitation.keys.box),
                invitation.maker.hasBytes(of: entry.author), [.writer, .reader].contains(invitation.role)
            else { throw .notAllowed }
            if author == .writer {
                // In the place of one that goes because somebody does.
                guard changes.endsLinks, let index = gone.firstIndex(where: invitation.replaces) else {
                    throw .notAllowed
                }
                gone.remove(at: index)
            }
        }
        for invitation in before where invitation.isForOneGuest {
            guard used.count(where: { $0 == invitation.id }) <= 1 else { throw .notAllowed }
        }
    }

    /// Rule 9. Whoever is alone in a ring is its owner, so that nobody else closes it, or makes an entry behind that.
    private func checkClosing() throws(EncryptionRefusal) {
        guard !entry.isClosed || entry.members.count == 1 && entry.invitations.isEmpty else { throw .notAllowed }
    }
}
