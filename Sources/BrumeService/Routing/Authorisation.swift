package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

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

    /// The grant that a request for the shared database is served by: which zones of the owner's database the user may
    /// see the engine decides, since it has the shares.
    static func grantOfShared(in database: DatabaseID, to identity: Identity) throws(ServiceError) -> Caller {
        guard case .account = identity.role, database.scope == .private,
            database.environment == identity.environment, database.container == identity.container
        else {
            throw ServiceError(.permissionFailure, "the request was sent to a database that its user may not use")
        }
        // A device's id is its client's word: beside the user's name it stands for no device of another user.
        let device = SHA256.digest(Array(identity.userRecordName.utf8) + identity.deviceID).prefix(16)
        return Caller(user: identity.userRecordName, isOwner: false, device: Array(device))
    }

    /// The owner of the zones of a request for the shared database; nil for a request about that database itself. The
    /// caller's own zones are in no shared database, and are looked for in vain.
    static func owner(ofZonesIn request: DataRequest, for identity: Identity) throws(ServiceError) -> String? {
        guard let zones = request.sharedZones else { return nil }
        var owner: String?
        for zone in zones {
            let isCallers = zone.owner.isEmpty || zone.owner == Names.currentUser
            let next = isCallers ? identity.userRecordName : zone.owner
            guard owner ?? next == next else { throw severalOwners }
            owner = next
        }
        if let owner, !Names.isUserRecordName(owner) { return identity.userRecordName }
        if owner == nil, request.isQuery { throw queryNeedsZone }
        return owner ?? identity.userRecordName
    }

    private static let severalOwners = ServiceError(
        .invalidArguments,
        "a request for the shared database names zones of several owners; send one for the zones of each")
    private static let queryNeedsZone = ServiceError(
        .invalidArguments, "a query of the shared database needs a zone; send one for each")

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
        case (.private, .anonymous), (.shared, .anonymous):
            .failure(
                ServiceError(
                    .notAuthenticated, "the private and the shared database need an account; connect with its token"))
        // The user's own database lists the zones of others.
        case (.private, .account), (.shared, .account):
            .success(identity.privateDatabase!)
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
