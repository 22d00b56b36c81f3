internal import BrumeModel
internal import BrumeProtocol

/// What a call of an app asks for, as patterns and the list of calls look at it.
struct CallRequest {
    private(set) var method: CallMethod
    /// What a fetch of changes asks for; nil for all else.
    private(set) var tokenUse: TokenExpiry.Use?
    private(set) var zones: [String] = []
    private(set) var recordTypes: Set<String> = []
    private(set) var recordNames: [String] = []
    private(set) var saveCount = 0
    private(set) var deletionCount = 0

    /// Nil for what is no call of an app's. A request that can't be decoded names nothing: the server will refuse it.
    init?(_ method: Method, _ payload: UnsafeRawBufferPointer) {
        switch method {
        case .recordsModify: self.method = .modifyRecords
        case .recordsFetch: self.method = .fetchRecords
        case .recordsQuery: self.method = .query
        case .recordsChanges: self.method = .fetchZoneChanges
        case .databasesChanges: self.method = .fetchDatabaseChanges
        case .zonesModify: self.method = .modifyZones
        case .zonesFetch, .zonesList: self.method = .fetchZones
        case .subscriptionsModify: self.method = .modifySubscriptions
        case .subscriptionsFetch, .subscriptionsList: self.method = .fetchSubscriptions
        case .sharesMetadata: self.method = .fetchShareMetadata
        case .sharesRequestAccess: self.method = .requestShareAccess
        case .sharesAccept: self.method = .acceptShare
        case .notificationsOpen: self.method = .listen
        default: return nil
        }
        var named = self
        if (try? named.read(method, payload)) != nil { self = named }
    }

    private mutating func read(_ method: Method, _ payload: UnsafeRawBufferPointer) throws(ServiceError) {
        let coder = MessageCoder()
        switch method {
        case .recordsModify:
            for zone in try coder.decodeModifyRecordsRequest(payload).zones {
                zones.append(zone.zone.name)
                recordTypes.formUnion(zone.saves.map(\.type))
                recordNames += zone.saves.map(\.name) + zone.deletions
                saveCount += zone.saves.count
                deletionCount += zone.deletions.count
            }
        case .recordsFetch:
            for zone in try coder.decodeFetchRecordsRequest(payload).zones {
                zones.append(zone.zone.name)
                recordNames += zone.names
            }
        case .recordsQuery:
            let request = try coder.decodeQueryRequest(payload)
            if let zone = request.zone { zones.append(zone.name) }
            recordTypes.insert(request.query.recordType)
        case .recordsChanges:
            let request = try coder.decodeZoneChangesRequest(payload)
            zones.append(request.zone.name)
            tokenUse = TokenExpiry.Use(database: request.database, zone: request.zone, token: request.token)
        case .databasesChanges:
            let request = try coder.decodeDatabaseChangesRequest(payload)
            tokenUse = TokenExpiry.Use(database: request.database, zone: nil, token: request.token)
        case .zonesModify:
            let request = try coder.decodeModifyZonesRequest(payload)
            zones = (request.saves + request.deletions).map(\.name)
            saveCount = request.saves.count
            deletionCount = request.deletions.count
        case .zonesFetch: zones = try coder.decodeFetchZonesRequest(payload).1.map(\.name)
        case .subscriptionsModify:
            let request = try coder.decodeModifySubscriptionsRequest(payload)
            saveCount = request.saves.count
            deletionCount = request.deletions.count
        default: break
        }
    }
}
