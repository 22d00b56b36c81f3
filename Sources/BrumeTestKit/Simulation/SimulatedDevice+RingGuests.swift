internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// What devices do with rings of other accounts' zones: they say which keys they have and ask to be taken in, look at
/// statements, and make entries where they are members that may.
extension SimulatedDevice {
    func useSharedRing() {
        guard !replica.statements.isEmpty else { return useStatements() }
        guard let zone = otherZone() else { return useSharedDatabase() }
        let state = simulation.history[home(of: zone)].states.last!
        if generator.oneIn(6) { return fetchRingStatements(zone) }
        if generator.oneIn(24) { return findRingRoots(of: zone) }
        if generator.oneIn(48) { return listMisplacedRecords(of: zone) }
        // Those with whom the whole zone is shared have a part in its ring; others in that of a root. Now and then one
        // asks for what is not theirs.
        let isWhole = state.zones[zone.name]?.records[Names.zoneShare] != nil
        let roots = state.sharedRoots(of: zone.name).filter { state.takesPart(user, in: zone.name, root: $0) }
        let usual = isWhole ? [""] : roots
        let root =
            usual.isEmpty || generator.oneIn(10) ? generator.pick(Self.recordNames + [""]) : generator.pick(usual)
        fetchRing(zone, root: root) { [self] told in
            let head = told.page.entries.last.flatMap { try? SignedRingEntry($0.array) }?.entry
            let isMember = head?.member(named: user) != nil
            let isAsking = told.page.guests.contains { $0.user == user }
            if isMember, generator.oneIn(2), let statement = replica.statements.last {
                append(behind: told, statement: statement)
            }
            // Members say which keys they have, and guests ask again.
            if generator.oneIn(head == nil ? 6 : isMember || isAsking ? 3 : 1) { join(told, head) }
        }
    }

    /// A zone of another account, mostly one of which the account was told that it takes part in it.
    private func otherZone() -> ZoneID? {
        let accepted = simulation.acceptances.filter { $0.user == user }.map(\.zone)
        let known = Set(accepted).union(shared.zones.keys).sorted { ($0.owner, $0.name) < ($1.owner, $1.name) }
        if let zone = known.randomElement(using: &generator), !generator.oneIn(16) { return zone }
        let others = simulation.users.filter { $0 != user }
        guard let owner = others.randomElement(using: &generator), generator.oneIn(4) else { return nil }
        return ZoneID(name: generator.pick(zoneNames), owner: owner)
    }

    /// Notes that a device sends what may be kept beside the rings of a zone.
    func sends(_ content: [UInt8], besideRingsOf zone: ZoneID) {
        simulation.history.ringFacts.sentBesideRings[content, default: []].insert(
            .init(device: deviceID, database: home(of: zone), zone: zone.name, content: content))
    }

