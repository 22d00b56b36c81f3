internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// An operator's look at an account's quota.
extension ServerCore {
    /// On the admin loop: changes the quota, if that is asked for, and reports it with how much the account's private
    /// database in the operator's container and environment holds.
    func quota(
        ofAccount name: String, change: QuotaChange?, _ identity: Identity,
        _ done: @escaping @Sendable (Result<AccountQuota, ServiceError>) -> Void
    ) throws(ServerError) {
        switch change {
        case .bytes(let bytes)?: try accounts.setQuota(bytes, ofAccount: name)
        case .serverDefault?: try accounts.setQuota(nil, ofAccount: name)
        case nil: break
        }
        guard let account = accounts.account(named: name) else {
            throw ServerError(.accountUnknown, "there is no account named \(name); list them to see their names")
        }
        let limit = account.quotaBytes ?? configuration.quotaBytes
        let isDefault = account.quotaBytes == nil
        let user = secrets.userRecordName(
            accountID: account.id, container: identity.container, environment: identity.environment)
        let id = DatabaseID(
            container: identity.container, environment: identity.environment, scope: .private, owner: user)
        let owner = shard(of: id)
        owner.loop.execute {
            owner.storedBytes(of: id) { used in
                done(used.map { AccountQuota(limitBytes: limit, isDefault: isDefault, usedBytes: $0) })
            }
        }
    }
}

extension Shard {
    /// The encoded bytes of the records in a database of this shard. A database that does not exist is not made for
    /// this.
    fileprivate func storedBytes(
        of id: DatabaseID, _ done: @escaping @Sendable (Result<Int, ServiceError>) -> Void
    ) {
        switch access(id, of: .operator, keepsEmpty: false) {
        case .loaded(let loaded): tell(loaded, done)
        case .unavailable(let error): done(.failure(error))
        case .loading(let load):
            let refusal = wait(for: load, of: .operator, byteCount: 0) { [self] outcome in
                switch outcome {
                case .success(let loaded): tell(loaded, done)
                case .failure(let error): done(.failure(error))
                }
            }
            if let refusal { done(.failure(refusal)) }
        }
    }

    /// Reports when the last commit is durable, like every answer.
    private func tell(_ loaded: LoadedDatabase, _ done: @escaping @Sendable (Result<Int, ServiceError>) -> Void) {
        let bytes = loaded.database.storedBytes
        gate.whenDurable(loaded.lastPosition) { done(.success(bytes)) }
    }
}
