internal import BrumeModel
internal import BrumeProtocol

extension DataRequest {
    /// Decodes and checks the request of a method that touches data.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        func digest(of operation: [UInt8]) -> OperationDigest? {
            operation.isEmpty ? nil : OperationDigest(of: payload)
        }
        switch method {
        case .recordsModify:
            var request = try coder.decodeModifyRecordsRequest(payload)
            request.operationDigest = digest(of: request.operationID)
            self = .modifyRecords(request)
        case .recordsFetch: self = .fetchRecords(try coder.decodeFetchRecordsRequest(payload))
        case .recordsChanges: self = .zoneChanges(try coder.decodeZoneChangesRequest(payload))
        case .recordsQuery: self = .query(try coder.decodeQueryRequest(payload))
        case .recordsExplain: self = .explainQuery(try coder.decodeQueryRequest(payload))
        case .databasesChanges: self = .databaseChanges(try coder.decodeDatabaseChangesRequest(payload))
        case .zonesModify:
            var request = try coder.decodeModifyZonesRequest(payload)
            request.operationDigest = digest(of: request.operationID)
            self = .modifyZones(request)
        case .zonesFetch:
            let (scope, zones) = try coder.decodeFetchZonesRequest(payload)
            self = .fetchZones(scope, zones)
        case .zonesList: self = .listZones(try coder.decodeListZonesRequest(payload))
        case .subscriptionsModify:
            var request = try coder.decodeModifySubscriptionsRequest(payload)
            request.operationDigest = digest(of: request.operationID)
            self = .modifySubscriptions(request)
        case .subscriptionsFetch:
            let (scope, ids) = try coder.decodeFetchSubscriptionsRequest(payload)
            self = .fetchSubscriptions(scope, ids)
        case .subscriptionsList: self = .listSubscriptions(try coder.decodeListSubscriptionsRequest(payload))
        default: throw ServiceError(.invalidArguments, "method \(method.rawValue) is not in protocol version 1")
        }
    }
}

extension AdminRequest {
    /// Decodes and checks the request of a method of the Admin service.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        switch method {
        case .adminAddAccount:
            let (name, email) = try coder.decodeAddAccountRequest(payload)
            self = .addAccount(name: name, email: email)
        case .adminListAccounts: self = .listAccounts(after: try coder.decodeListAccountsRequest(payload))
        case .adminRemoveAccount: self = .removeAccount(name: try coder.decodeRemoveAccountRequest(payload))
        case .adminCreateToken: self = .createToken(name: try coder.decodeCreateTokenRequest(payload))
        case .adminRevokeTokens: self = .revokeTokens(name: try coder.decodeRevokeTokensRequest(payload))
        case .adminQuota:
            let (name, change) = try coder.decodeQuotaRequest(payload)
            self = .quota(name: name, change)
        case .adminSnapshot:
            try coder.decodeSnapshotRequest(payload)
            self = .snapshot
        case .adminExportSchema:
            try coder.decodeExportSchemaRequest(payload)
            self = .exportSchema
        case .adminImportSchema:
            let (text, validatesOnly) = try coder.decodeImportSchemaRequest(payload)
            self = .importSchema(text, validatesOnly: validatesOnly)
        case .adminDeploySchema: self = .deploySchema(fingerprint: try coder.decodeDeploySchemaRequest(payload))
        case .adminResetSchema:
            try coder.decodeResetSchemaRequest(payload)
            self = .resetSchema
        case .adminSetRoleMember:
            let (role, account, isMember) = try coder.decodeSetRoleMemberRequest(payload)
            self = .setRoleMember(role: role, account: account, isMember: isMember)
        case .adminListRoleMembers:
            self = .listRoleMembers(after: try coder.decodeListRoleMembersRequest(payload))
        case .adminStats:
            try coder.decodeStatsRequest(payload)
            self = .figures
        default: preconditionFailure("method \(method.rawValue) is not of the Admin service")
        }
    }
}

extension Method {
    /// Whether it belongs to the Admin service, whose numbers begin at 256.
    var isOfOperator: Bool { rawValue >= Self.adminAddAccount.rawValue }
}
