package import BrumeModel
internal import BrumeStore

/// A decoded request to one database: it may travel to the loop that owns it. Those for enrolments are about no data,
/// and are answered before a database is looked for.
package enum DataRequest: Sendable {
    case modifyRecords(ModifyRecordsRequest<CheckedFields>)
    case fetchRecords(FetchRecordsRequest)
    case query(QueryRequest)
    case explainQuery(QueryRequest)
    case zoneChanges(ZoneChangesRequest)
    case databaseChanges(DatabaseChangesRequest)
    case modifyZones(ModifyZonesRequest)
    case fetchZones(DatabaseScope, [ZoneID])
    case listZones(DatabaseScope)
    case modifySubscriptions(ModifySubscriptionsRequest)
    case fetchSubscriptions(DatabaseScope, [String])
    case listSubscriptions(DatabaseScope)
    case shareMetadata(ShareMetadataRequest)
    case requestShareAccess(url: String)
    case acceptShare(url: String)
    case appendStatement(AppendStatementRequest)
    case fetchStatements(after: UInt32)
    case appendRingEntry(AppendRingEntryRequest)
    case fetchRing(FetchRingRequest)
    case joinRing(JoinRingRequest)
    case fetchRingStatements(FetchRingStatementsRequest)
    case findRingRoots(FindRingRootsRequest)
    case listMisplacedRecords(ListMisplacedRecordsRequest)
    case enrolment(EnrolmentRequest)

    var scope: DatabaseScope {
        switch self {
        case .modifyRecords(let request): request.database
        case .fetchRecords(let request): request.database
        case .query(let request), .explainQuery(let request): request.database
        case .zoneChanges(let request): request.database
        case .databaseChanges(let request): request.database
        case .modifyZones(let request): request.database
        case .modifySubscriptions(let request): request.database
        case .fetchZones(let scope, _), .listZones(let scope), .fetchSubscriptions(let scope, _),
            .listSubscriptions(let scope):
            scope
        case .appendRingEntry, .fetchRing, .joinRing, .fetchRingStatements, .findRingRoots, .listMisplacedRecords:
            ringZone?.isOfCaller == false ? .shared : .private
        case .shareMetadata, .requestShareAccess, .acceptShare, .appendStatement, .fetchStatements, .enrolment:
            .private
        }
    }

    /// The URL of a share whose database it is for, which is mostly another user's; nil for all requests to the
    /// client's own databases.
    var shareURL: String? {
        switch self {
        case .shareMetadata(let request): request.url
        case .requestShareAccess(let url), .acceptShare(let url): url
        default: nil
        }
    }

    /// The zones that a request for the shared database is about; nil for all other requests, and for those about that
    /// database itself.
    var sharedZones: [ZoneID]? {
        if scope != .shared { return nil }
        return switch self {
        case .modifyRecords(let request): request.zones.map(\.zone)
        case .fetchRecords(let request): request.zones.map(\.zone)
        case .query(let request), .explainQuery(let request): request.zone.map { [$0] } ?? []
        case .zoneChanges(let request): [request.zone]
        case .modifyZones(let request): request.saves + request.deletions
        case .fetchZones(_, let zones): zones
        case .appendRingEntry, .fetchRing, .joinRing, .fetchRingStatements, .findRingRoots, .listMisplacedRecords:
            ringZone.map { [$0] }
        default: nil
        }
    }

    /// The zone of whose rings a request is; nil for all other requests.
    var ringZone: ZoneID? {
        switch self {
        case .appendRingEntry(let request): request.zone
        case .fetchRing(let request): request.zone
        case .joinRing(let request): request.zone
        case .fetchRingStatements(let request): request.zone
        case .findRingRoots(let request): request.zone
        case .listMisplacedRecords(let request): request.zone
        default: nil
        }
    }

    /// The same request, without the owner where it is about rings of a zone of the caller's own that names them: that
    /// zone is in the caller's own database, and not in the shared one.
    func withoutOwner(ofOwnZone user: String) -> DataRequest {
        guard let zone = ringZone, zone.owner == user else { return self }
        let own = ZoneID(name: zone.name)
        switch self {
        case .appendRingEntry(var request):
            request.zone = own
            return .appendRingEntry(request)
        case .fetchRing(var request):
            request.zone = own
            return .fetchRing(request)
        case .joinRing(var request):
            request.zone = own
            return .joinRing(request)
        case .fetchRingStatements(var request):
            request.zone = own
            return .fetchRingStatements(request)
        case .findRingRoots(var request):
            request.zone = own
            return .findRingRoots(request)
        case .listMisplacedRecords(var request):
            request.zone = own
            return .listMisplacedRecords(request)
        default: return self
        }
    }

    /// Whether it is for no zones of others, or for some in which the caller takes part.
    func isOfCaller(_ identity: Identity, in database: Database) -> Bool {
        sharedZones?.contains { database.start(of: identity.userRecordName, inZoneNamed: $0.name) != nil } ?? true
    }

    /// Whether it may take several turns of the loop.
    var isQuery: Bool {
        switch self {
        case .query, .explainQuery: true
        default: false
        }
    }

    /// Whether it names assets by receipts.
    var hasReceipts: Bool {
        if case .modifyRecords(let request) = self { !request.receipts.isEmpty } else { false }
    }

    /// Whether it may make shares of records, of which some may have many others below them.
    var maySetUpShares: Bool {
        guard case .modifyRecords(let request) = self, request.database == .private else { return false }
        return request.zones.contains { !$0.shares.isEmpty }
    }

    /// The operation's id, empty when the client gave none, the digest of its request, and its kind; nil for reads.
    var operation: (id: [UInt8], digest: OperationDigest?, kind: OperationOutcome.Kind)? {
        switch self {
        case .modifyRecords(let request): (request.operationID, request.operationDigest, .records)
        case .modifyZones(let request): (request.operationID, request.operationDigest, .zones)
        case .modifySubscriptions(let request): (request.operationID, request.operationDigest, .subscriptions)
        default: nil
        }
    }

    /// Whether it writes to the database that it is run in.
    var isWrite: Bool {
        switch self {
        case .appendStatement, .appendRingEntry, .joinRing: true
        default: operation != nil
        }
    }

    /// Whether it writes, or reads the record that the server makes for the user who asks.
    func leavesTrace(for identity: Identity) -> Bool {
        guard case .account = identity.role else { return false }
        return switch self {
        case .modifyRecords, .modifyZones, .modifySubscriptions, .acceptShare, .appendStatement, .appendRingEntry,
            .joinRing:
            true
        case .fetchRecords(let request):
            request.zones.contains { $0.zone.isDefault && $0.names.contains(identity.userRecordName) }
        case .query(let request), .explainQuery(let request):
            request.query == .everything || request.query.recordType == Names.userRecordType
        default: false
        }
    }

    /// Whether a database that has no commit stays in memory for it. A reader without an account, or in a container
    /// that was new when they came, could name any number of containers, and so fill the memory with empty databases.
    func keepsEmptyDatabase(of identity: Identity) -> Bool {
        guard case .account = identity.role else { return false }
        if shareURL != nil { return false }
        return identity.newContainerOf == nil || isWrite || identity.privateDatabase?.scope == scope
    }
}

extension ZoneID {
    /// Whether it names no other owner than whoever asks.
    fileprivate var isOfCaller: Bool { owner.isEmpty || owner == Names.currentUser }
}
