internal import BrumeModel
internal import BrumeProtocol

/// What a call of an app asks for, as patterns and the list of calls look at it.
struct CallRequest {
    private(set) var method: CallMethod
    /// What a fetch of changes asks for; nil for all else.
    private(set) var tokenUse: TokenExpiry.Use?
    private(set) var database: DatabaseScope?
    private(set) var zones: [String] = []
    private(set) var recordTypes: Set<String> = []
    private(set) var recordNames: [String] = []
    private(set) var saveCount = 0
    private(set) var deletionCount = 0
    /// The field whose asset is downloaded, and from which byte on.
    private(set) var field: String?
    private(set) var offset = 0

    /// Whether it carries the content of an asset.
    var isTransfer: Bool { method == .uploadAsset || method == .downloadAsset }

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
        case .assetsUpload: self.method = .uploadAsset
        case .assetsDownload: self.method = .downloadAsset
        case .notificationsOpen: self.method = .listen
        case .statementsFetch, .ringsFetch, .ringsFetchStatements, .ringsFindRoots, .ringsListMisplaced:
            self.method = .fetchEncryptionKeys
        case .statementsAppend, .ringsAppend, .ringsJoin: self.method = .modifyEncryptionKeys
        case .enrolmentsPost, .enrolmentsFetch, .enrolmentsEnd: self.method = .enrol
        default: return nil
        }
        var named = self
        if (try? named.read(method, payload)) != nil { self = named }
    }

    private mutating func read(_ method: Method, _ payload: UnsafeRawBufferPointer) throws(ServiceError) {
        let coder = MessageCoder()
        switch method {
        case .recordsModify:
            let request = try coder.decodeModifyRecordsRequest(payload)
            database = request.database
            for zone in request.zones {
                zones.append(zone.zone.name)
                recordTypes.formUnion(zone.saves.map(\.type))
                recordNames += zone.saves.map(\.name) + zone.deletions
                saveCount += zone.saves.count
                deletionCount += zone.deletions.count
            }
        case .recordsFetch:
            let request = try coder.decodeFetchRecordsRequest(payload)
            database = request.database
            for zone in request.zones {
                zones.append(zone.zone.name)
                recordNames += zone.names
            }
        case .recordsQuery:
            let request = try coder.decodeQueryRequest(payload)
            database = request.database
            if let zone = request.zone { zones.append(zone.name) }
            recordTypes.insert(request.query.recordType)
        case .recordsChanges:
            let request = try coder.decodeZoneChangesRequest(payload)
            database = request.database
            zones.append(request.zone.name)
            tokenUse = TokenExpiry.Use(database: request.database, zone: request.zone, token: request.token)
        case .databasesChanges:
            let request = try coder.decodeDatabaseChangesRequest(payload)
            database = request.database
            tokenUse = TokenExpiry.Use(database: request.database, zone: nil, token: request.token)
        case .zonesModify:
            let request = try coder.decodeModifyZonesRequest(payload)
            database = request.database
            zones = (request.saves + request.deletions).map(\.name)
            saveCount = request.saves.count
            deletionCount = request.deletions.count
        case .zonesFetch:
            let (scope, ids) = try coder.decodeFetchZonesRequest(payload)
            database = scope
            zones = ids.map(\.name)
        case .zonesList: database = try coder.decodeListZonesRequest(payload)
        case .subscriptionsModify:
            let request = try coder.decodeModifySubscriptionsRequest(payload)
            database = request.database
            saveCount = request.saves.count
            deletionCount = request.deletions.count
        case .subscriptionsFetch: database = try coder.decodeFetchSubscriptionsRequest(payload).0
        case .subscriptionsList: database = try coder.decodeListSubscriptionsRequest(payload)
        case .assetsUpload:
            let request = try coder.decodeUploadRequest(payload)
            database = request.database
            zones.append(request.zone.name)
        case .assetsDownload:
            let request = try coder.decodeDownloadRequest(payload)
            database = request.database
            zones.append(request.zone.name)
            recordNames.append(request.recordName)
            field = request.field
            offset = Int(clamping: request.offset)
        default: break
        }
    }
}
