internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// A ring that a device was told of, and what a commit left when it was told.
struct ToldRing {
    /// As the device names it.
    let zone: ZoneID
    /// Empty for the zone's own ring.
    let root: String
    /// The database of the zone's owner.
    let home: DatabaseID
    let page: RingPage
    let state: CommitHistory.State
}

/// The keys of an account's zones and of what is shared in them, and who has them: devices of members make entries,
/// behind the last one that they were told of.
extension SimulatedDevice {
    /// Fetches a ring of one of the account's own zones, and mostly makes the next entry.
    ///
    /// - Parameter wanted: The zone whose newest key the device looks for; nil for any.
    func useRing(in wanted: String? = nil) {
        let state = timeline.states.last!
        let zone = wanted ?? ownZone(state)
        if wanted == nil, generator.oneIn(12) { return listMisplacedRecords(of: ZoneID(name: zone)) }
        if wanted == nil, generator.oneIn(24) { return findRingRoots(of: ZoneID(name: zone)) }
        // A tree has no ring where the zone has none.
        let roots = state.ring(of: zone).isEmpty ? [] : state.sharedRoots(of: zone)
        let root = roots.isEmpty || generator.oneIn(4) ? "" : generator.pick(roots)
        fetchRing(ZoneID(name: zone), root: root) { [self] told in
            guard let statement = replica.statements.last else {
                if simulation.options.sharesKeys { useStatements() }
                return
            }
            // Two at once race for one number, as those of two devices do. Whoever only looks for the newest key
            // mostly makes none, or all others would be behind.
            let isDue = !told.page.departed.isEmpty || !told.page.renewed.isEmpty || !told.page.guests.isEmpty
            let counts =
                wanted == nil && root.isEmpty ? [0, 1, 1, 2] : told.page.entries.isEmpty ? [1, 1, 2] : [0, 0, 1]
            for _ in 0..<generator.pick(isDue ? [0, 1, 1] : counts) { append(behind: told, statement: statement) }
        }
    }

    /// One of the account's own zones; mostly one that is shared, where that is what a run is about.
    private func ownZone(_ state: CommitHistory.State) -> String {
        let shared = zoneNames.filter { name in
            state.zones[name]?.records[Names.zoneShare] != nil || !state.sharedRoots(of: name).isEmpty
        }
        if simulation.options.sharesKeys, !shared.isEmpty, !generator.oneIn(8) { return generator.pick(shared) }
        return generator.oneIn(8) ? Names.defaultZone : generator.pick(zoneNames)
    }

    /// The database that a zone is in which the device names.
    func home(of zone: ZoneID) -> DatabaseID {
        zone.owner.isEmpty ? database : simulation.privateDatabase(of: zone.owner)
    }

