internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// The shared database: zones of other accounts, which devices accept, read, write and leave.
///
/// Devices with an odd number are readers: they neither write nor leave, so that everything that happens there has to
/// be told them.
extension SimulatedDevice {
    var user: String { simulation.users[account] }
    private var isReader: Bool { number % 2 == 1 }

    func useSharedDatabase() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<3: acceptShare()
        case 3..<6: fetchShared {}
        case 6..<9: isReader ? fetchShared {} : writeShared()
        default: if isReader { subscribeToShared() } else { leaveShared() }
        }
    }

    /// Where tags of a zone in the shared database are kept.
    static func key(_ zone: ZoneID) -> String { "\(zone.owner) \(zone.name)" }

    private func timeline(ofOwner owner: String) -> CommitHistory.Timeline {
        simulation.history[simulation.privateDatabase(of: owner)]
    }

    // MARK: Acceptance

    private func acceptShare() {
        let others = simulation.knownShares.filter { $0.database != database }
        guard let known = others.randomElement(using: &generator) else { return }
        let sight = simulation.history.sight(of: known.database)
        call(.sharesAccept, coder.encodeAcceptShareRequest(url: known.url), .none) { [self] result in
            switch result {
            case .failure(let error):
                if error.code == .invalidArguments { simulation.violated("an acceptance is refused: \(error.message)") }
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeAcceptShareResponse(buffer) }
                }
                guard case .success(let accepted) = decoded else {
                    return simulation.violated("an answer can't be read")
                }
                simulation.report.sharesAccepted += 1
                saw(accepted.share.system.changeTag, of: known.database)
                let timeline = simulation.history[known.database]
                let isTrue = timeline.wasTrue(since: timeline.start(of: sight)) { state in
                    let share = state.zones[accepted.zone.name]?.records[accepted.share.system.name]?.share
                    return share?.participant(ofUser: user) != nil
                }
                if !isTrue || accepted.zone.owner != known.database.owner {
                    simulation.violated("I15: \(user) is told to take part in \(accepted.zone.name), and does not")
                }
                if let start = timeline.states.last?.start(of: user, in: accepted.zone.name) {
                    simulation.acceptances.insert(Acceptance(user: user, zone: accepted.zone, start: start))
                }
            }
        }
    }

    // MARK: Reads

    /// Fetches what changed in the shared database, and then in its zones.
    func fetchShared(then: @escaping () -> Void) {
        let (news, era) = (shared.isSubscribed ? shared.newsCount : nil, shared.era)
        fetchSharedDatabase { [self] isWhole in
            guard isWhole else { return then() }
            fetchZones(shared.stale.sorted { ($0.owner, $0.name) < ($1.owner, $1.name) }[...]) { [self] isWhole in
                if isWhole { shared.fetched(news, era: era) }
                then()
            }
        }
    }

    private func fetchSharedDatabase(then: @escaping (_ isWhole: Bool) -> Void) {
        let token = shared.token
        let limit = generator.oneIn(2) ? 0 : 1
        let request = DatabaseChangesRequest(database: .shared, token: token, resultsLimit: limit)
        call(.databasesChanges, coder.encodeDatabaseChangesRequest(request), .none) { [self] result in
            guard shared.token == token else { return then(false) }
            switch result {
            case .failure(let error):
                if comesAgain(after: error, { self.fetchSharedDatabase(then: then) }) { return }
                if error.code == .invalidArguments {
                    simulation.violated("I4: a token of the shared database is wrong")
                }
                guard error.code == .changeTokenExpired else { return then(false) }
                if token.isEmpty { return simulation.violated("I4: no token has expired") }
                shared.token = []
                shared.zones = [:]
                shared.stale = []
                fetchSharedDatabase(then: then)
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeDatabaseChangesResponse(buffer) }
                }
                guard case .success(let page) = decoded else { return simulation.violated("an answer can't be read") }
                simulation.wasAnswered()
                shared.token = page.token
                for deletion in page.earlierDeletions { shared.zones[deletion.zone] = nil }
                for zone in page.changed { shared.stale.insert(zone) }
                for deletion in page.deletions {
                    shared.zones[deletion.zone] = nil
                    shared.stale.remove(deletion.zone)
                }
                if page.moreComing { return fetchSharedDatabase(then: then) }
                then(true)
            }
        }
    }

    private func fetchZones(_ zones: ArraySlice<ZoneID>, then: @escaping (_ isWhole: Bool) -> Void) {
        guard let zone = zones.first else { return then(true) }
        fetchZone(zone) { [self] isWhole in
            isWhole ? fetchZones(zones.dropFirst(), then: then) : then(false)
        }
    }

    private func fetchZone(_ zone: ZoneID, then: @escaping (_ isWhole: Bool) -> Void) {
        let token = shared.zones[zone]?.token ?? []
        let limit = generator.oneIn(2) ? 0 : Int.random(in: 1...4, using: &generator)
        let request = ZoneChangesRequest(database: .shared, zone: zone, token: token, resultsLimit: limit)
        let owner = simulation.privateDatabase(of: zone.owner)
        let sight = simulation.history.sight(of: owner)
        call(.recordsChanges, coder.encodeZoneChangesRequest(request), .none) { [self] result in
            let seen = simulation.history[owner].start(of: sight)
            if case .failure(let error) = result { check(error, zone, token: token, seen: seen) }
            // Another fetch may have come by, or have learned that the zone went.
            guard (shared.zones[zone]?.token ?? []) == token, shared.stale.contains(zone) else { return then(false) }
            switch result {
            case .failure(let error):
                if comesAgain(after: error, { self.fetchZone(zone, then: then) }) { return }
                switch error.code {
                case .changeTokenExpired:
                    shared.zones[zone] = nil
                    fetchZone(zone, then: then)
                case .zoneNotFound:
                    // The database's changes will tell of its end.
                    shared.zones[zone] = nil
                    then(false)
                default: then(false)
                }
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeZoneChangesResponse(buffer) }
                }
                guard case .success(let page) = decoded, let end = PeekedToken(page.token) else {
                    return simulation.violated("a page of changes can't be read")
                }
                simulation.wasAnswered()
                check(page, end, of: zone, from: token, seen: seen, isWhole: limit == 0)
                apply(page, end, to: zone, seen: seen)
                if page.moreComing { return fetchZone(zone, then: then) }
                shared.stale.remove(zone)
                then(true)
            }
        }
    }

    /// I15: only who takes part in a zone is shown it; and what they are shown is what the zone's own feed says.
    private func check(
        _ page: ZoneChangesPage<Record, [UInt8]>, _ end: PeekedToken, of zone: ZoneID, from token: [UInt8],
        seen: UInt64, isWhole: Bool
    ) {
        let owner = simulation.privateDatabase(of: zone.owner)
        simulation.report.sharedPages += 1
        if simulation.history.isLost(token, of: owner) {
            simulation.violated("I4: a token of \(zone.name) from a lost future was taken")
        }
        simulation.history.gave(page.token, of: owner)
        let timeline = simulation.history[owner]
        guard
            let state = timeline.states[Int(min(seen, timeline.last))...].first(where: {
                $0.start(of: user, in: zone.name) == end.incarnation
            })
        else { return simulation.violated("I15: \(zone.name) is shown to \(user), who takes no part in it") }
        let from = PeekedToken(token)
        if let from, from.incarnation != end.incarnation {
            simulation.violated("I4: a token of an earlier part in \(zone.name) was taken for one of this")
        }
        for record in page.records { saw(record.system.changeTag, of: owner) }
        if state.zones[zone.name]!.treeStarts[user] != nil {
            return check(page, ofTreesIn: zone, start: end.incarnation, seen: seen)
        }
        let touches = timeline.zoneTouches[state.zones[zone.name]!.incarnation] ?? []
        let roles = timeline.states[Int(min(seen, timeline.last))...].compactMap {
            $0.zones[zone.name]?.records[Names.zoneShare]?.share?.participant(ofUser: user)?.role
        }
        let problems = Set(roles).map { role in
            CommitHistory.Timeline.problem(
                with: FeedPage(
                    live: page.records.map { ($0.system.name, $0.system.changeTag) },
                    deleted: page.deletions.map(\.name), token: end, moreComing: page.moreComing),
                touches: role == .administrator ? touches : touches.filter { !$0.isQuiet }.map(\.asShown), from: from,
                seen: seen, isWhole: isWhole)
        }
        if let problem = problems.first, !problems.contains(nil) { simulation.violated("shared: \(problem ?? "")") }
    }

    private func apply(
        _ page: ZoneChangesPage<Record, [UInt8]>, _ end: PeekedToken, to zone: ZoneID, seen: UInt64
    ) {
        var known = shared.zones[zone] ?? Replica.Zone()
        for record in page.records {
            known.records[record.system.name] = record.system.changeTag
            replica.tags[Self.key(zone), default: [:]][record.system.name] = record.system.changeTag
        }
        for deletion in page.deletions { known.records[deletion.name] = nil }
        known.token = page.token
        shared.zones[zone] = known
        if page.moreComing { return }
        let timeline = timeline(ofOwner: zone.owner)
        guard end.sequence <= timeline.last, let state = timeline.states[Int(end.sequence)].zones[zone.name] else {
            return simulation.violated("I3: a token names commit \(end.sequence) of \(zone.name), which is not there")
        }
        if state.treeStarts[user] == end.incarnation {
            checkWhole(known.records, ofTreesIn: zone, start: end.incarnation, seen: seen)
        } else if known.records != state.view(of: user) {
            simulation.violated("I3: who takes part in \(zone.name) does not hold what commit \(end.sequence) left")
        }
    }

    private func check(_ error: ServiceError, _ zone: ZoneID, token: [UInt8], seen: UInt64) {
        let timeline = timeline(ofOwner: zone.owner)
        switch error.code {
        case .zoneNotFound:
            // Until the call is answered by which the user came, nobody can rely on it.
            let isThere = !timeline.wasTrue(since: seen) { state in
                guard let start = state.start(of: user, in: zone.name) else { return true }
                return !simulation.acceptances.contains(Acceptance(user: user, zone: zone, start: start))
            }
            if isThere { simulation.violated("I15: \(user) takes part in \(zone.name), and does not find it") }
        case .changeTokenExpired:
            guard let from = PeekedToken(token) else {
                return simulation.violated("I4: no token of \(zone.name) was given, and it has expired")
            }
            let isOld =
                simulation.history.isLost(token, of: simulation.privateDatabase(of: zone.owner))
                || timeline.wasTrue(since: seen) { state in
                    // What is known of what left trees is not worked out here.
                    let isForgetful =
                        simulation.options.tombstones > 0 && state.zones[zone.name]?.treeStarts[user] != nil
                    return state.start(of: user, in: zone.name) != from.incarnation || isForgetful
                        || state.zones[zone.name]!.floor > from.historyStart || state.isForeign(from)
                }
            if !isOld { simulation.violated("I4: a token of \(zone.name) is called expired, and is not") }
        case .invalidArguments: simulation.violated("I4: a token of \(zone.name) is called wrong: \(error.message)")
        default: break
        }
    }

    // MARK: The end

    /// The zones of others in which the user takes part, with the tags of their records.
    private var truth: [ZoneID: [String: String]] {
        var truth: [ZoneID: [String: String]] = [:]
        for owner in simulation.users {
            guard let state = timeline(ofOwner: owner).states.last else { continue }
            for (name, zone) in state.zones where state.start(of: user, in: name) != nil {
                truth[ZoneID(name: name, owner: owner)] = zone.view(of: user)
            }
        }
        return truth
    }

    /// I16: a device that was told of nothing since it fetched all holds all.
    var missedNewsOfShared: String? {
        guard isReader, shared.isUpToDate, shared.zones.mapValues(\.records) != truth else { return nil }
        return "I16: device \(number) was not told of a change in the shared database"
    }

    /// Fetches until nothing is left: what a zone's owner refuses is off the list with the next round.
    func catchUpShared(rounds: Int, then: @escaping () -> Void) {
        if rounds == 0 { return then() }
        fetchShared { [self] in
            simulation.scheduler.after(2_000_000_000) { [self] in catchUpShared(rounds: rounds - 1, then: then) }
        }
    }

    var problemWithShared: String? {
        let truth = truth
        if Set(shared.zones.keys) != Set(truth.keys) {
            return "convergence: device \(number) knows shared zones \(shared.zones.keys.map(Self.key).sorted()), not "
                + "\(truth.keys.map(Self.key).sorted())"
        }
        for (zone, records) in truth where shared.zones[zone]?.records != records {
            return "convergence: device \(number) does not hold the shared \(zone.name) as it is"
        }
        return nil
    }
}

/// That a user was told to take part in a zone.
struct Acceptance: Hashable {
    let user: String
    let zone: ZoneID
    let start: UInt64
}
