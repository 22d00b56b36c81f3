internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The removal of an account together with what it stores.
extension ServerCore {
    /// Revokes the account's tokens, empties its private databases, and removes it. On the admin loop.
    ///
    /// The account goes last: without it nothing tells whose the databases are, so what fails can be asked for again.
    func removeWithData(_ name: String, _ give: @escaping @Sendable (AdminOutcome) -> Void) {
        removeWithData(name, emptied: ResetSummary(databases: 0, records: 0), give)
    }

    private func removeWithData(
        _ name: String, emptied: ResetSummary, _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        make(.revokeTokens(name: name), give) { [self] effect in
            let id = effect.after!.id
            endClients(ofTokens: effect.revokedTokens) { [self] in
                adminLoop.execute { [self] in
                    // Not before: the last requests may have begun a container.
                    let databases = privateDatabases(ofAccount: id)
                    DatabaseEmptying(server: self, forgets: true) { [self] outcome in
                        finishRemoval(of: name, id: id, emptied: emptied, outcome, give)
                    }.start(anyOf: databases)
                }
            }
        }
    }

    private func privateDatabases(ofAccount id: [UInt8]) -> Set<DatabaseID> {
        var databases: Set<DatabaseID> = []
        for container in knownContainers {
            for environment in [Environment.production, .development] {
                databases.insert(privateDatabase(ofAccount: id, container, environment))
            }
        }
        return databases
    }

    private func finishRemoval(
        of name: String, id: [UInt8], emptied: ResetSummary, _ outcome: Result<ResetSummary, ServiceError>,
        _ give: @escaping @Sendable (AdminOutcome) -> Void
    ) {
        switch outcome {
        case .success(var summary):
            summary.databases += emptied.databases
            summary.records += emptied.records
            catalog.change(.removeEmptied(name: name, id: id)) { [self, summary] result in
                switch result {
                case .success: give(.success(.accountRemoved(summary)))
                // Somebody else may have removed it meanwhile, and even made another one of the same name.
                case .failure(let error) where error.code == .unknown:
                    give(.success(.accountRemoved(summary)))
                // What was saved with the new token is deleted too.
                case .failure(let error) where error.code == .inUse:
                    removeWithData(name, emptied: summary, give)
                case .failure(let error): give(.failure(Self.serviceError(error)))
                }
            }
        case .failure(let error):
            give(
                .failure(
                    ServiceError(
                        error.code,
                        "not all data of \(name) could be deleted, and the account is still there, without tokens; remove"
                            + " it again: \(error.message)", retryAfterMilliseconds: error.retryAfterMilliseconds)))
        }
    }
}