    /// Fetches a ring, and checks that it is what some commit left, with those of whom the next entry has to know.
    func fetchRing(_ zone: ZoneID, root: String, then: @escaping (ToldRing) -> Void) {
        let home = home(of: zone)
        let sight = simulation.history.sight(of: home)
        let request = coder.encodeFetchRingRequest(FetchRingRequest(zone: zone, root: root, after: 0))
        call(.ringsFetch, request, .none) { [self] result in
            let (history, timeline) = (simulation.history, simulation.history[home])
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else { return checkRefusal(result, ofRingIn: zone, since: seen) }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchRingResponse(buffer) }
            }
            guard case .success(var page) = decoded else { return simulation.violated("a ring can't be read") }
            simulation.wasAnswered()
            if simulation.options.brokenPromise == .hidesGuests { page.guests = Array(page.guests.dropLast()) }
            let caller = home == database ? nil : user
            let state = timeline.states[Int(min(seen, timeline.last))...].last { state in
                state.ring(of: zone.name, root: root).count >= page.last
                    && history.ringPage(of: zone.name, root: root, in: state, of: home.owner, to: caller) == page
            }
            guard let state else {
                return simulation.violated(
                    "I1: a ring of \(page.last) entries, \(page.guests.count) guests, \(page.departed.count) departed"
                        + " and \(page.renewed.count) renewed members is told, which no commit since \(seen) left")
            }
            simulation.report.ringPages += 1
            learnKey(of: zone, root: root, page.entries)
            then(ToldRing(zone: zone, root: root, home: home, page: page, state: state))
        }
    }

    /// Makes an entry, and sends it with statements that the server may not have.
    ///
    /// - Parameter statement: The last one of the account that the device knows.
    func append(behind told: ToldRing, statement: SharedBytes) {
        // What a backup took back, or another device replaced, can leave a ring that this identity has no part in.
        guard let identity = simulation.identities[statement.array],
            let made = nextEntry(behind: told, by: identity)
        else { return }
        let entry = SharedBytes(made.entry.bytes)
        let (zone, entries) = (told.zone, told.page.entries)
        let history = simulation.history
        history.ringFacts.sentRingEntries[entry.array] = .init(
            device: deviceID, database: told.home, author: user, zone: zone.name, root: told.root,
            behind: entries.last)
        for bytes in made.statements { sends(bytes.array, besideRingsOf: zone) }
        let sight = history.sight(of: told.home)
        let request = AppendRingEntryRequest(zone: zone, entry: entry, statements: made.statements)
        call(.ringsAppend, coder.encodeAppendRingEntryRequest(request), .none) { [self] result in
            let timeline = history[told.home]
            let seen = timeline.start(of: sight)
            switch result {
            case .success:
                simulation.wasAnswered()
                simulation.report.ringEntriesKept += 1
                let longer = entries + [entry]
                learnKey(of: zone, root: told.root, longer)
                let isKept = timeline.wasTrue(since: seen) { state in
                    state.ring(of: zone.name, root: told.root).dropFirst(entries.count).first == entry
                }
                if !isKept {
                    simulation.violated("I1: entry \(longer.count) of a ring was kept, and no commit holds it")
                }
            case .failure(let error) where error.code == .permissionFailure && told.home != database:
                simulation.report.ringEntriesForbidden += 1
                let isExplained = timeline.wasTrue(since: seen) { state in
                    !state.mayWrite(user, in: zone.name, root: told.root)
                }
                if !isExplained {
                    simulation.violated("I6: \(user) may write, and makes no entry of a ring: \(error.message)")
                }
            case .failure(let error) where [.serverRecordChanged, .invalidArguments].contains(error.code):
                simulation.report.ringEntriesTooLate += 1
                let isExplained = timeline.wasTrue(since: seen) { state in
                    isTooLate(entry, behind: told, statement: statement, in: state)
                }
                if !isExplained {
                    simulation.violated("I6: entry \(entries.count + 1) of a ring is refused: \(error.message)")
                }
            case .failure:
                checkRefusal(result, ofRingIn: zone, since: seen)
                checkRefusalOfWrite(result)
            }
        }
    }

    /// Whether something that an entry has to agree with is not what the device was told.
    private func isTooLate(
        _ entry: SharedBytes, behind told: ToldRing, statement: SharedBytes, in state: CommitHistory.State
    ) -> Bool {
        let (now, then) = (state.rings(of: told.zone.name), told.state.rings(of: told.zone.name))
        let ring = now.entries[told.root] ?? []
        let isBehind =
            ring.starts(with: told.page.entries) && ring.dropFirst(told.page.entries.count).first ?? entry == entry
        let isSame = now.entries[""] == then.entries[""] && state.statements == told.state.statements
        if !isBehind || !isSame { return true }
        let named = simulation.history.outline(of: entry)?.others ?? []
        let areOld = named.contains {
            !simulation.history.hasNewestKeys($0.statementHash, now.currentChain(of: $0.user))
                && now.chains[$0.user] != nil
        }
        if areOld || simulation.history.isDue(entry, state.statements) { return true }
        if now.statements != then.statements || now.chains != then.chains { return true }
        if told.home == database { return state.statements.last != statement }
        // Statements that the account has replaced or that a backup took back can still be beside the ring.
        let known = now.currentChain(of: user)
        return !state.mayLearn(user, ofRing: told.root, in: told.zone.name) || !replica.statements.starts(with: known)
            || now.chainCount(of: user) >= Limits.ringChainsPerUser
    }

    /// Notes the newest key of a ring, as far as the device was told.
    private func learnKey(of zone: ZoneID, root: String, _ entries: [SharedBytes]) {
        let key = zone.owner.isEmpty ? zone.name : Self.key(zone)
        let outline = entries.last.flatMap(simulation.history.outline)
        if root.isEmpty {
            replica.keyNumbers[key] = outline?.number
            replica.ringEntryHashes[key] = outline?.hash
        } else {
            replica.treeKeys[key, default: [:]][root] = outline.map { outline in
                EncryptedHeader(
                    treeID: .init(Tree(place: outline.ring.place, root: root, kind: .isShared).id), isShared: true,
                    keyNumber: outline.number)
            }
        }
    }

    /// Checks that a call was refused for what faults explain, or because there is no such zone for the caller.
    func checkRefusal(_ result: Result<[UInt8], ServiceError>, ofRingIn zone: ZoneID, since seen: UInt64) {
        guard case .failure(let error) = result else { return }
        switch error.code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
            .operationCancelled, .serverResponseLost, .quotaExceeded:
            return
        case .zoneNotFound, .userDeletedZone:
            let isGone = simulation.history[home(of: zone)].wasTrue(since: seen) { state in
                if zone.owner.isEmpty { return state.zones[zone.name] == nil }
                guard let start = state.start(of: user, in: zone.name) else { return true }
                // Until the call is answered by which the user came, nobody can rely on it.
                return !simulation.acceptances.contains(Acceptance(user: user, zone: zone, start: start))
            }
            if !isGone { simulation.violated("I6: a ring of a zone that is there is refused: \(error.message)") }
        // A load that a damaged file, or a disk that gives nothing, has ended; no ring that can't be read.
        case .internalError where !error.message.contains("a ring") && !error.message.contains("statements"): return
        default: simulation.violated("I6: a ring is refused with \(error.code): \(error.message)")
        }
    }
}
