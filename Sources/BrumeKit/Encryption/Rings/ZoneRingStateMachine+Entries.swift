internal import BrumeEncryption
internal import BrumeModel

/// The entries that a device makes of a ring.
extension ZoneRingStateMachine {
    /// Whether the goal asks for entries where they are needed.
    var makesEntries: Bool {
        switch start.goal {
        case .read, .join: false
        case .accept: isOwn
        case .write, .admit, .make, .share: true
        }
    }

    mutating func proceed() -> Action {
        guard let ring = current else { preconditionFailure("a ring that was just met is of another owner") }
        if !isOwn, !hasJoined {
            if case .join(let link) = start.goal { return join(ring, link) }
            // A member whose keys were replaced says so: who reads alone can make no entry.
            if namesFormerKeys(ring) { return sendJoin(invitationID: [], proof: []) }
            if isUnasked {
                // Another device may have given the account other keys, and these would take their place.
                return start.hasNewestIdentity ? sendJoin(invitationID: [], proof: []) : .finish(.again)
            }
        }
        guard makesEntries else { return finish(ring) }
        guard let member = ownMember(of: ring.chain.head) else { return fail(.isNoMember) }
        guard let draft = nextDraft(ring) else {
            if isOwn || kept.removals.isEmpty { return finish(ring) }
            // Whoever was to go is out. If they come again, somebody has let them in again.
            kept.removals = []
            return keep(.proceed)
        }
        return member.role == .reader ? fail(.isDue) : rotate(ring, draft)
    }

    /// Whether the ring of another's zone hands its key to keys of the account that were replaced: those who make
    /// entries have to hear of it.
    func namesFormerKeys(_ ring: KnownRing) -> Bool {
        !isOwn && ownMember(of: ring.chain.head) != nil && !ring.chain.head.namesKeys(of: identity)
    }

    /// Whether the account takes part in what the ring is of, and the server does not have it among those who wait for
    /// the keys: they may have come before there were any.
    var isUnasked: Bool {
        guard !isOwn, let ring = current, ownMember(of: ring.chain.head) == nil else { return false }
        if case .join = start.goal { return false }
        return !news.guests.contains { guest in
            guest.user.hasBytes(of: user)
                && identity.chain.statement(of: guest.statementHash)?.keys == identity.keys.publicKeys
        }
    }

    /// Whether new values may take the ring's newest key as it is known here.
    func isForWriting(_ ring: KnownRing) -> Bool {
        // Whether those whom an administrator took out are members by now the server is asked once.
        let isSettled = isOwn || kept.removals.isEmpty
        return isSettled && !kept.wasDeletedHere && ownMember(of: ring.chain.head) != nil && nextDraft(ring) == nil
    }

    // MARK: Beginnings

    /// Makes a ring where there is none, as far as the goal asks for one.
    mutating func beginIfWanted() -> Action {
        guard isOwn else { return .finish(.ring(nil)) }
        switch start.goal {
        case .read, .admit, .accept, .join: return .finish(.ring(nil))
        case .write, .make, .share:
            if start.place.root.isEmpty { return begin() }
            // Where the zone is one tree all of it has one key.
            guard let zone = start.zone, !zone.isPerZone, Names.problemWithRecordName(start.place.root) == nil else {
                return .finish(.ring(nil))
            }
            if start.hasNewZoneKey { return begin() }
            // A server that hides the tree's ring again and again leaves room for what has to be changed.
            return zone.newest < start.zoneKeysForTreesMax ? .finish(.needsNewZoneKey) : fail(.isFullOfTrees)
        }
    }

    /// Makes the ring.
    mutating func begin() -> Action {
        do throws(EncryptionRefusal) {
            if !start.place.root.isEmpty { return send(try beginTree()) }
            if let wanted = wantedPolicies.encryptsAssets, leavesAssetsPlain == wanted {
                return fail(.hasOtherFiles(areEncrypted: !wanted))
            }
            return send(try beginZone())
        } catch {
            return fail(.malformed("it names what no ring can be of"))
        }
    }

