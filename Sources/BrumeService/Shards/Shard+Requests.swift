internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Requests: they run on the loop that owns their database, and are answered when what the answer shows is durable.
extension Shard {
    /// Does what a client of this loop asks of its data.
    ///
    /// - Parameter byteCount: The bytes that the request came in, which count for as long as it is under way.
    package func perform(_ request: DataRequest, byteCount: Int, to responder: Responder) {
        if case .enrolment(let request) = request { return relay(request, to: responder) }
        admit(
            request.withoutOwner(ofOwnZone: responder.client.identity.userRecordName), byteCount: byteCount,
            to: responder)
    }

    /// Does what the operator asks for.
    package func perform(_ request: AdminRequest, from origin: OperatorOrigin, to responder: Responder) {
        if let problem = Authorisation.problemWithAdministration(by: responder.client.identity) {
            return responder.refuse(problem)
        }
        if case .figures = request { return collectAllFigures(to: responder) }
        server.administer(request, from: origin, to: responder, on: loop)
    }

    /// Says how the server is.
    package func checkHealth(to responder: Responder) {
        responder.finish(.success(.health(server.health(at: loop.nowNanoseconds))))
    }

    /// Hands the request to the shard of its database.
    func route(_ request: DataRequest, byteCount requestBytes: Int, to responder: Responder) {
        let client = responder.client
        var ticket: QueryTicket?
        if request.isQuery {
            do throws(ServiceError) {
                ticket = try client.beginQuery(responder.call)
            } catch {
                return responder.refuse(error)
            }
        }
        let identity = client.identity
        if !client.hasUserRecords, request.leavesTrace(for: identity) { noteTrace(of: client) }
        // Most requests are for the client's own database, which belongs to this loop and stays while the client does.
        if request.scope == .private, let home = client.home, databases.isUsable(home), request.shareURL == nil {
            return serve(request, ticket: ticket, byteCount: requestBytes, in: home, to: responder)
        }
        if request.scope == .shared {
            return routeShared(request, ticket: ticket, byteCount: requestBytes, to: responder)
        }
        if case .acceptShare(let url) = request {
            return accept(url, request, byteCount: requestBytes, to: responder)
        }
        let id: DatabaseID
        switch database(for: request, of: identity) {
        case .success(let database): id = database
        case .failure(let error): return responder.finish(outcome(of: request, refused: error))
        }
        let owner = request.shareURL == nil ? server.shard(at: identity.placement(of: id)) : server.shard(of: id)
        send(request, ticket: ticket, byteCount: requestBytes, in: id, on: owner, to: responder)
    }

    /// Has a request served in a database, on the loop that owns it.
    func send(
        _ request: DataRequest, ticket: QueryTicket?, byteCount requestBytes: Int, in id: DatabaseID, on owner: Shard,
        to responder: Responder
    ) {
        let client = responder.client
        let identity = client.identity
        if owner === self {
            switch databases.access(id, of: client.share.key, keepsEmpty: request.keepsEmptyDatabase(of: identity)) {
            case .loaded(let loaded):
                if client.home == nil, identity.privateDatabase == id { settle(client, in: loaded) }
                return serve(request, ticket: ticket, byteCount: requestBytes, in: loaded, to: responder)
            case .unavailable(let error): return responder.finish(.failure(error))
            case .loading(let load):
                return wait(for: load, request, ticket: ticket, byteCount: requestBytes, to: responder)
            }
        }
        let share = client.share
        if let refusal = share.inputRefusal { return responder.finish(.failure(refusal)) }
        // A request under way counts as output too, since its answer will be output.
        client.heldByteCount += ServiceLimits.travellingBytes
        let input = share.input.hold(requestBytes)
        let giveBack: @Sendable (Outcome, Int) -> Void = { outcome, output in
            share.input.change(by: -input)
            self.loop.execute {
                share.output.change(by: -output)
                client.heldByteCount -= ServiceLimits.travellingBytes
                let began = self.loop.currentNanoseconds
                responder.finish(outcome)
                // Encoding a large answer takes time here that the loop of the database did not charge.
                client.timeShare.spend(
                    from: began, to: self.loop.currentNanoseconds, count: 0, inTurn: self.turnNumber)
                client.door.resumeIfPossible()
            }
        }
        owner.loop.execute { [ticket] in
            owner.takeFarTurn(of: client, refuse: { giveBack(.failure($0), 0) }) {
                owner.perform(
                    request, ticket: ticket, byteCount: requestBytes, in: id, identity: identity, share: share,
                    giveBack)
            }
        }
    }

