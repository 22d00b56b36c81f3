internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The operator's requests. Their work may wait for the disk, so it runs on a loop of its own.
extension ServerCore {
    /// Works on the admin loop, and answers on the client's.
    func administer(_ request: AdminRequest, to responder: Responder, on loop: EventLoop) {
        let identity = responder.client.identity
        adminLoop.execute { [self] in
            perform(request, identity: identity) { outcome in
                loop.execute { responder.finish(outcome.map { .administration($0) }) }
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
            case .removeAccount(let name, deletesData: false):
                _ = try accounts.remove(name: name)
                revoke(name)
                give(.success(.accountRemoved(ResetSummary(databases: 0, records: 0))))
            case .removeAccount(let name, deletesData: true): try removeWithData(name, give)
            case .listContainers(let name): listContainers(after: name, give)
            case .createToken(let name):
                give(.success(.tokenCreated(try accounts.createToken(name: name))))
            case .revokeTokens(let name):
                let count = try accounts.revokeTokens(name: name)
                revoke(name)
                give(.success(.tokensRevoked(count: count)))
            case .quota(let name, let change):
                try quota(ofAccount: name, change: change) { give(.success(.quota($0))) }
            case .snapshot:
                logs.saveAll { result in
                    switch result {
                    case .success(let summary): give(.success(.snapshotsWritten(summary)))
                    case .failure(let failure):
                        give(.failure(failure.isFull ? .diskFull : ServiceError(.internalError, failure.message)))
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
            case .figures: preconditionFailure("figures are collected on the loop that was asked")
            }
        } catch {
            give(.failure(Self.serviceError(error)))
        }
    }

    private func revoke(_ name: String) {
        for shard in shards { shard.loop.execute { shard.endClients(ofAccount: name) } }
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

    static func serviceError(_ error: ServerError) -> ServiceError {
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