    private func beginZone() throws(EncryptionRefusal) -> RingChain {
        // One that no server takes any more is followed by one of the same scope.
        try author.begin(
            ringName(id: Place.newRingID()),
            isPerZone: wantedPolicies.isPerZone || current?.chain.head.isPerZone == true,
            hasPlainAssets: leavesAssetsPlain, firstDraft())
    }

    private var wantedPolicies: WantedPolicies {
        if case .make(let wanted) = start.goal { wanted } else { WantedPolicies() }
    }

    /// Whether a ring of the zone that is made now leaves files plain.
    ///
    /// No file is saved plain because a server says that the zone was deleted, nor because a ring did that a removed
    /// device may have begun: an app that wants files encrypted gets a ring that says so.
    private var leavesAssetsPlain: Bool {
        let known = kept.known.flatMap { isOfOwner($0) ? $0.chain.head : nil }
        let encryptsAssets = wantedPolicies.encryptsAssets ?? start.encryptsAssets
        return !encryptsAssets && (current?.chain.head ?? known)?.hasPlainAssets != false
    }

    private func beginTree() throws(EncryptionRefusal) -> RingChain {
        guard let zone = start.zone else { preconditionFailure("a tree's ring is made without the zone's keys") }
        var draft = try firstDraft()
        draft.zoneKeyNumber = zone.newest
        // Guests read what was encrypted before they came, and have no key that a zone uses which they have left.
        draft.treeKeys = zone.treeKeys(root: start.place.root).filter { $0.key < zone.newest }
        return try author.begin(
            RingName(place: zone.place, root: start.place.root), hasPlainAssets: !zone.encryptsAssets, draft)
    }

    private func firstDraft() throws(EncryptionRefusal) -> RingDraft {
        let owner = RingMember(user: user, statementHash: identity.statement.hash, role: .owner)
        var draft = RingDraft(members: [owner])
        _ = addLinks(to: &draft, behind: nil)
        return draft
    }

    // MARK: Next entries

    /// What the next entry has to say; nil where none is needed.
    func nextDraft(_ ring: KnownRing) -> RingDraft? {
        let head = ring.chain.head
        var draft = RingDraft(after: head, statements: statements)
        // A member who has another device, and the same keys, is no reason.
        var isNeeded = !ring.isForWriting(by: identity) || head.members.contains(where: { isRenewed($0, in: head) })
        let gone = goers(of: ring)
        // Whoever was taken out before they came may have the link for many: the owner's devices end it, as no writer
        // may by itself.
        if !gone.isEmpty || isOwn && !kept.removals.isEmpty {
            draft.drop(gone)
            draft.endLinksForMany()
            isNeeded = true
        }
        for member in returning(to: ring) where !draft.members.contains(where: { $0.user.hasBytes(of: member.user) }) {
            guard draft.members.count < KeyLimits.ringMembersMax else { break }
            draft.admit(member)
            isNeeded = true
        }
        // Nobody comes in by a link that ends with this entry.
        if endLinks(of: &draft) { isNeeded = true }
        for guest in news.guests where !draft.members.contains(where: { $0.user.hasBytes(of: guest.user) }) {
            guard draft.members.count < KeyLimits.ringMembersMax,
                let member = admitted(guest, by: head, draft.invitations) ?? approved(guest)
            else { continue }
            draft.admit(member)
            isNeeded = true
        }
        if addLinks(to: &draft, behind: head) { isNeeded = true }
        return isNeeded || start.wantsNewKey && !hasMadeEntry ? draft : nil
    }

    /// Former members who come in again as they were, where they have no other keys since.
    private func returning(to ring: KnownRing) -> [RingMember] {
        if start.returning.isEmpty || !isOwn { return [] }
        return start.returning.sorted().compactMap { user in
            guard let former = ring.chain.entries.reversed().lazy.compactMap({ $0.entry.member(named: user) }).first,
                former.role != .owner, !isDropped(user), !isRenewed(former, in: ring.chain.head),
                people[user]?.chain.statement(of: former.statementHash) != nil
            else { return nil }
            return RingMember(user: user, statementHash: former.statementHash, role: former.role)
        }
    }

