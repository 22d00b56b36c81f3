internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeSystem

/// What a device does, chosen at random.
extension SimulatedDevice {
    private static let allZones = ["one", "two", "three", "four"]
    static let recordNames = (0..<8).map { "r\($0)" }
    private static let callsAtOnce = 3

    /// Custom zones that it uses.
    var zoneNames: [String] { Array(Self.allZones.prefix(simulation.options.zones)) }
    var database: DatabaseID { simulation.database(of: self) }
    var timeline: CommitHistory.Timeline { simulation.history[database] }

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
        if simulation.options.sharesMuch, generator.oneIn(3) { return useSharedDatabase() }
        if simulation.options.sharesMuch, generator.oneIn(simulation.options.sharesKeys ? 2 : 8) {
            return [useSharedRing, useSharedRing, useSharedDatabase, { self.useRing() }, modifyRecords]
                .randomElement(using: &generator)!()
        }
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<28: modifyRecords()
        case 28..<32: useEnrolments()
        case 32..<34: useStatements()
        case 34..<38: transferAsset()
        case 38..<41: useSharedDatabase()
        case 41..<49: modifyZones()
        case 49..<57: fetchRecords()
        case 57..<68: query()
        case 68..<80: fetchChanges(zone: generator.pick(zoneNames)) {}
        case 80..<85: tryOldToken()
        case 85..<89: fetchDatabaseChanges {}
        case 89..<94: modifySubscriptions()
        case 94..<95: useStatements()
        case 95..<96: followLink()
        case 96..<98: transferAsset()
        case 98..<99: useSharedDatabase()
        default: relaunch()
        }
    }

    /// Some zones, each once: often one, sometimes more.
    func someZones() -> [String] {
        let all = (zoneNames + [Names.defaultZone]).shuffled(using: &generator)
        let count = generator.oneIn(2) ? 1 : Int.random(in: 1...simulation.options.zonesPerRequest, using: &generator)
        return Array(all.prefix(count))
    }

    func newOperation() -> [UInt8] {
        (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// The key that the server's journal has for the operation: its id, and in a database that is not its user's own
    /// the user.
    func key(of operation: [UInt8], isOwn: Bool = true) -> [UInt8] {
        !isOwn
            ? Array(SHA256.digest(operation + Array(simulation.users[account].utf8)).prefix(16)) : operation
    }

    private func modifyZones() {
        let operation = newOperation()
        var request = ModifyZonesRequest(database: .private, operationID: operation)
        // What is shared in a zone takes a while.
        if generator.oneIn(simulation.options.sharesKeys ? 24 : 3) {
            request.deletions = [ZoneID(name: generator.pick(zoneNames))]
        } else {
            request.saves = zoneNames.map { ZoneID(name: $0) }
        }
        let meant = OperationRequest(key: key(of: operation), device: deviceID, database: database)
        write(.zonesModify, coder.encodeModifyZonesRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifyZonesResponse(bytes)
        } then: { [self] result, _ in
            for case .success(let zone) in result.saves { begin(zone) }
        }
    }

    /// A zone that the device has not fetched yet is fetched from the token that its save gave, which tells of each
    /// deletion after it (I3).
    private func begin(_ zone: Zone) {
        guard PeekedToken(zone.changeToken) != nil else {
            return simulation.violated("I3: the zone \(zone.id.name) was saved, and the answer holds no token of it")
        }
        simulation.history.gave(zone.changeToken, of: database)
        replica.oldTokens.append((zone.id.name, zone.changeToken))
        if replica.zones[zone.id.name] == nil { replica.zones[zone.id.name] = Replica.Zone(token: zone.changeToken) }
    }

    private func modifySubscriptions() {
        let operation = newOperation()
        let isPublic = generator.oneIn(3)
        var request = ModifySubscriptionsRequest(database: isPublic ? .public : .private, operationID: operation)
        let zone = generator.pick(zoneNames)
        if isPublic || generator.oneIn(2) {
            let id = "q\(Int.random(in: 0..<(isPublic ? 2 : 4), using: &generator))"
            if generator.oneIn(5) {
                request.deletions = [id]
            } else {
                request.saves = [randomQuerySubscription(id, isPublic: isPublic)]
            }
        } else if generator.oneIn(4) {
            request.deletions = [zone]
        } else if generator.oneIn(3) {
            request.saves = [Subscription(id: "all", kind: .database(recordType: ""))]
        } else {
            request.saves = [
                Subscription(id: zone, kind: .zone(ZoneID(name: zone), recordType: generator.oneIn(3) ? "Note" : ""))
            ]
        }
        let meant = OperationRequest(
            key: key(of: operation, isOwn: !isPublic), device: deviceID,
            database: isPublic ? simulation.publicDatabase : database)
        write(.subscriptionsModify, coder.encodeModifySubscriptionsRequest(request), meant, operation: operation) {
            (coder, bytes) throws(ServiceError) in
            try coder.decodeModifySubscriptionsResponse(bytes)
        } then: { _, _ in
        }
    }

    private func randomQuerySubscription(_ id: String, isPublic: Bool) -> Subscription {
        var options = QuerySubscription.Options(rawValue: UInt8.random(in: 1...7, using: &generator))
        if generator.oneIn(3) { options.insert(.once) }
        var info: NotificationInfo?
        if generator.oneIn(2) {
            info = NotificationInfo()
            info!.desiredKeys = ["w", "c", "e"]
        }
        return Subscription(
            id: id,
            kind: .query(
                QuerySubscription(
                    recordType: "Note", predicate: RandomPredicate.make(&generator), options: options,
                    zone: isPublic || generator.oneIn(2) ? nil : ZoneID(name: generator.pick(zoneNames)))),
            notificationInfo: info)
    }
}