    private func join(_ told: ToldRing, _ head: RingEntry?) {
        let zone = told.zone
        var request = JoinRingRequest(zone: zone, root: told.root, statements: randomStatements(besideRingsOf: told))
        if let head, let invitation = head.invitations.randomElement(using: &generator), !generator.oneIn(3),
            let secret = simulation.linkSecrets[invitation.id],
            let hash = (request.statements.last ?? replica.statements.last).flatMap(CommitHistory.hash)
        {
            // Some have the proof of another.
            let name = generator.oneIn(12) ? generator.pick(simulation.users) : user
            request.invitationID = invitation.id
            request.proof = secret.joinProof(
                ring: head.ring, invitationID: invitation.id, guest: name, statementHash: hash)
            if generator.oneIn(16) { request.proof[generator.pick([0, 63])] ^= 1 }
        }
        let history = simulation.history
        for bytes in request.statements { sends(bytes.array, besideRingsOf: zone) }
        sends(CommitHistory.SentBesideRings.asking(told.root, request.invitationID), besideRingsOf: zone)
        let sight = history.sight(of: told.home)
        call(.ringsJoin, coder.encodeJoinRingRequest(request), .none) { [self] result in
            let timeline = history[told.home]
            let seen = timeline.start(of: sight)
            switch result {
            case .success:
                simulation.wasAnswered()
                simulation.report.ringsJoined += 1
                let guest = timeline.states.last!.rings(of: zone.name).guests[told.root]?[user]
                if request.proof.isEmpty, guest?.proof.isEmpty == false { simulation.report.ringProofsKept += 1 }
                let chains = timeline.states.last!.rings(of: zone.name).chainCount(of: user)
                // Whoever can go back and forth between keys does so more often than they may.
                if chains > 1, generator.oneIn(2) { join(told, head) }
                if !timeline.wasTrue(since: seen, { history.holds(request, by: user, in: $0) }) {
                    simulation.violated("I1: \(user) has joined a ring of \(zone.name), and no commit holds it")
                }
            case .failure(let error)
            where [.invalidArguments, .serverRecordChanged, .limitExceeded].contains(error.code):
                simulation.report.joinsRefused += 1
                let isForSelection = error.code == .limitExceeded && error.message.contains("earlier chain")
                if isForSelection { simulation.report.ringSelectionsRefused += 1 }
                let isRight = timeline.wasTrue(since: seen) { state in
                    isForSelection
                        ? history.mayRefuseSelection(by: request, of: user, in: state)
                        : history.outcome(ofJoining: request, by: user, in: state) == .refusal(error.code)
                }
                if !isRight {
                    let due = history.outcome(ofJoining: request, by: user, in: timeline.states.last!)
                    simulation.violated(
                        "I19: \(user) may not join a ring of \(zone.name), and is \(due): \(error.message)")
                }
            case .failure:
                checkRefusal(result, ofRingIn: zone, since: seen)
                checkRefusalOfWrite(result)
            }
        }
    }

    /// Mostly all statements of the account, as far as the device was told; or fewer than the server needs, or those
    /// of somebody else, which it has to refuse. Whoever began anew may go back to what they had before.
    private func randomStatements(besideRingsOf told: ToldRing) -> [SharedBytes] {
        let known = Array(replica.statements.prefix(Limits.ringStatementsPerRequest))
        let kept = simulation.history[told.home].states.last!.rings(of: told.zone.name)
        let count = kept.chainCount(of: user)
        if count > 1, !generator.oneIn(4) {
            return kept.chain(UInt32.random(in: 1...count, using: &generator), of: user).suffix(1)
        }
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return []
        case 1: return known.suffix(1)
        case 2: return known.filter { $0 == known.first || $0 == known.last }
        case 3 where generator.oneIn(2) || simulation.options.brokenPromise == .takesForeignStatements:
            let other = generator.pick(simulation.users)
            let theirs = simulation.history[simulation.privateDatabase(of: other)].states.last!.statements
            return Array(theirs.prefix(Limits.ringStatementsPerRequest))
        default: return known
        }
    }

    /// Fetches the statements of somebody beside the rings of a zone, and checks that some commit left them.
    private func fetchRingStatements(_ zone: ZoneID) {
        let (home, other) = (home(of: zone), generator.pick(simulation.users))
        let after = generator.oneIn(3) ? UInt32.random(in: 0...3, using: &generator) : 0
        let sight = simulation.history.sight(of: home)
        let request = FetchRingStatementsRequest(zone: zone, user: other, after: after)
        call(.ringsFetchStatements, coder.encodeFetchRingStatementsRequest(request), .none) { [self] result in
            let timeline = simulation.history[home]
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else { return checkRefusal(result, ofRingIn: zone, since: seen) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchRingStatementsResponse(buffer) }
            }
            guard case .success(let page) = decoded else { return simulation.violated("statements can't be read") }
            simulation.wasAnswered()
            simulation.report.ringStatementPages += 1
            let isTrue = timeline.wasTrue(since: seen) { state in
                let all = simulation.history.ringStatements(
                    of: other, beside: zone.name, in: state, of: home.owner, to: user)
                return all.map { Array($0.dropFirst(Int(after))) == page.statements && $0.count == page.last } ?? false
            }
            if !isTrue {
                simulation.violated(
                    "I1: \(page.last) statements of \(other) beside rings are told, which no commit since \(seen)"
                        + " left")
            }
        }
    }
}
