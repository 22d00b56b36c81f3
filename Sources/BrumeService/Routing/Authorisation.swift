package import BrumeModel
internal import BrumeStore

/// The one place that decides who may touch which database (P6): where a request goes is asked on the loop of its
/// client, and what it may do there on the loop of the database, which alone knows what its owner has granted; that is
/// asked again for each pushed event.
///
/// The engine decides what single records allow in the public database (their creator changes them), since it has the
/// records.
package enum Authorisation {
    /// The grant that zones of one owner are served by: what `identity` may do in the owner's database, decided on its
    /// loop.
    ///
    /// - Parameter access: What roles grant in a public database; nil for a private one, where roles mean nothing.
    static func grant(
        in database: DatabaseID, to identity: Identity, access: PublicAccess?
    ) throws(ServiceError) -> Caller {
        guard mayUse(database, identity) else {
            throw ServiceError(.permissionFailure, "the request was sent to a database that its user may not use")
        }
        return Caller(
            user: identity.userRecordName, isOwner: database.scope == .private, access: access,
            device: identity.deviceID)
    }

    /// Whether `identity` may do anything in a database. For every request: it copies nothing.
    private static func mayUse(_ database: DatabaseID, _ identity: Identity) -> Bool {
        if case .admin = identity.role { return false }
        guard database.environment == identity.environment, database.container == identity.container else {
            return false
        }
        return database.scope == .public
            || database.owner == identity.userRecordName && !identity.userRecordName.isEmpty
    }

    /// The database that a request of `identity` refers to, or why the request may not use it.
    static func database(for scope: DatabaseScope, of identity: Identity) -> Result<DatabaseID, ServiceError> {
        switch (scope, identity.role) {
        case (_, .admin):
            .failure(
                ServiceError(
                    .permissionFailure,
                    "the operator has the Admin service only; use an account's token for data"))
        case (.public, _):
            .success(identity.publicDatabase)
        case (.private, .anonymous):
            .failure(ServiceError(.notAuthenticated, "the private database needs an account; connect with its token"))
        case (.private, .account):
            .success(identity.privateDatabase!)
        case (.shared, _):
            .failure(ServiceError(.invalidArguments, "placeholder: the shared database is not served yet"))
        }
    }

    /// The database that a share's URL leads a client to, or why the client may not go there. What they may see there
    /// the share decides, on the database's loop.
    ///
    /// - Parameters:
    ///   - database: Where the URL leads; nil for one that this server did not make.
    ///   - isServed: Whether the server serves the database's container.
    static func database(
        atLink database: DatabaseID?, for identity: Identity, isServed: (_ container: String) -> Bool
    ) -> Result<DatabaseID, ServiceError> {
        guard case .account = identity.role else {
            return .failure(ServiceError(.notAuthenticated, "sharing needs an account; connect with its token"))
        }
        // The two environments know nothing of each other's data.
        guard let database, database.environment == identity.environment, isServed(database.container) else {
            return .failure(Share.unknownURL)
        }
        return .success(database)
    }

    /// Whether changes in the database may be reported to the device.
    static func mayReceive(from database: DatabaseID, _ identity: Identity) -> Bool {
        mayUse(database, identity)
    }

    /// What is wrong with a request to the Admin service, or nil.
    package static func problemWithAdministration(by identity: Identity) -> ServiceError? {
        identity.role == .admin
            ? nil
            : ServiceError(
                .permissionFailure, "the Admin service is for the server's operator, and no account opens it")
    }
}
