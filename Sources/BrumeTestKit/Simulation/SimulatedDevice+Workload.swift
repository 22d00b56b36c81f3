internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import BrumeWire

/// What a device does, by chance, and how each answer is held against the commits.
extension SimulatedDevice {
    private static let zones = ["one", "two"]
    private static let records = (0..<8).map { "r\($0)" }
    private static let callsAtOnce = 3

    private var database: DatabaseID { simulation.database(of: self) }
    private var timeline: CommitHistory.Timeline { simulation.history[database] }

    /// Thinks, does something, and thinks again.
    func work() {
        let average = simulation.options.thinkMilliseconds
        simulation.scheduler.after(UInt64.random(in: 1...average * 2_000_000, using: &generator)) { [self] in
            if simulation.isQuiet { return }
            if openCallCount < Self.callsAtOnce { act() }
            work()
        }
    }

    private func act() {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<45: modifyRecords()
        case 45..<53: modifyZones()
        case 53..<65: fetchRecords(zone: generator.pick(Self.zones + [Names.defaultZone]))
        case 65..<82: fetchChanges(zone: generator.pick(Self.zones)) {}
        case 82..<88: tryOldToken()
        case 88..<92: fetchDatabaseChanges {}
        case 92..<98: modifySubscriptions()
        default: relaunch()
        }
    }

    // MARK: Writes

    private func newOperation() -> [UInt8] {
        (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// What the server's journal names the operation by: its id and method, in the public database with the user.
    private func key(of operation: [UInt8], _ method: Method, isPublic: Bool = false) -> [UInt8] {
        let key = operation + [UInt8(truncatingIfNeeded: method.rawValue)]
        return isPublic ? Array(SHA256.digest(key + Array(simulation.users[account].utf8)).prefix(16)) : key
    }

    /// Sends an operation, and holds its answer against the commit that it led to.
    private func write<Answer>(
        _ method: Method, _ payload: [UInt8], _ request: OperationRequest, operation: [UInt8],
        _ decode: @escaping (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Answer,
        then: @escaping (Answer, UInt64?) -> Void
    ) {
        simulation.history.asked(request)
        simulation.operationIDs[payload] = operation
        call(method, payload, .onceByOperationID) { [self] result in
            guard case .success(let bytes) = result else { return }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try decode(coder, buffer) }
            }
            guard case .success(let answer) = decoded else { return simulation.violated("an answer can't be read") }
            let timeline = simulation.history[request.database]
            let sequence = timeline.sequenceOfOperation[request.key]
            if let sequence {
                simulation.history.saw(sequence, of: request.database)
                if timeline.commits[Int(sequence)].answer != bytes {
                    simulation.violated("I11: an operation was answered differently than at first")
                }
            }
            then(answer, sequence)
        }
    }

    private func modifyZones() {
        let operation = newOperation()
        var request = ModifyZonesRequest(database: .private, operationID: operation)
        if generator.oneIn(3) {
            request.deletions = [ZoneID(name: generator.pick(Self.zones))]
        } else {
            request.saves = Self.zones.map { ZoneID(name: $0) }
        }
        let meant = OperationRequest(key: key(of: operation, .zonesModify), device: deviceID, database: database)
        write(.zonesModify, coder.encodeModifyZonesRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifyZonesResponse(bytes)
        } then: { _, _ in
        }
    }

    private func modifySubscriptions() {
        let operation = newOperation()
        var request = ModifySubscriptionsRequest(database: .private, operationID: operation)
        let zone = generator.pick(Self.zones)
        if generator.oneIn(4) {
            request.deletions = [zone]
        } else if generator.oneIn(3) {
            request.saves = [Subscription(id: "all", kind: .database(recordType: ""))]
        } else {
            request.saves = [
                Subscription(id: zone, kind: .zone(ZoneID(name: zone), recordType: generator.oneIn(3) ? "Note" : ""))
            ]
        }
        let meant = OperationRequest(
            key: key(of: operation, .subscriptionsModify), device: deviceID, database: database)
        write(.subscriptionsModify, coder.encodeModifySubscriptionsRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifySubscriptionsResponse(bytes)
        } then: { _, _ in
        }
    }

    private func modifyRecords() {
        let operation = newOperation()
        let isPublic = generator.oneIn(10)
        let zone = isPublic ? Names.defaultZone : generator.pick(Self.zones + Self.zones + [Names.defaultZone])
        let names = Self.records.shuffled(using: &generator)
        let count = Int.random(in: 0...4, using: &generator)
        let saves = names.prefix(count).map { randomSave(of: $0, zone: zone, isPublic: isPublic) }
        let deletions = Array(
            names.dropFirst(count).prefix(generator.oneIn(3) ? Int.random(in: 1...2, using: &generator) : 0))
        if saves.isEmpty, deletions.isEmpty { return }
        let policy = generator.pick([
            SavePolicy.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys,
        ])
        let isAtomic = Bool.random(using: &generator)
        var request = ModifyRecordsRequest<DecodedFields>(
            database: isPublic ? .public : .private, savePolicy: policy, isAtomic: isAtomic, operationID: operation,
            zones: [ZoneModification(zone: ZoneID(name: zone), saves: saves, deletions: deletions)])
        let id = isPublic ? simulation.publicDatabase : database
        let key = key(of: operation, .recordsModify, isPublic: isPublic)
        let meant = OperationRequest(
            key: key, device: deviceID, database: id, policy: policy, isAtomic: isAtomic,
            saves: [zone: Dictionary(uniqueKeysWithValues: saves.map { ($0.name, $0) })],
            seen: simulation.history[id].seen)
        if simulation.options.brokenPromise == .ignoresTags { request.savePolicy = .changedKeys }
        write(.recordsModify, coder.encodeModifyRecordsRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifyRecordsResponse(bytes)
        } then: { [self] answer, sequence in
            check(answer[0], saves: saves, zone: zone, meant: meant, sequence: sequence, isPublic: isPublic)
        }
    }

    private func randomSave(of name: String, zone: String, isPublic: Bool) -> RecordSave<DecodedFields> {
        var fields: DecodedFields = ["w": .int64(Int64(simulation.nextNumber()))]
        if generator.oneIn(4) {
            fields["t"] = .string(String(repeating: "x", count: Int.random(in: 0...900, using: &generator)))
        }
        var parent = ParentChange.unchanged
        if !isPublic {
            if generator.oneIn(5) {
                fields["up"] = .reference(
                    Reference(recordName: generator.pick(Self.records), deletesSelf: Bool.random(using: &generator)))
            }
            if generator.oneIn(8) { fields["up"] = .some(nil) }
            let other = generator.pick(Self.records)
            if generator.oneIn(8), other != name { parent = .set(other) }
            if generator.oneIn(12) { parent = .removed }
        }
        let known = isPublic ? "public" : zone
        let tag = generator.oneIn(8) ? "" : replica.tags[known]?[name] ?? ""
        return RecordSave(name: name, type: "Note", changeTag: tag, parent: parent, fields: fields)
    }

    private func check(
        _ result: ZoneModificationResult<Record>, saves: [RecordSave<DecodedFields>], zone: String,
        meant: OperationRequest, sequence: UInt64?, isPublic: Bool
    ) {
        let timeline = simulation.history[meant.database]
        let known = isPublic ? "public" : zone
        var failures = result.deletions.count { $0 != nil }
        for (save, outcome) in zip(saves, result.saves) {
            switch outcome.outcome {
            case .record(let record):
                replica.tags[known, default: [:]][save.name] = record.system.changeTag
                // A deletion of the same batch may have taken it with it: then the commit holds the deletion alone.
                let isGone = sequence.map { timeline.states[Int($0)].zones[zone]?.records[save.name] == nil } ?? false
                if !isGone, !timeline.hadVersion(save.name, tag: record.system.changeTag) {
                    simulation.violated(
                        "I1: \(save.name) was saved as \(record.system.changeTag), which no commit holds")
                }
                saw(record.system.changeTag, of: meant.database)
            case .failure(let error):
                failures += 1
                replica.tags[known, default: [:]][save.name] = nil
                guard error.code == .serverRecordChanged else { continue }
                guard let record = error.serverRecord.flatMap(CommitHistory.decode) else {
                    simulation.violated("I6: the loser of a race for \(save.name) does not get the server's record")
                    continue
                }
                replica.tags[known, default: [:]][save.name] = record.system.changeTag
                saw(record.system.changeTag, of: meant.database)
                if record.system.changeTag == save.changeTag {
                    simulation.violated("I6: \(save.name) was refused with the tag that the server has")
                }
                if !timeline.hadVersion(save.name, tag: record.system.changeTag) {
                    simulation.violated("I6: the server's record of \(save.name) is one that never was")
                }
            case .deferred: simulation.violated("a save was deferred")
            }
        }
        if meant.isAtomic, zone != Names.defaultZone, failures > 0 {
            if failures != result.saves.count + result.deletions.count || sequence != nil {
                simulation.violated("I2: an atomic batch was done in part")
            }
        }
    }

    /// A change tag names the commit that wrote it.
    private func saw(_ tag: String, of id: DatabaseID) {
        if let tag = ChangeTag(tag) { simulation.history.saw(tag.sequence, of: id) }
    }

    // MARK: Reads

    func fetchRecords(zone: String, then: @escaping () -> Void = {}) {
        let isPublic = zone == Names.defaultZone && generator.oneIn(3)
        let id = isPublic ? simulation.publicDatabase : database
        let request = FetchRecordsRequest(
            database: isPublic ? .public : .private,
            zones: [.init(zone: ZoneID(name: zone), names: Self.records)])
        let seen = simulation.history[id].seen
        call(.recordsFetch, coder.encodeFetchRecordsRequest(request), .none) { [self] result in
            guard case .success(let bytes) = result else { return then() }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchRecordsResponse(buffer) }
            }
            guard case .success(let answer) = decoded else { return simulation.violated("an answer can't be read") }
            let wasTrue = simulation.history[id].wasTrue(since: seen) { state in
                let records = state.zones[zone]?.records
                return zip(Self.records, answer[0]).allSatisfy { name, outcome in
                    switch outcome {
                    case .record(let record):
                        let version = records?[name]
                        return version?.tag == record.system.changeTag && version?.fields == record.fields
                            && version?.parent == record.system.parent
                    case .failure(let error):
                        return error.code == .zoneNotFound ? records == nil : records != nil && records![name] == nil
                    case .deferred: return true
                    }
                }
            }
            if !wasTrue { simulation.violated("I1: a fetch of \(zone) shows what no commit since \(seen) left") }
            for (name, outcome) in zip(Self.records, answer[0]) {
                guard case .record(let record) = outcome else { continue }
                saw(record.system.changeTag, of: id)
                replica.tags[isPublic ? "public" : zone, default: [:]][name] = record.system.changeTag
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
    private func tryOldToken() {
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
        let seen = timeline.seen
        let from = PeekedToken(token)
        call(.recordsChanges, coder.encodeZoneChangesRequest(request), .none) { [self] result in
            switch result {
            case .failure(let error):
                checkRefusal(error, zone: zone, from: from, seen: seen)
                then(.failure(error))
            case .success(let bytes):
                let decoded = bytes.withUnsafeBytes { buffer in
                    Result { () throws(ServiceError) in try coder.decodeZoneChangesResponse(buffer) }
                }
                guard case .success(var page) = decoded, let end = PeekedToken(page.token) else {
                    return simulation.violated("a page of changes can't be read")
                }
                if simulation.options.brokenPromise == .skipsTombstones, generator.oneIn(2) {
                    page.deletions = Array(page.deletions.dropFirst())
                }
                if let from, from.incarnation != end.incarnation {
                    simulation.violated("I4: a token of an earlier \(zone) was taken for one of this")
                }
                simulation.report.pagesChecked += 1
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

    private func checkRefusal(_ error: ServiceError, zone: String, from: PeekedToken?, seen: UInt64) {
        switch error.code {
        case .zoneNotFound:
            if !timeline.wasTrue(since: seen, { $0.zones[zone] == nil }) {
                simulation.violated("I3: \(zone) is there, and its changes are not: \(error.message)")
            }
        case .changeTokenExpired:
            // What was lost in a crash may have been the zone's latest life.
            let isOther = timeline.wasTrue(since: seen) { $0.zones[zone]?.incarnation != from?.incarnation }
            if from == nil || !isOther {
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
        let seen = timeline.seen
        call(.databasesChanges, coder.encodeDatabaseChangesRequest(request), .none) { [self] result in
            guard case .success(let bytes) = result else { return then() }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeDatabaseChangesResponse(buffer) }
            }
            guard case .success(let page) = decoded, let end = PeekedToken(page.token) else {
                return simulation.violated("a page of changed zones can't be read")
            }
            simulation.report.pagesChecked += 1
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

    // MARK: The end

    /// Fetches everything that the device does not have yet.
    func catchUp(then: @escaping () -> Void) {
        fetchDatabaseChanges { [self] in
            fetchChanges(zone: Self.zones[0], all: true) { [self] in
                fetchChanges(zone: Self.zones[1], all: true) { [self] in
                    fetchRecords(zone: Names.defaultZone, then: then)
                }
            }
        }
    }

    /// What the device holds other than the last commit left it.
    func problemAtTheEnd() -> String? {
        let state = timeline.states[Int(timeline.last)]
        let custom = state.zones.filter { $0.key != Names.defaultZone }
        if replica.zoneNames != Set(custom.keys) {
            return
                "convergence: device \(number) knows zones \(replica.zoneNames.sorted()), not \(custom.keys.sorted())"
        }
        for (name, zone) in custom where (replica.zones[name]?.records ?? [:]) != zone.records.mapValues(\.tag) {
            return "convergence: device \(number) does not hold \(name) as it is"
        }
        return pushes.problem(with: timeline, device: deviceID)
    }
}