    /// The members who are to go.
    private func goers(of ring: KnownRing) -> [String] {
        let head = ring.chain.head
        guard case .share(let wanted) = start.goal, isOwn else {
            return head.members.filter { isOut($0, of: head) }.map(\.user)
        }
        if wanted.isEnd { return head.members.filter { $0.role != .owner }.map(\.user) }
        var joined: Set<String> = []
        if !wanted.removed.isEmpty {
            for member in ring.chain.entries.flatMap(\.entry.members) {
                if let id = member.joining?.invitationID, wanted.removed.contains(id) { joined.insert(member.user) }
            }
        }
        return head.members.filter { isOut($0, of: head) || joined.contains($0.user) && $0.role != .owner }.map(\.user)
    }

    /// Whether a member is to go: they take part no more, or began anew with keys that nobody has proved.
    private func isOut(_ member: RingMember, of entry: RingEntry) -> Bool {
        if member.role == .owner || member.user.hasBytes(of: user) { return false }
        if news.departed.contains(member.user) || isDropped(member.user) { return true }
        // This device knows somebody else of the name.
        if let known = people[member.user]?.chain, known.statement(of: member.statementHash) == nil { return true }
        return news.renewed.contains(member.user) && !isRenewed(member, in: entry)
    }

    /// Whether the app has somebody go, now or when that came to nothing.
    private func isDropped(_ user: String) -> Bool { start.dropped.contains(user) || kept.isToGo(user) }

    private func isRenewed(_ member: RingMember, in entry: RingEntry) -> Bool {
        let standing = statements.standing(of: member.user, hash: member.statementHash, in: entry.ring.place)
        return standing?.hasNewestKeys == false
    }

    /// A guest as a member of the next entry; nil for one who can't prove to have had a link that stays, or whose keys
    /// are not known.
    private func admitted(_ guest: RingGuest, by head: RingEntry, _ links: [RingInvitation]) -> RingMember? {
        let standing = statements.standing(of: guest.user, hash: guest.statementHash, in: head.ring.place)
        guard let standing, standing.hasNewestKeys, links.contains(where: { $0.id == guest.invitationID }),
            !isDropped(guest.user),
            // Somebody else of the name is none whom this device knows.
            people[guest.user]?.chain.statement(of: guest.statementHash) != nil
        else { return nil }
        return head.member(
            joining: guest.user, statementHash: guest.statementHash, invitationID: guest.invitationID,
            proof: guest.proof, wantedRole: guest.mayWrite ? .writer : .reader)
    }

    /// A guest as a member whom a person takes in; nil for one whom nobody decided about, or who has other keys than
    /// that person saw.
    private func approved(_ guest: RingGuest) -> RingMember? {
        guard let approved = start.approved[guest.user]?.chain, let known = people[guest.user]?.chain,
            known.first.hash == approved.first.hash, known.last.keys == approved.last.keys,
            known.statement(of: guest.statementHash)?.keys == known.last.keys, !isDropped(guest.user)
        else { return nil }
        return RingMember(
            user: guest.user, statementHash: guest.statementHash, role: guest.mayWrite ? .writer : .reader)
    }

    /// Gives the ring a new key.
    private mutating func rotate(_ ring: KnownRing, _ draft: RingDraft) -> Action {
        do throws(EncryptionRefusal) {
            var draft = draft
            try replaceLinks(of: &draft)
            _ = endLinks(of: &draft)
            _ = addLinks(to: &draft, behind: ring.chain.head)
            return send(try author.next(after: ring.chain, keys: ring.chain.keys(of: identity), draft))
        } catch {
            return fail(.full)
        }
    }

