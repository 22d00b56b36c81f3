internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

extension AdminRequest {
    /// Decodes and checks the request of a method of the Admin service.
    init(_ method: Method, _ payload: UnsafeRawBufferPointer, coder: MessageCoder) throws(ServiceError) {
        switch method {
        case .adminAddAccount:
            let (name, email, phone) = try coder.decodeAddAccountRequest(payload)
            self = .addAccount(name: name, email: email, phone: phone)
        case .adminListAccounts: self = .listAccounts(after: try coder.decodeListAccountsRequest(payload))
        case .adminRemoveAccount:
            let (name, deletesData) = try coder.decodeRemoveAccountRequest(payload)
            self = .removeAccount(name: name, deletesData: deletesData)
        case .adminListContainers: self = .listContainers(after: try coder.decodeListContainersRequest(payload))
        case .adminCreateToken: self = .createToken(name: try coder.decodeCreateTokenRequest(payload))
        case .adminRevokeTokens: self = .revokeTokens(name: try coder.decodeRevokeTokensRequest(payload))
        case .adminHandles:
            let (name, change) = try coder.decodeHandlesRequest(payload)
            self = .handles(name: name, change)
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
