package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Quotas: what limits a database, and an operator's look at an account's.
extension ServerCore {
    /// What limits the records of a database; nil when nothing does. On the loop of the database.
    ///
    /// In a public database all users share it, so the records of one take at most half of it: whoever fills their part
    /// leaves as much to the others.
    ///
    /// An account's private databases have one quota together. Those that are in memory, or were since the start, count
    /// at once; the others a moment after the account's first save, when they have been looked for. Databases on
    /// different loops may each take what is left at the same time, and so exceed the quota by a request each; uploads
    /// may not: see ``UploadQuota``.
    func quota(of loaded: LoadedDatabase, for identity: Identity, _ key: ClientShare.Key) -> StorageQuota? {
        let id = loaded.database.id
        if id.scope == .private, !identity.owns(id) {
            // What others write to a zone counts for its owner, whose account is known once it was here.
            let owner = loaded.storage?.counted.account
            let limit = owner?.quotaBytes ?? configuration.quotaBytes
            if limit == 0 { return nil }
            let bytesElsewhere = owner.flatMap { loaded.storage?.bytesElsewhere(of: $0) } ?? 0
            return StorageQuota(
                limitBytes: limit, bytesElsewhere: bytesElsewhere, uploadBytes: loaded.uploadBytes)
        }
        guard id.scope == .private, let account = identity.storage else {
            let limit = configuration.publicQuotaBytes
            if limit == 0 { return nil }
            return StorageQuota(
                limitBytes: limit, uploadBytes: loaded.uploadBytes, limitBytesOfUser: limit / 2)
        }
        let limit = account.quotaBytes ?? configuration.quotaBytes
        if limit == 0 { return nil }
        if account.beginCounting() { countStorage(of: account, asking: key) {} }
        return StorageQuota(
            limitBytes: limit, bytesElsewhere: loaded.storage?.bytesElsewhere(of: account) ?? account.usedBytes,
            uploadBytes: loaded.uploadBytes)
    }

    /// Looks for the private databases that an account has from before the start, and counts those that are not known.
    /// `done` is called on a loop where nobody waits for the disk. Any thread.
    ///
    /// Snapshots of earlier versions do not say their bytes: these are loaded to be counted, one after the other, as if
    /// the account had asked for them.
    ///
    /// In a container that is not looked through, because there are very many or its name is very long, a database
    /// counts when the account uses it.
    func countStorage(of account: AccountStorage, asking key: ClientShare.Key, _ done: @escaping @Sendable () -> Void) {
        counting.add(of: key) { [self] in
            var silent: [DatabaseID] = []
            for container in containersAtStart.prefix(ServiceLimits.countedContainers) {
                for environment in [Environment.production, .development] {
                    let id = privateDatabase(ofAccount: account.id, container, environment)
                    if storage.attach(id, to: account) { continue }
                    switch bytesOnDisk(of: id) {
                    case 0?: break
                    case let bytes?: storage.add(id, bytes: bytes, of: account)
                    case nil: silent.append(id)
                    }
                }
            }
            loadToCount(silent[...], of: account, asking: key, done)
        }
    }

    private func loadToCount(
        _ ids: ArraySlice<DatabaseID>, of account: AccountStorage, asking key: ClientShare.Key,
        _ done: @escaping @Sendable () -> Void
    ) {
        guard let id = ids.first else { return done() }
        loading.add(of: key) { [self] in
            // By now somebody may have loaded it.
            if isLoading, !storage.attach(id, to: account) {
                let bytes = countedBytes(of: id)
                if bytes > 0 { storage.add(id, bytes: bytes, of: account) }
            }
            loadToCount(ids.dropFirst(), of: account, asking: key, done)
        }
    }

    /// What a database's snapshot counts towards a quota; nil when it does not say it, 0 when it can't be read. In the
    /// background, where nobody waits for the disk.
    func bytesOnDisk(of id: DatabaseID) -> Int? {
        do throws(StoreError) {
            return try logs.quotaBytes(of: id)
        } catch {
            logUncounted(error)
            return 0
        }
    }

    /// The same, counted from all of the snapshot. On the loader's thread.
    func countedBytes(of id: DatabaseID) -> Int {
        do throws(StoreError) {
            return try logs.countedQuotaBytes(of: id)
        } catch {
            if isLoading { logUncounted(error) }
            return 0
        }
    }

    /// Whoever uses the database is told, and then the log says it as an error.
    private func logUncounted(_ error: StoreError) {
        log.warning("a database's bytes can't be counted", [("reason", "\(error)")])
    }

    /// On the admin loop: changes the quota, if that is asked for, and reports it with what the account's private
    /// databases hold in all containers and environments.
    package func quota(
        ofAccount name: String, change: QuotaChange?,
        _ done: @escaping @Sendable (Result<AccountQuota, AccountError>) -> Void
    ) {
        let bytes: Int?
        switch change {
        case .bytes(let own)?: bytes = own
        case .serverDefault?: bytes = nil
        case nil: return reportQuota(ofAccount: name, done)
        }
        catalog.change(.setQuota(bytes: bytes, name: name)) { [self] result in
            switch result {
            case .success: reportQuota(ofAccount: name, done)
            case .failure(let error): done(.failure(error))
            }
        }
    }

    private func reportQuota(
        ofAccount name: String, _ done: @escaping @Sendable (Result<AccountQuota, AccountError>) -> Void
    ) {
        guard let storage = accounts.storage(ofAccount: name) else { return done(.failure(AccountTable.unknown(name))) }
        countStorage(of: storage, asking: .operator) { [configuration] in
            let own = storage.quotaBytes
            done(
                .success(
                    AccountQuota(
                        limitBytes: own ?? configuration.quotaBytes, isDefault: own == nil,
                        usedBytes: storage.usedBytes)))
        }
    }
}
