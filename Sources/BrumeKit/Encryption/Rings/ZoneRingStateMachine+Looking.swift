internal import BrumeEncryption
internal import BrumeModel

/// What a server shows of a ring, beside what this device knows.
extension ZoneRingStateMachine {
    /// The users whose statements have to be known before the entries can be checked, or the next one made, and the
    /// hashes of those that are named.
    func usersToMeet(_ fetch: RingFetch) -> (users: [String], hashes: Set<[UInt8]>) {
        guard let place = fetch.shown.first?.entry.ring.place else { return ([], []) }
        var users = Set(fetch.news.renewed)
        var hashes: Set<[UInt8]> = []
        func need(_ user: String, _ hash: [UInt8]) {
            if isKnown(user, hash, place) { return }
            users.insert(user)
            hashes.insert(hash)
        }
        for signed in fetch.shown {
            for member in signed.entry.members { need(member.user, member.statementHash) }
        }
        if makesEntries, let head = fetch.shown.last?.entry {
            // Those without a proof, about whom nobody has decided, cost nothing.
            for guest in fetch.news.guests where head.admits(guest) || start.approved[guest.user] != nil {
                need(guest.user, guest.statementHash)
            }
        }
        // Whoever comes again to a restored server may have other keys than the entries that it lacks name.
        if let known = kept.known, !fetch.news.guests.isEmpty {
            var missing: Set<String> = []
            for signed in known.chain.entries.dropFirst(fetch.shown.count) {
                missing.formUnion(signed.entry.members.map(\.user))
            }
            for guest in fetch.news.guests where missing.contains(guest.user) {
                users.insert(guest.user)
                hashes.insert(guest.statementHash)
            }
        }
        // In another's zone entries may name keys that the account had before it began anew.
        if isOwn || hashes.isDisjoint(with: ownHashes(fetch)) { users.remove(user) }
        return (users.sorted(), hashes)
    }

    private func ownHashes(_ fetch: RingFetch) -> [[UInt8]] {
        fetch.shown.compactMap { $0.entry.member(named: user)?.statementHash }
    }

    private func isKnown(_ user: String, _ hash: [UInt8], _ place: Place) -> Bool {
        statements.standing(of: user, hash: hash, in: place) != nil
    }

    mutating func looked(_ fetch: RingFetch) -> Action {
        let shown = fetch.shown
        news = fetch.news
        guard let first = shown.first else {
            if let ring = current { return giveBack(ring.chain.entries[...]) }
            return beginIfWanted()
        }
        do throws(EncryptionRefusal) {
            let ring = try ringName(id: first.entry.ring.place.ringID)
            if let zone = start.zone, zone.place != ring.place { return fail(.isOver) }
            // A link proves the owner before anything that is shown of them is kept.
            if case .join(let link?) = start.goal {
                guard let owner = people[start.place.owner], link.isOf(owner.chain) else {
                    return fail(.isOfAnotherOwner)
                }
            }
            if let known = kept.known?.chain.head, known.ring == ring, !first.entry.isOfPolicies(of: known) {
                // Neither a branch nor a person's word changes what holds for good.
                return fail(.forked)
            }
            guard var known = kept.known, known.chain.head.ring == ring, isOfOwner(known) else {
                return take(try KnownRing(shown, of: ring, statements: statements))
            }
            let former = known.chain
            let meeting = try known.meet(shown, statements: statements)
            kept.known = known
            if meeting == .extended { doubtLateMembers(of: known.chain, behind: former) }
            let wasOver = kept.isOver || kept.wasDeletedHere
            if kept.wasDeletedHere {
                let isDecided = if case .accept = start.goal { true } else { false }
                guard isDecided || isOfOwnerAlone(known) else {
                    return makesEntries ? fail(.wasDeleted) : finish(known)
                }
                kept.wasDeletedHere = false
            }
            kept.isOver = false
            switch meeting {
            case .same: return wasOver ? keep(.proceed) : proceed()
            case .extended, .joined: return keep(.proceed)
            case .behind(let missing): return wasOver ? keep(.giveBack(missing)) : giveBack(missing[...])
            case .forked:
                if case .accept = start.goal, isOwn { return try accept(shown) }
                // A guest can't ask the owner's devices what became of the branch: the person has, by a newer link, or
                // decides for what is shown.
                let isFollowed =
                    switch start.goal {
                    case .join(let link?) where !isOwn:
                        try known.follow(shown, by: link.secret, statements: statements)
                    case .accept: try known.follow(shown, by: nil, statements: statements)
                    default: false
                    }
                if !isFollowed { return fail(.forked) }
                kept.known = known
                return keep(.proceed)
            }
        } catch {
            // Another device may have used keys of the account that are newer than those that are known here.
            if error == .brokenChain, !start.hasNewestIdentity, shown.contains(where: namesUnknownStatement) {
                return .finish(.again)
            }
            if let stranger = shown.lazy.compactMap(stranger).first {
                if case .join = start.goal, stranger.hasBytes(of: start.place.owner) { return fail(.isOfAnotherOwner) }
                return fail(.isStranger(stranger))
            }
            return fail(error == .newer ? .newer : .malformed("the zone's ring has an entry that breaks its rules"))
        }
    }

