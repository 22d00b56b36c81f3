internal import BrumeModel

/// The one place that decides who may touch which database (P6): asked for each request, and again for each pushed
/// event.
///
/// The engine decides what single records allow in the public database (their creator changes them), since it has the
/// records.
enum Authorisation {
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
