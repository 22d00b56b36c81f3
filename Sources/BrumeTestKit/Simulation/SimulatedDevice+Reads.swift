internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Reads, and how each answer is checked against the commits.
extension SimulatedDevice {
    /// Fetches all records of some zones at once: together they are what some commit left.
    func fetchRecords(of zones: [String]? = nil, then: @escaping () -> Void = {}) {
        let isPublic = zones == nil && generator.oneIn(8)
        let zones = isPublic ? [Names.defaultZone] : zones ?? someZones()
        let id = isPublic ? simulation.publicDatabase : database
        let names = Self.recordNames
        let request = FetchRecordsRequest(
            database: isPublic ? .public : .private, zones: zones.map { .init(zone: ZoneID(name: $0), names: names) })
        let sight = simulation.history.sight(of: id)
        call(.recordsFetch, coder.encodeFetchRecordsRequest(request), .none) { [self] result in
            guard case .success(let bytes) = result else { return then() }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchRecordsResponse(buffer) }
            }
            guard case .success(var answer) = decoded else { return simulation.violated("an answer can't be read") }
            simulation.wasAnswered()
            if simulation.options.brokenPromise == .mixesReads, !isPublic {
                let former = lastFetch[zones[0]]
                lastFetch[zones[0]] = answer[0]
                answer[0] = former ?? answer[0]
            }
            let seen = simulation.history[id].start(of: sight)
            let wasTrue = simulation.history[id].wasTrue(since: seen) { state in
                zip(zones, answer).allSatisfy { zone, outcomes in
                    let records = state.zones[zone]?.records
                    return zip(names, outcomes).allSatisfy { name, outcome in
                        switch outcome {
                        case .record(let record):
                            let version = records?[name]
                            return version?.tag == record.system.changeTag && version?.fields == record.fields
                                && version?.parent == record.system.parent
                        case .failure(let error):
                            return error.code == .zoneNotFound
                                ? records == nil : records != nil && records![name] == nil
                        case .deferred: return true
                        }
                    }
                }
            }
            if !wasTrue {
                simulation.violated(
                    "I1: a fetch of \(zones.joined(separator: " and ")) shows what no commit since \(seen) left")
            }
            for (zone, outcomes) in zip(zones, answer) {
                for (name, outcome) in zip(names, outcomes) {
                    guard case .record(let record) = outcome else { continue }
                    saw(record.system.changeTag, of: id)
                    replica.tags[isPublic ? "public" : zone, default: [:]][name] = record.system.changeTag
                }
            }
            then()
        }
    }

    /// Fetches one page of a zone's changes from where the replica is, or all of them.
    func fetchChanges(zone: String, all: Bool = false, then: @escaping () -> Void) {
        let token = replica.zones[zone]?.token ?? []
        let limit = generator.oneIn(2) ? 0 : Int.random(in: 1...4, using: &generator)
        changes(zone: zone, token: token, limit: limit) { [self] result in
            // Another fetch of this zone may have been faster.
            guard (replica.zones[zone]?.token ?? []) == token else { return then() }
            switch result {
            case .failure(let error):
                if comesAgain(after: error, { self.fetchChanges(zone: zone, all: all, then: then) }) { return }
                if error.code == .changeTokenExpired || error.code == .zoneNotFound {
                    replica.zones[zone] = nil
                    if all, error.code == .changeTokenExpired { return fetchChanges(zone: zone, all: true, then: then) }
                }
                then()
            case .success(let page):
                apply(page, to: zone)
                if all, page.moreComing { return fetchChanges(zone: zone, all: true, then: then) }
                then()
            }
        }
    }

    private func apply(_ page: ZoneChangesPage<Record, [UInt8]>, to zone: String) {
        var known = replica.zones[zone] ?? Replica.Zone()
        for record in page.records {
            known.records[record.system.name] = record.system.changeTag
            replica.tags[zone, default: [:]][record.system.name] = record.system.changeTag
        }
        for deletion in page.deletions { known.records[deletion.name] = nil }
        known.token = page.token
        replica.zones[zone] = known
        replica.oldTokens.append((zone, page.token))
        if replica.oldTokens.count > 40 {
            replica.oldTokens.remove(at: Int.random(in: 0..<40, using: &generator))
        }
        guard !page.moreComing, let end = PeekedToken(page.token) else { return }
        // All of it is applied: the device holds the zone as it was after the commit that the token names.
        guard end.sequence <= timeline.last, let state = timeline.states[Int(end.sequence)].zones[zone],
            state.incarnation == end.incarnation
        else { return simulation.violated("I3: a token names commit \(end.sequence) of \(zone), which is not there") }
        if known.records != state.records.mapValues(\.tag) {
            simulation.violated("I3: a device that fetched \(zone) up to commit \(end.sequence) does not hold it")
        }
    }

    /// A token that was handed out once gives all later changes, or says that it has expired (I4).
    func tryOldToken() {
        guard let (zone, token) = replica.oldTokens.randomElement(using: &generator) else { return }
        simulation.report.oldTokensTried += 1
        changes(zone: zone, token: token, limit: generator.oneIn(2) ? 0 : 2) { _ in }
    }

    private func changes(
        zone: String, token: [UInt8], limit: Int,
        then: @escaping (Result<ZoneChangesPage<Record, [UInt8]>, ServiceError>) -> Void
    ) {
        let request = ZoneChangesRequest(
            database: .private, zone: ZoneID(name: zone), token: token, resultsLimit: limit)
        let sight = simulation.history.sight(of: database)
        let from = PeekedToken(token)
        call(.recordsChanges, coder.encodeZoneChangesRequest(request), .none) { [self] result in
            let seen = timeline.start(of: sight)
            switch result {
            case .failure(let error):
                checkRefusal(error, zone: zone, token: token, seen: seen)
                then(.failure(error))
            case .success(let bytes):
                simulation.wasAnswered()
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeZoneChangesResponse(buffer) }
                }
                guard case .success(var page) = decoded, let end = PeekedToken(page.token) else {
                    return simulation.violated("a page of changes can't be read")
                }
                if simulation.options.brokenPromise == .skipsTombstones, generator.oneIn(2) {
                    page.deletions = Array(page.deletions.dropFirst())
                }
                if simulation.history.isLost(token, of: database) {
                    simulation.violated("I4: a token of \(zone) from a lost future was taken")
                }
                if let from, from.incarnation != end.incarnation {
                    simulation.violated("I4: a token of an earlier \(zone) was taken for one of this")
                }
                simulation.report.pagesChecked += 1
                simulation.history.gave(page.token, of: database)
                let problem = CommitHistory.Timeline.problem(
                    with: FeedPage(
                        live: page.records.map { ($0.system.name, $0.system.changeTag) },
                        deleted: page.deletions.map(\.name), token: end, moreComing: page.moreComing),
                    touches: timeline.zoneTouches[end.incarnation] ?? [], from: from, seen: seen,
                    isWhole: limit == 0)
                if let problem { simulation.violated(problem) }
                for record in page.records { saw(record.system.changeTag, of: database) }
                then(.success(page))
            }
        }
    }

    private func checkRefusal(_ error: ServiceError, zone: String, token: [UInt8], seen: UInt64) {
        switch error.code {
        case .zoneNotFound:
            if !timeline.wasTrue(since: seen, { $0.zones[zone] == nil }) {
                simulation.violated("I3: \(zone) is there, and its changes are not: \(error.message)")
            }
        case .changeTokenExpired:
            simulation.report.tokensExpired += 1
            guard let from = PeekedToken(token) else {
                return simulation.violated("I4: no token of \(zone) was given, and it has expired")
            }
            // The zone's latest life may have been lost in a crash.
            let isOld =
                simulation.history.isLost(token, of: database)
                || timeline.wasTrue(since: seen) { state in
                    state.zones[zone]?.incarnation != from.incarnation || state.zones[zone]!.floor > from.historyStart
                        || state.isForeign(from)
                }
            if !isOld {
                simulation.violated("I4: a token of \(zone) is called expired, and is not: \(error.message)")
            }
        case .invalidArguments: simulation.violated("I4: a token is called wrong: \(error.message)")
        default: break
        }
    }

    /// Fetches what zones changed, all pages.
    func fetchDatabaseChanges(then: @escaping () -> Void) {
        let token = replica.databaseToken
        let limit = generator.oneIn(2) ? 0 : 1
        let request = DatabaseChangesRequest(database: .private, token: token, resultsLimit: limit)
        let sight = simulation.history.sight(of: database)
        call(.databasesChanges, coder.encodeDatabaseChangesRequest(request), .none) { [self] result in
            let seen = timeline.start(of: sight)
            guard case .success(let bytes) = result else {
                guard case .failure(let error) = result else { return then() }
                if comesAgain(after: error, { self.fetchDatabaseChanges(then: then) }) { return }
                guard error.code == .changeTokenExpired else { return then() }
                checkExpiry(ofDatabaseToken: token, seen: seen, error)
                guard replica.databaseToken == token else { return then() }
                replica.databaseToken = []
                replica.zoneNames = []
                return fetchDatabaseChanges(then: then)
            }
            simulation.wasAnswered()
            if simulation.history.isLost(token, of: database) {
                simulation.violated("I4: a token of the database from a lost future was taken")
            }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeDatabaseChangesResponse(buffer) }
            }
            guard case .success(let page) = decoded, let end = PeekedToken(page.token) else {
                return simulation.violated("a page of changed zones can't be read")
            }
            simulation.report.pagesChecked += 1
            simulation.history.gave(page.token, of: database)
            let problem = CommitHistory.Timeline.problem(
                with: FeedPage(
                    live: page.changed.map { ($0.name, "") }, deleted: page.deletions.map(\.zone.name), token: end,
                    moreComing: page.moreComing),
                touches: timeline.databaseTouches, from: PeekedToken(token), seen: seen, isWhole: false)
            if let problem { simulation.violated("zones: " + problem) }
            guard replica.databaseToken == token else { return then() }
            replica.databaseToken = page.token
            for zone in page.changed { replica.zoneNames.insert(zone.name) }
            for deletion in page.deletions {
                replica.zoneNames.remove(deletion.zone.name)
                replica.zones[deletion.zone.name] = nil
            }
            if page.moreComing { return fetchDatabaseChanges(then: then) }
            then()
        }
    }

    private func checkExpiry(ofDatabaseToken token: [UInt8], seen: UInt64, _ error: ServiceError) {
        simulation.report.tokensExpired += 1
        let from = PeekedToken(token)
        let isOld = from.map { from in
            simulation.history.isLost(token, of: database)
                || timeline.wasTrue(since: seen) { $0.zoneFloor > from.historyStart || $0.isForeign(from) }
        }
        if isOld != true {
            simulation.violated("I4: the database's token is called expired, and is not: \(error.message)")
        }
    }
}
