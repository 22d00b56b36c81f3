internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRandom

/// The entries that devices make for rings: who is in them, and by which links others may come.
extension SimulatedDevice {
    typealias MadeEntry = (entry: SignedRingEntry, statements: [SharedBytes])

    /// The next entry of a ring, or its first, and statements that the server may not have; nil where the account's
    /// identity has no part in it.
    func nextEntry(behind told: ToldRing, by identity: Identity) -> MadeEntry? {
        let seed = UInt64.random(in: .min ... .max, using: &generator)
        return SeededRandomness.testOnly_use(seed: seed) {
            told.page.entries.isEmpty ? firstEntry(of: told, by: identity) : laterEntry(behind: told, by: identity)
        }
    }

    private func firstEntry(of told: ToldRing, by identity: Identity) -> MadeEntry? {
        guard told.home == database else { return nil }
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let owner = RingMember(user: user, statementHash: identity.statement.hash, role: .owner)
        var draft = RingDraft(members: [owner])
        let hasLinks = simulation.options.sharesMuch || generator.oneIn(4)
        for _ in 0..<(hasLinks ? generator.pick([0, 1, 1, 2]) : 0) { addLink(to: &draft, by: identity, owner: nil) }
        let author = RingAuthor(user: user, identity: identity.keys, statements: statements)
        let ringID = (0..<Place.ringIDBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        var hasPlainAssets = !generator.oneIn(3) || simulation.options.brokenPromise == .takesPlainAssets
        guard
            var place = try? Place(
                container: Simulation.container, environment: "development", owner: user, zone: told.zone.name,
                ringID: ringID)
        else { return nil }
        if !told.root.isEmpty {
            // A tree's ring has the place of the zone's, and its policy for assets.
            let zone = told.state.ring(of: told.zone.name)
            guard let last = zone.last.flatMap(simulation.history.outline) else { return nil }
            (place, hasPlainAssets, draft.zoneKeyNumber) = (last.ring.place, last.hasPlainAssets, last.number)
        }
        guard let name = try? RingName(place: place, root: told.root.isEmpty ? nil : told.root) else { return nil }
        return (try? author.begin(name, hasPlainAssets: hasPlainAssets, draft).entries.last).map { ($0, []) }
    }

    private func laterEntry(behind told: ToldRing, by identity: Identity) -> MadeEntry? {
        let chain = RingChain(kept: told.page.entries.compactMap { try? SignedRingEntry($0.array) })
        let (head, isOwner) = (chain.head, told.home == database)
        guard let role = head.member(named: user)?.role, role != .reader,
            isOwner || replica.statements.count <= Limits.ringStatementsPerRequest
        else { return nil }
        let kept = told.state.rings(of: told.zone.name)
        var brought = isOwner ? [] : replica.statements
        if isOwner, generator.oneIn(8) { brought = Array(told.state.statements.suffix(1)) }
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let others = kept.statements.keys.sorted().flatMap { kept.chains(of: $0).compactMap(\.last) }
        // Some know nothing of keys that were replaced since the last entry.
        let isBlind = generator.oneIn(16) || simulation.options.brokenPromise == .takesOldKeys
        for bytes in told.state.statements.suffix(1) + others {
            guard let chain = simulation.identities[bytes.array]?.chain else { continue }
            statements.add(isBlind ? Self.chain(chain, upTo: head) : chain)
        }
        var draft = RingDraft(after: head, statements: statements)
        if isOwner, !told.root.isEmpty {
            draft.zoneKeyNumber = UInt32(told.state.ring(of: told.zone.name).count)
            if generator.oneIn(16) { close(&draft, told, identity) }
        }
        // Some don't look at who has gone: the ring stays due.
        if !generator.oneIn(5) { draft.drop(told.page.departed) }
        if isOwner, generator.oneIn(10) { draft.drop([generator.pick(head.members).user].filter { $0 != user }) }
        let mayChoose = role == .owner || role == .administrator
        for guest in told.page.guests where draft.closingZoneKey == nil {
            guard mayChoose || head.member(named: guest.user) == nil else { continue }
            admit(guest, to: &draft, head, role, kept)
        }
        if isOwner, generator.oneIn(4), let (other, theirs) = uninvited(told, draft) {
            draft.members.append(other)
            brought += theirs
            if let known = theirs.last.flatMap({ simulation.identities[$0.array] }) { statements.add(known.chain) }
        }
        // Whoever began anew is known by keys that the server takes no more.
        draft.drop(
            draft.members.map(\.user).filter { name in
                guard !isBlind, name != user, name != told.home.owner, let chain = kept.chains[name] else {
                    return false
                }
                let hash = draft.members.first { $0.user == name }!.statementHash
                return !simulation.history.hasNewestKeys(hash, kept.chain(chain, of: name))
            })
        guard let owner = draft.members.first(where: { $0.role == .owner }),
            let keys = statements.standing(of: owner.user, hash: owner.statementHash, in: head.ring.place)?.keys,
            let secrets = try? draft.replaceLinks(
                owner: keys, author: user, authorKeys: isOwner ? nil : identity.keys.publicKeys)
        else { return nil }
        if draft.closingZoneKey != nil { draft.invitations = [] }
        simulation.linkSecrets.merge(secrets) { $1 }
        if mayChoose, draft.closingZoneKey == nil, generator.oneIn(6) {
            addLink(to: &draft, by: identity, owner: isOwner ? nil : keys)
        }
        let author = RingAuthor(user: user, identity: identity.keys, statements: statements)
        return (try? author.next(after: chain, keys: chain.keys(of: identity), draft).entries.last)
            .map { ($0, brought) }
    }

    /// A chain as far as an entry names it; all of it where the account is no member.
    private static func chain(_ chain: StatementChain, upTo entry: RingEntry) -> StatementChain {
        let hash = entry.member(named: chain.last.scope.account)?.statementHash
        guard let index = chain.statements.firstIndex(where: { $0.hash == hash }) else { return chain }
        return StatementChain(kept: Array(chain.statements[...index]))
    }

    /// Takes in a guest who had a link, or, if somebody may choose, one without.
    private func admit(
        _ guest: RingGuest, to draft: inout RingDraft, _ head: RingEntry, _ role: RingRole,
        _ kept: CommitHistory.KeptRings
    ) {
        guard simulation.history.hasNewestKeys(guest.statementHash, kept.currentChain(of: guest.user)) else { return }
        // Mostly those become writers who may change records: of others the server takes no entry.
        let proven = head.member(
            joining: guest.user, statementHash: guest.statementHash, invitationID: guest.invitationID,
            proof: guest.proof, wantedRole: generator.oneIn(4) == guest.mayWrite ? .reader : .writer)
        // By a link for one guest nobody else comes who asked with it.
        if let proven, !isSpent(guest.invitationID, head, draft) {
            draft.drop([guest.user])
            draft.admit(proven)
        } else if role == .owner || role == .administrator, generator.oneIn(2) {
            draft.drop([guest.user])
            draft.members.append(
                RingMember(
                    user: guest.user, statementHash: guest.statementHash,
                    role: role == .owner ? generator.pick([.administrator, .writer, .reader]) : .writer))
        }
    }

    private func isSpent(_ invitationID: [UInt8], _ head: RingEntry, _ draft: RingDraft) -> Bool {
        head.invitations.contains { $0.id == invitationID && $0.isForOneGuest }
            && !draft.invitations.contains { $0.id == invitationID }
    }

    /// Somebody who takes part and has not asked for the key, with their statements.
    private func uninvited(_ told: ToldRing, _ draft: RingDraft) -> (member: RingMember, statements: [SharedBytes])? {
        let kept = told.state.rings(of: told.zone.name)
        for other in simulation.users where draft.closingZoneKey == nil && kept.statements[other] == nil {
            let theirs = simulation.history[simulation.privateDatabase(of: other)].states.last!.statements
            guard told.state.takesPart(other, in: told.zone.name, root: told.root), let last = theirs.last,
                theirs.count < Limits.ringStatementsPerRequest,
                !draft.members.contains(where: { $0.user == other }), let hash = CommitHistory.hash(last)
            else { continue }
            let role = generator.pick([RingRole.administrator, .writer, .writer])
            return (RingMember(user: other, statementHash: hash, role: role), theirs)
        }
        return nil
    }

    /// Has nobody but the owner in the ring, as when the tree is private again.
    private func close(_ draft: inout RingDraft, _ told: ToldRing, _ identity: Identity) {
        let zone = told.state.ring(of: told.zone.name).compactMap { try? SignedRingEntry($0.array) }
        guard let key = RingChain(kept: zone).keys(of: identity).current else { return }
        draft.drop(draft.members.map(\.user).filter { $0 != user })
        draft.invitations = []
        draft.close(zoneKey: key)
    }

    /// Makes a link by which guests come.
    ///
    /// - Parameter owner: The keys of the ring's owner, where that is another.
    private func addLink(to draft: inout RingDraft, by identity: Identity, owner: PublicKeys?) {
        let secret = LinkSecret()
        let own = identity.keys.publicKeys
        let invitation = try? RingInvitation.make(
            maker: user, makerKeys: owner == nil ? nil : own, owner: owner ?? own,
            role: generator.pick([.writer, .writer, .reader]), isForOneGuest: generator.oneIn(3),
            isOpen: generator.oneIn(4), secret: secret)
        guard let invitation else { return }
        draft.invitations.append(invitation)
        simulation.linkSecrets[invitation.id] = secret
    }
}
