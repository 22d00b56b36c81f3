internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

extension DataRequest {
    /// Decodes and checks the request of a method that touches data.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        func digest(of operation: [UInt8], _ kind: OperationOutcome.Kind) -> OperationDigest? {
            operation.isEmpty ? nil : OperationDigest(of: payload, kind: kind)
        }
        switch method {
        case .recordsModify:
            var request = try coder.decodeModifyRecordsRequest(payload)
            request.operationDigest = digest(of: request.operationID, .records)
            self = .modifyRecords(request)
        case .recordsFetch: self = .fetchRecords(try coder.decodeFetchRecordsRequest(payload))
        case .recordsChanges: self = .zoneChanges(try coder.decodeZoneChangesRequest(payload))
        case .recordsQuery: self = .query(try coder.decodeQueryRequest(payload))
        case .recordsExplain: self = .explainQuery(try coder.decodeQueryRequest(payload))
        case .databasesChanges: self = .databaseChanges(try coder.decodeDatabaseChangesRequest(payload))
        case .zonesModify:
            var request = try coder.decodeModifyZonesRequest(payload)
            request.operationDigest = digest(of: request.operationID, .zones)
            self = .modifyZones(request)
        case .zonesFetch:
            let (scope, zones) = try coder.decodeFetchZonesRequest(payload)
            self = .fetchZones(scope, zones)
        case .zonesList: self = .listZones(try coder.decodeListZonesRequest(payload))
        case .subscriptionsModify:
            var request = try coder.decodeModifySubscriptionsRequest(payload)
            request.operationDigest = digest(of: request.operationID, .subscriptions)
            self = .modifySubscriptions(request)
        case .subscriptionsFetch:
            let (scope, ids) = try coder.decodeFetchSubscriptionsRequest(payload)
            self = .fetchSubscriptions(scope, ids)
        case .subscriptionsList: self = .listSubscriptions(try coder.decodeListSubscriptionsRequest(payload))
        case .sharesMetadata: self = .shareMetadata(try coder.decodeShareMetadataRequest(payload))
        case .sharesRequestAccess: self = .requestShareAccess(url: try coder.decodeRequestAccessRequest(payload))
        case .sharesAccept: self = .acceptShare(url: try coder.decodeAcceptShareRequest(payload))
        case .statementsAppend: self = .appendStatement(try coder.decodeAppendStatementRequest(payload))
        case .statementsFetch: self = .fetchStatements(after: try coder.decodeFetchStatementsRequest(payload))
        case .ringsAppend: self = .appendRingEntry(try coder.decodeAppendRingEntryRequest(payload))
        case .ringsFetch: self = .fetchRing(try coder.decodeFetchRingRequest(payload))
        case .ringsJoin: self = .joinRing(try coder.decodeJoinRingRequest(payload))
        case .ringsFetchStatements:
            self = .fetchRingStatements(try coder.decodeFetchRingStatementsRequest(payload))
        case .ringsFindRoots: self = .findRingRoots(try coder.decodeFindRingRootsRequest(payload))
        case .ringsListMisplaced:
            self = .listMisplacedRecords(try coder.decodeListMisplacedRecordsRequest(payload))
        case .enrolmentsPost: self = .enrolment(.post(try coder.decodePostEnrolmentRequest(payload)))
        case .enrolmentsFetch: self = .enrolment(.fetch(try coder.decodeFetchEnrolmentsRequest(payload)))
        case .enrolmentsEnd: self = .enrolment(.end(try coder.decodeEndEnrolmentRequest(payload)))
        default: throw ServiceError(.invalidArguments, "method \(method.rawValue) is not in protocol version 1")
        }
    }
}