    /// Has those go whom entries that this device has not seen before have let in, or given more rights, with keys of
    /// the account's that were replaced: a device that was removed has those, and a server may show what it makes now
    /// as if it had been there before. Whom an honest device let in asks for the keys again.
    private mutating func doubtLateMembers(of chain: RingChain, behind former: RingChain) {
        guard isOwn, ownersStatement(chain.head)?.hasNewestKeys == false else { return }
        let late = chain.entries.dropFirst(former.entries.count).map(\.entry).filter { $0.author.hasBytes(of: user) }
        let doubtful = chain.head.members.filter { member in
            let known = former.head.member(named: member.user)
            return member.role != .owner && known?.role != member.role
                && late.contains { $0.member(named: member.user) != nil }
        }
        if doubtful.isEmpty { return }
        let users = doubtful.map(\.user).sorted().prefix(KeyLimits.ringStayingMax)
        kept.note(PendingRemoval(id: .random(in: 0 ... .max), users: .going(Set(users))))
    }

    /// Whether nobody but the account has ever had keys of a ring, or of what may be below it: then nobody else reads
    /// what is saved in a zone that this device has deleted, and another one of the account's has made anew before it
    /// heard of that.
    private func isOfOwnerAlone(_ ring: KnownRing) -> Bool {
        let entries = ([ring.chain] + ring.endedBranches).flatMap(\.entries)
        return isOwn && !start.knowsShares
            && entries.allSatisfy { $0.entry.members.count == 1 && $0.entry.invitations.isEmpty }
    }

    /// Takes a ring that was not known.
    ///
    /// The ring of a zone that was made anew has to begin with keys of its owner that are no older than those that the
    /// known ring ended with: else a device that was removed since could have made it.
    mutating func take(_ ring: KnownRing) -> Action {
        if let known = kept.known, isOfOwner(known), known.chain.head.ring != ring.chain.head.ring,
            let former = ownersStatement(known.chain.head), let first = ownersStatement(ring.chain.entries[0].entry),
            first.index < former.index, first.keys != former.keys
        {
            return fail(.isOver)
        }
        do throws(EncryptionRefusal) {
            guard try kept.lives.meet(ring.chain) != .over else { return fail(.isOver) }
        } catch {
            return fail(.malformed("the zone was made anew more often than a device keeps in mind"))
        }
        kept.known = ring
        (kept.isOver, kept.wasDeletedHere, kept.deletionIsAsked) = (false, false, false)
        return keep(.proceed)
    }

    // MARK: What is known

    var identity: Identity { start.identity }

    var user: String { identity.statement.scope.account }

    /// The account as an entry has it; nil where it is no member with the keys that it has, or had before these.
    func ownMember(of entry: RingEntry) -> RingMember? {
        entry.member(named: user).flatMap { identity.chain.statement(of: $0.statementHash) == nil ? nil : $0 }
    }

    /// Whether the zone is the account's own.
    var isOwn: Bool { start.place.owner.hasBytes(of: user) }

    /// The known ring, if the zone may still have it and it is of its owner as this device knows them.
    var current: KnownRing? {
        guard !kept.isOver, let known = kept.known, isOfOwner(known) else { return nil }
        if let zone = start.zone, zone.place != known.chain.head.ring.place { return nil }
        return known
    }

    /// Whether it was not begun by an identity that the owner had before a reset.
    func isOfOwner(_ ring: KnownRing) -> Bool { ownersStatement(ring.chain.head) != nil }

    /// Takes what is known of somebody. Of those who began anew the newest that is told counts for what is made.
    mutating func know(_ person: KnownStatements) {
        statements.add(person.chain)
        people[person.chain.last.scope.account] = person
    }

    private func namesUnknownStatement(_ signed: SignedRingEntry) -> Bool {
        guard let member = signed.entry.member(named: user) else { return false }
        return identity.chain.statement(of: member.statementHash) == nil
    }

    /// The member of an entry whom this device knows by other statements than the server shows.
    private func stranger(_ signed: SignedRingEntry) -> String? {
        signed.entry.members.first { strangers.contains($0.user) && people[$0.user] != nil }?.user
    }

    /// The owner's statement that an entry names.
    func ownersStatement(_ entry: RingEntry) -> StatementDirectory.Standing? {
        entry.member(named: start.place.owner).flatMap {
            statements.standing(of: $0.user, hash: $0.statementHash, in: entry.ring.place)
        }
    }

    func ringName(id: [UInt8]) throws(EncryptionRefusal) -> RingName {
        let scope = identity.statement.scope
        let place = start.place
        return try RingName(
            place: Place(
                container: scope.container, environment: scope.environment, owner: place.owner, zone: place.zone,
                ringID: id), root: place.root.isEmpty ? nil : place.root)
    }
}

extension RingEntry {
    /// Whether it says the same as another one of its ring of what is never changed.
    fileprivate func isOfPolicies(of other: RingEntry) -> Bool {
        hasPlainAssets == other.hasPlainAssets && isPerZone == other.isPerZone
    }
}

extension RingEntry {
    /// Whether a guest can prove to have had a link of this entry.
    func admits(_ guest: RingGuest) -> Bool {
        member(
            joining: guest.user, statementHash: guest.statementHash, invitationID: guest.invitationID,
            proof: guest.proof, wantedRole: .reader) != nil
    }
}
