package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The operator's requests. Their work may wait for the disk, so it runs on a loop of its own.
extension ServerCore {
    /// Works on the admin loop, and answers on the client's.
    func administer(
        _ request: AdminRequest, from origin: OperatorOrigin, to responder: Responder, on loop: EventLoop
    ) {
        let identity = responder.client.identity
        adminLoop.execute { [self] in
            performAudited(request, from: origin, identity: identity) { outcome in
                loop.execute { responder.finish(outcome.map { .administration($0) }) }
            }
        }
    }

    /// Performs a request that the audit log has a note of, on the disk, before it begins, and once more when it has
    /// ended. On the admin loop.
    package func performAudited(
        _ request: AdminRequest, from origin: OperatorOrigin, identity: Identity,
        _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        guard let audit, let act = request.act(container: identity.container, identity.environment) else {
            return perform(request, identity: identity, give)
        }
        let noted: UInt64?
        do throws(ServiceError) {
            noted = try audit.begin(act, from: origin)
        } catch {
            return give(.failure(error))
        }
        guard let number = noted else { return perform(request, identity: identity, give) }
        perform(request, identity: identity) { [self] outcome in
            adminLoop.execute {
                if case .failure(let error) = outcome { audit.end(number, error) } else { audit.end(number, nil) }
                give(outcome)
            }
        }
    }

    /// Called on the admin loop; `give` may be called on another one.
    func perform(
        _ request: AdminRequest, identity: Identity, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        switch request {
        case .addAccount(let name, let email, let phone):
            let (change, token) = AccountChange.adding(
                name: name, email: email, phone: phone, nowMilliseconds: adminLoop.wallClockMilliseconds)
            make(change, give) { [self] effect in
                give(.success(.accountAdded(view(effect.after!, identity), token: token)))
            }
        case .listAccounts(let name):
            let rest = accounts.list().drop { $0.name <= name }
            let page = rest.prefix(ServiceLimits.accountsPerPage).map { view($0, identity) }
            give(.success(.accounts(page, moreComing: page.count < rest.count)))
        case .removeAccount(let name, deletesData: false):
            make(.remove(name: name), give) { [self] effect in
                endClients(ofTokens: effect.revokedTokens) {
                    give(.success(.accountRemoved(ResetSummary(databases: 0, records: 0))))
                }
            }
        case .removeAccount(let name, deletesData: true): removeWithData(name, give)
        case .listContainers(let name): listContainers(after: name, give)
        case .createToken(let name):
            let (change, token) = AccountChange.addingToken(name: name)
            make(change, give) { _ in give(.success(.tokenCreated(token))) }
        case .revokeTokens(let name):
            make(.revokeTokens(name: name), give) { [self] effect in
                let tokens = effect.revokedTokens
                endClients(ofTokens: tokens) { give(.success(.tokensRevoked(count: tokens.count))) }
            }
        case .handles(let name, let change) where change.isEmpty:
            guard let account = accounts.account(named: name) else {
                return give(.failure(Self.serviceError(AccountTable.unknown(name))))
            }
            give(.success(.handles(view(account, identity))))
        case .handles(let name, let change):
            make(.setHandles(change, name: name), give) { [self] effect in
                give(.success(.handles(view(effect.after!, identity))))
            }
        case .quota(let name, let change):
            quota(ofAccount: name, change: change) { give($0.map { .quota($0) }.mapError(Self.serviceError)) }
        // They would wait for room, behind the commits that do.
        case .snapshot where logs.isFull: give(.failure(.diskFull))
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
    }

    /// Changes an account and goes on, or gives why it can't be changed. On the admin loop.
    func make(
        _ change: AccountChange, _ give: @escaping @Sendable (AdminOutcome) -> Void,
        then goOn: @escaping @Sendable (AccountChange.Effect) -> Void
    ) {
        catalog.change(change) { result in
            switch result {
            case .success(let effect): goOn(effect)
            case .failure(let error): give(.failure(Self.serviceError(error)))
            }
        }
    }

    private func view(_ account: StoredAccount, _ identity: Identity) -> Account {
        view(account, container: identity.container, environment: identity.environment)
    }

    package func view(_ account: StoredAccount, container: String, environment: Environment) -> Account {
        secrets.view(account, container: container, environment: environment)
    }

    package static func serviceError(_ error: AccountError) -> ServiceError {
        switch error.code {
        case .unknown: ServiceError(.unknownItem, error.message)
        case .exists, .inUse: ServiceError(.serverRejectedRequest, error.message)
        case .invalid: ServiceError(.invalidArguments, error.message)
        case .limit: ServiceError(.limitExceeded, error.message)
        case .full: .diskFull
        case .notKept: ServiceError(.internalError, error.message)
        }
    }
}