    /// Goes on with the part of the known ring that the server has, where it takes no more of it.
    mutating func goOn(_ ring: KnownRing, before number: UInt32) -> Action {
        do throws(EncryptionRefusal) {
            let chain = RingChain(kept: Array(ring.chain.entries.prefix(Int(number) - 1)))
            return try goOn(with: chain, ending: ring)
        } catch {
            return fail(.full)
        }
    }

    /// Goes on with what the server shows instead of the known ring, as a person has decided.
    mutating func accept(_ shown: [SignedRingEntry]) throws(EncryptionRefusal) -> Action {
        guard let known = kept.known else { preconditionFailure("another ring is shown than one that is not known") }
        let chain = try KnownRing(shown, of: known.chain.head.ring, statements: statements).chain
        return try goOn(with: chain, ending: known)
    }

    /// Makes an entry that says where the known ring ended: its keys are still read with. The owner's newest keys make
    /// it, so that nobody who was dropped can.
    private mutating func goOn(with chain: RingChain, ending ring: KnownRing) throws(EncryptionRefusal) -> Action {
        guard ring.endedBranches.count + 2 <= KeyLimits.ringBranchesMax else { return fail(.full) }
        let known = ring.chain.head
        var draft = RingDraft(after: chain.head, statements: statements)
        draft.otherBranch = known.hash
        // Whoever went on the branch that ends is out, with the links that may be known to them.
        draft.drop(
            chain.head.members.filter { !isSame($0, in: known) || isOut($0, of: chain.head) }.map(\.user))
        // Whoever may do less by now gets nothing back.
        draft.members = draft.members.map { member in
            guard let role = known.member(named: member.user)?.role, role != member.role else { return member }
            return RingMember(user: member.user, statementHash: member.statementHash, role: role)
        }
        draft.invitations.removeAll { !known.invitations.contains($0) }
        if !kept.removals.isEmpty { draft.endLinksForMany() }
        try replaceLinks(of: &draft)
        if !kept.removals.isEmpty { _ = endLinks(of: &draft) }
        return send(try author.next(after: chain, keys: chain.keys(of: identity), draft))
    }

    /// Whether an entry names a member with the same chain of statements, and not only with the same name.
    private func isSame(_ member: RingMember, in other: RingEntry) -> Bool {
        guard let known = other.member(named: member.user) else { return false }
        if known.statementHash == member.statementHash { return true }
        let chain = member.user.hasBytes(of: user) ? identity.chain : people[member.user]?.chain
        return [known, member].allSatisfy { chain?.statement(of: $0.statementHash) != nil }
    }

    private mutating func send(_ chain: RingChain) -> Action {
        phase = .sending(chain)
        let last = chain.entries[chain.entries.count - 1]
        return .append(
            SharedBytes(last.bytes),
            statements: statements(of: last.entry, behind: chain.entries.dropLast().last?.entry))
    }

    /// Whether a member has replaced the keys that an entry names, as far as this device knows.
    func namesReplacedKeys(_ entry: RingEntry) -> Bool {
        entry.members.contains { member in
            if member.user.hasBytes(of: user) { return !entry.namesKeys(of: identity) }
            guard let chain = people[member.user]?.chain else { return false }
            return chain.statement(of: member.statementHash)?.keys != chain.last.keys
        }
    }

    // MARK: Parts

    private var author: RingAuthor { RingAuthor(user: user, identity: identity.keys, statements: statements) }

    /// The statements that a server may lack to which an entry goes: those of who comes in with it, or has other keys
    /// than in the one before. As many as a request has room for, and no newer ones than the entry names: a server
    /// takes none to keys that it knows to be replaced.
    func statements(of entry: RingEntry, behind before: RingEntry?) -> [SharedBytes] {
        var all: [SharedBytes] = []
        for member in entry.members where member.role != .owner {
            guard before?.member(named: member.user)?.statementHash != member.statementHash,
                let person = people[member.user], let index = person.chain.index(of: member.statementHash),
                all.count + index < Limits.ringStatementsPerRequest
            else { continue }
            all += person.signed[...index].map { SharedBytes($0.bytes) }
        }
        return all
    }
}