    /// Runs a request of a client of this loop on a database of this loop, and answers when what the answer shows is
    /// durable.
    func serve(
        _ request: DataRequest, ticket: QueryTicket?, byteCount: Int, in loaded: LoadedDatabase,
        to responder: Responder
    ) {
        let client = responder.client
        if request.maySetUpShares || request.hasReceipts {
            // It may take some turns, and be held as long.
            guard let detour = detour(of: responder, byteCount: byteCount) else { return }
            return runWithAssets(request, in: loaded, identity: client.identity, share: client.share) {
                [self] outcome, position in
                detour.end()
                gate.whenDurable(position, of: loaded, outcome, to: responder)
                client.door.resumeIfPossible()
            }
        }
        if let ticket {
            return run(request, in: loaded, identity: client.identity, share: client.share, ticket: ticket) {
                [self] outcome, position in
                gate.whenDurable(position, of: loaded, outcome, to: responder)
            }
        }
        let (outcome, position) = run(request, in: loaded, identity: client.identity, share: client.share)
        gate.whenDurable(position, of: loaded, outcome, to: responder)
    }

    /// A request of a client of this loop, to a database that is being loaded.
    private func wait(
        for load: DatabaseLoad, _ request: DataRequest, ticket: QueryTicket?, byteCount: Int, to responder: Responder
    ) {
        let client = responder.client
        let share = client.share
        if let refusal = share.inputRefusal { return responder.finish(.failure(refusal)) }
        // A waiting request counts as output, since its answer will be output.
        let held = byteCount + ServiceLimits.travellingBytes
        client.heldByteCount += held
        let input = share.input.hold(byteCount)
        perform(
            request, ticket: ticket, byteCount: byteCount, in: load.id, identity: client.identity, share: share
        ) { outcome, output in
            share.input.change(by: -input)
            share.output.change(by: -output)
            client.heldByteCount -= held
            responder.finish(outcome)
            client.door.resumeIfPossible()
        }
    }

    /// Runs a request on the loop that owns the database, when that is loaded, and gives the outcome when what it shows
    /// is durable.
    ///
    /// - Parameters:
    ///   - share: Counts the answer's bytes from the moment the answer is made. If it counts too many already, the
    ///     request is refused.
    ///   - give: Called once, with the bytes that the share counts for the answer.
    private func perform(
        _ request: DataRequest, ticket: QueryTicket?, byteCount: Int, in id: DatabaseID, identity: Identity,
        share: ClientShare, _ give: @escaping (Outcome, Int) -> Void
    ) {
        let keepsEmpty = request.keepsEmptyDatabase(of: identity)
        var hasWaited = false
        defer { hasWaited = true }
        databases.withDatabase(id, of: share.key, byteCount: byteCount, keepsEmpty: keepsEmpty) { [self] outcome in
            // The token may have been revoked meanwhile, or the account removed with its data.
            if hasWaited, !server.isStillValid(identity) { return give(.failure(ServerCore.unknownToken), 0) }
            let loaded: LoadedDatabase
            switch outcome {
            case .success(let database): loaded = database
            case .failure(let error): return give(.failure(error), 0)
            }
            if let refusal = share.outputRefusal { return give(.failure(refusal), 0) }
            run(request, in: loaded, identity: identity, share: share, ticket: ticket) { [self] outcome, position in
                let output = share.output.hold(outcome.heldByteCount)
                gate.whenDurable(position, of: loaded, outcome.compact) { give($0, output) }
            }
        }
    }

