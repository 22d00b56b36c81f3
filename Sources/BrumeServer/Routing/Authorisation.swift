internal import BrumeModel
internal import BrumeStore

/// The one place that decides who may touch which database (P6): where a request goes is asked on the loop of its
/// client, and what it may do there on the loop of the database, which alone knows what its owner has granted; that is
/// asked again for each pushed event.
///
/// The engine decides what single records allow in the public database (their creator changes them), since it has the
/// records.
enum Authorisation {
    /// What a caller may do in the database of one owner: the grant that a request's zones of that owner are served by.
    struct Grant: Sendable {
        let database: DatabaseID
        let caller: Caller
    }

    /// What `identity` may do in a database, decided on its loop.
    ///
    /// - Parameter access: What roles grant in a public database; nil for a private one, where roles mean nothing.
    static func grant(
        in database: DatabaseID, to identity: Identity, access: PublicAccess?
    ) throws(ServiceError) -> Grant {
        guard mayReceive(from: database, identity) else {
            throw ServiceError(.permissionFailure, "the request was sent to a database that its user may not use")
        }
        return Grant(
            database: database,
            caller: Caller(
                user: identity.userRecordName, isOwner: database.scope == .private, access: access,
                device: identity.deviceID))
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
        }
    }

    /// Whether changes in the database may be reported to the device.
    static func mayReceive(from database: DatabaseID, _ identity: Identity) -> Bool {
        switch self.database(for: database.scope, of: identity) {
        case .success(let allowed): allowed == database
        case .failure: false
        }
    }

    /// What is wrong with a request to the Admin service, or nil.
    static func problemWithAdministration(by identity: Identity) -> ServiceError? {
        identity.role == .admin
            ? nil
            : ServiceError(
                .permissionFailure, "the Admin service is for the server's operator, and no account opens it")
    }
}
