internal import BrumeModel
internal import BrumeProtocol
internal import BrumeStore
internal import BrumeSystem

/// The Admin service. Its work may wait for the disk, so it runs on a loop of its own.
extension ServerCore {
    /// One request of the operator, decoded.
    private enum AdminRequest: Sendable {
        case addAccount(name: String, email: String)
        case listAccounts(after: String)
        case removeAccount(name: String)
        case createToken(name: String)
        case revokeTokens(name: String)
        case quota(name: String, QuotaChange?)
        case snapshot
        case exportSchema
        case importSchema([UInt8], validatesOnly: Bool)
        case deploySchema(fingerprint: UInt32)
        case resetSchema
        case setRoleMember(role: String, account: String, isMember: Bool)
        case listRoleMembers(after: String)
    }

    /// Decodes and checks on the session's loop, works on the admin loop, answers on the session's loop.
    func administer(
        _ method: Method, _ payload: UnsafeRawBufferPointer, session: Session, stream: UInt32
    ) throws(ServiceError) {
        if let problem = Authorisation.problemWithAdministration(by: session.identity) { throw problem }
        let coder = session.shard.coder
        let request: AdminRequest
        switch method {
        case .adminAddAccount:
            let (name, email) = try coder.decodeAddAccountRequest(payload)
            request = .addAccount(name: name, email: email)
        case .adminListAccounts:
            request = .listAccounts(after: try coder.decodeListAccountsRequest(payload))
        case .adminRemoveAccount: request = .removeAccount(name: try coder.decodeRemoveAccountRequest(payload))
        case .adminCreateToken: request = .createToken(name: try coder.decodeCreateTokenRequest(payload))
        case .adminRevokeTokens: request = .revokeTokens(name: try coder.decodeRevokeTokensRequest(payload))
        case .adminQuota:
            let (name, change) = try coder.decodeQuotaRequest(payload)
            request = .quota(name: name, change)
        case .adminSnapshot:
            try coder.decodeSnapshotRequest(payload)
            request = .snapshot
        case .adminExportSchema:
            try coder.decodeExportSchemaRequest(payload)
            request = .exportSchema
        case .adminImportSchema:
            let (text, validatesOnly) = try coder.decodeImportSchemaRequest(payload)
            request = .importSchema(text, validatesOnly: validatesOnly)
        case .adminDeploySchema:
            request = .deploySchema(fingerprint: try coder.decodeDeploySchemaRequest(payload))
        case .adminResetSchema:
            try coder.decodeResetSchemaRequest(payload)
            request = .resetSchema
        case .adminSetRoleMember:
            let (role, account, isMember) = try coder.decodeSetRoleMemberRequest(payload)
            request = .setRoleMember(role: role, account: account, isMember: isMember)
        case .adminListRoleMembers:
            request = .listRoleMembers(after: try coder.decodeListRoleMembersRequest(payload))
        default: preconditionFailure("method \(method.rawValue) is not of the Admin service")
        }
        let identity = session.identity!
        let loop = session.shard.loop
        adminLoop.execute { [self] in
            perform(request, identity: identity) { outcome in
                loop.execute { session.give(outcome.map { .administration($0) }, stream: stream) }
            }
        }
    }

    /// On the admin loop.
    private func perform(
        _ request: AdminRequest, identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        do throws(ServerError) {
            switch request {
            case .addAccount(let name, let email):
                let (account, token) = try accounts.add(
                    name: name, email: email, nowMilliseconds: adminLoop.wallClockMilliseconds)
                give(.success(.accountAdded(view(account, identity), token: token)))
            case .listAccounts(let name):
                let rest = accounts.list().drop { $0.name <= name }
                let page = rest.prefix(ServerLimits.accountsPerPage).map { view($0, identity) }
                give(.success(.accounts(page, moreComing: page.count < rest.count)))
            case .removeAccount(let name):
                _ = try accounts.remove(name: name)
                revoke(name)
                give(.success(.accountRemoved))
            case .createToken(let name):
                give(.success(.tokenCreated(try accounts.createToken(name: name))))
            case .revokeTokens(let name):
                let count = try accounts.revokeTokens(name: name)
                revoke(name)
                give(.success(.tokensRevoked(count: count)))
            case .quota(let name, let change):
                try quota(ofAccount: name, change: change, identity) { give($0.map { .quota($0) }) }
            case .snapshot:
                snapshots.request { result in
                    switch result {
                    case .success(let report):
                        let summary = SnapshotSummary(
                            databases: report.databases, segmentsRemoved: report.segmentsRemoved)
                        give(.success(.snapshotsWritten(summary)))
                    case .failure(let error): give(.failure(Self.serviceError(error)))
                    }
                }
            case .exportSchema: give(.success(exportedSchema(identity)))
            case .importSchema(let text, let validatesOnly):
                importSchema(text, validatesOnly: validatesOnly, identity, give)
            case .deploySchema(let fingerprint): deploySchema(fingerprint: fingerprint, identity, give)
            case .resetSchema: resetSchema(identity, give)
            case .setRoleMember(let role, let account, let isMember):
                setRoleMember(role: role, account: account, isMember: isMember, identity, give)
            case .listRoleMembers(let user): give(.success(roleMembers(after: user, identity)))
            }
        } catch {
            give(.failure(Self.serviceError(error)))
        }
    }

    private func revoke(_ name: String) {
        for shard in shards { shard.loop.execute { shard.revoke(accountName: name) } }
    }

    private func view(_ account: StoredAccount, _ identity: Identity) -> Account {
        view(account, container: identity.container, environment: identity.environment)
    }

    func view(_ account: StoredAccount, container: String, environment: Environment) -> Account {
        Account(
            name: account.name, email: account.email, createdMilliseconds: account.createdMilliseconds,
            tokens: account.tokenHashes.count,
            userRecordName: secrets.userRecordName(
                accountID: account.id, container: container, environment: environment))
    }

    private static func serviceError(_ error: ServerError) -> ServiceError {
        if error.code == .diskFull { return .diskFull }
        let code: ErrorCode =
            switch error.code {
            case .accountUnknown: .unknownItem
            case .accountExists: .serverRejectedRequest
            case .accountInvalid: .invalidArguments
            case .limit: .limitExceeded
            case .diskFull: .serviceUnavailable
            case .folder, .folderInUse, .notPermitted, .damaged, .certificate, .listen: .internalError
            }
        return ServiceError(code, error.message)
    }
}