    /// Runs a request on the loop that owns the database: at once, except for queries, what shares many records, and
    /// what names assets that have to be looked for: those may take more turns than this one.
    ///
    /// - Parameters:
    ///   - ticket: The query's ticket; nil for any other request.
    ///   - give: Called once. The outcome may be given to the client when `position` is durable.
    private func run(
        _ request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare,
        ticket: QueryTicket?, _ give: @escaping (_ outcome: Outcome, _ position: UInt64) -> Void
    ) {
        switch request {
        case .query(let query):
            startQuery(query, explains: false, in: loaded, identity: identity, ticket: ticket!, give)
        case .explainQuery(let query):
            startQuery(query, explains: true, in: loaded, identity: identity, ticket: ticket!, give)
        default: runWithAssets(request, in: loaded, identity: identity, share: share, give)
        }
    }

    func run(
        _ request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare
    ) -> (outcome: Outcome, position: UInt64) {
        let id = loaded.database.id
        do throws(ServiceError) {
            var operation = Operation()
            if let (operationID, digest, kind) = request.operation {
                operation = Operation(key: Self.operationKey(operationID, in: id, identity: identity), digest: digest)
                operation.user = identity.owns(id) ? "" : identity.userRecordName
                // A user who takes no part any more is told nothing, not even of what they did.
                let isForgotten = !request.isOfCaller(identity, in: loaded.database)
                switch isForgotten
                    ? nil : loaded.database.rememberedOperation(operation.key, digest: digest, user: operation.user)
                {
                case .outcome(let outcome, let encoded)? where outcome.kind == kind:
                    if case .records(let results) = outcome, let zones = request.sharedZones {
                        let caller = try Authorisation.grantOfShared(in: id, to: identity)
                        guard loaded.database.stillShows(results, of: zones, to: caller) else { throw Self.goneOutcome }
                    }
                    return (.success(answer(outcome, encoded: encoded, in: loaded.database)), loaded.lastPosition)
                // These failures reveal a commit too, so they wait for the disk.
                case .outcome?, .otherRequest?: throw Self.reusedOperationID
                case .unreadable?: throw Self.lostOutcome
                case nil: break
                }
            }
            // This refusal reveals no commit, so it waits for none.
            if request.isWrite, let refusal = writeRefusal ?? share.undurableRefusal,
                !isKept(request, in: loaded, identity: identity)
            {
                return (.failure(refusal), 0)
            }
            let answer = try answer(request, in: loaded, identity: identity, share: share, operation: operation)
            return (.success(answer), loaded.lastPosition)
        } catch {
            // A failure may reveal a commit too: that a zone is gone, or that a token is ahead.
            return (.failure(error), loaded.lastPosition)
        }
    }

    /// Whether a request came before, as far as the database remembers: then it is answered and not done.
    func isRemembered(_ request: DataRequest, in loaded: LoadedDatabase, identity: Identity) -> Bool {
        guard let (id, digest, _) = request.operation, !id.isEmpty else { return false }
        let key = Self.operationKey(id, in: loaded.database.id, identity: identity)
        let user = identity.owns(loaded.database.id) ? "" : identity.userRecordName
        return loaded.database.rememberedOperation(key, digest: digest, user: user) != nil
    }

    /// The key that an operation is remembered under, empty if it is not remembered, and the digest that its request is
    /// compared by.
    struct Operation {
        var key: [UInt8] = []
        var digest: OperationDigest?
        /// The user who sent it; empty for the owner of a private database.
        var user = ""
    }

    private static let reusedOperationID = ServiceError(
        .invalidArguments,
        "the operation id came before with another request, and nothing of this one was done; give each request an id"
            + " of its own, and send the same bytes again only to repeat it")

    private static let goneOutcome = ServiceError(
        .serverResponseLost,
        "the operation was done, and some of what it came to is not shared with this user any more; fetch to see what"
            + " is left")

    private static let lostOutcome = ServiceError(
        .serverResponseLost,
        "the operation was done, and what it did was kept by another version of the server: fetch to see it")

    /// The key that an operation is remembered under: its id. In a database that is not the caller's own the caller is
    /// part of the key, so that nobody gets the answer to somebody else's operation.
    private static func operationKey(_ id: [UInt8], in database: DatabaseID, identity: Identity) -> [UInt8] {
        if id.isEmpty || identity.owns(database) { return id }
        return Array(SHA256.digest(id + Array(identity.userRecordName.utf8)).prefix(16))
    }
}
