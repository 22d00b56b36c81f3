internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What users do who have the URL of a share.
extension Shard {
    /// The database that a request is for: one of the client's own, or that of the share whose URL the request names.
    func database(for request: DataRequest, of identity: Identity) -> Result<DatabaseID, ServiceError> {
        guard let url = request.shareURL else { return Authorisation.database(for: request.scope, of: identity) }
        let now = loop.nowNanoseconds
        if case .account(let name) = identity.role,
            let refusal = server.shareLinkLimits.refusal(of: name, nowNanoseconds: now)
        {
            return .failure(refusal)
        }
        let database = Authorisation.database(
            atLink: shareURLs.place(url)?.database, for: identity, isServed: server.serves)
        if case .failure = database, case .account(let name) = identity.role {
            server.shareLinkLimits.note(name, nowNanoseconds: now)
        }
        return database
    }

    /// What a request is answered with whose database is none for its client. Who asks for access is not told.
    func outcome(of request: DataRequest, refused error: ServiceError) -> Outcome {
        if case .requestShareAccess = request, error == Share.unknownURL { return .success(.shareAccessRequested) }
        return .failure(error)
    }

    /// What a request that names a share's URL is answered with. On the loop of the share's database.
    func answer(
        toLink request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare
    ) throws(ServiceError) -> Answer {
        guard case .account(let name) = identity.role, let url = request.shareURL, let place = shareURLs.place(url),
            place.database == loaded.database.id
        else { preconditionFailure("a share's URL led to another database") }
        let visitor = try visitor(name, in: place.database)
        let now = loop.nowNanoseconds
        switch request {
        case .shareMetadata(let request):
            do throws(ServiceError) {
                return .shareMetadata(
                    try loaded.database.shareMetadata(
                        place.link, for: visitor, wantsRoot: request.wantsRoot, rootKeys: request.rootKeys))
            } catch {
                server.shareLinkLimits.note(name, nowNanoseconds: now)
                throw error
            }
        case .requestShareAccess:
            server.shareLinkLimits.note(name, nowNanoseconds: now)
            if let refusal = writeRefusal ?? share.undurableRefusal { throw refusal }
            let (outcome, commit) = try loaded.database.requestAccess(
                place.link, by: visitor, nowMilliseconds: wallClockMilliseconds)
            if let commit {
                let origin = ChangeOrigin(identity, in: loaded.database.id)
                guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
            }
            guard outcome != .alreadyInvited else {
                throw ServiceError(
                    .participantAlreadyInvited, "the user takes part in the share, or was invited; accept it")
            }
            return .shareAccessRequested
        case .acceptShare: preconditionFailure("a share is accepted step by step")
        default: preconditionFailure("a request names a share's URL, and is none that can")
        }
    }

    /// The account as a visitor of a database: its user there, and the handles that it has now.
    func visitor(_ name: String, in database: DatabaseID) throws(ServiceError) -> ShareVisitor {
        guard let account = server.accounts.account(named: name) else { throw ServerCore.unknownToken }
        return ShareVisitor(
            user: server.secrets.userRecordName(
                accountID: account.id, container: database.container, environment: database.environment),
            handles: account.handles)
    }
}
