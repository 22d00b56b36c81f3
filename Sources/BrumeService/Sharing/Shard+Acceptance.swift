internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Taking part in a share, which concerns two databases: see ``Database/ask(_:nowMilliseconds:)``.
///
/// 1. The owner's database says whether the user may; otherwise nothing is written.
/// 2. The user's own database notes that it asks.
/// 3. The owner's database decides again, and commits the acceptance.
/// 4. The user's own database lists the zone, and the call is answered.
///
/// Each step waits until the one before is durable. After a crash behind the second the user's database asks again.
extension Shard {
    func accept(_ url: String, _ request: DataRequest, byteCount: Int, to responder: Responder) {
        let identity = responder.client.identity
        let call: AcceptanceCall
        do throws(ServiceError) {
            let database = try self.database(for: request, of: identity).get()
            guard database.container == identity.container else { throw Self.otherContainer }
            guard case .account(let name) = identity.role, let place = shareURLs.place(url) else {
                preconditionFailure("a share's URL led somewhere, and can't be read")
            }
            call = AcceptanceCall(
                place: place, visitor: try visitor(name, in: database), account: name, responder: responder,
                byteCount: byteCount)
        } catch {
            return responder.finish(.failure(error))
        }
        withHome(identity.privateDatabase!, of: responder, byteCount: byteCount) { [self] _ in
            do throws(ServiceError) {
                try call.begin()
            } catch {
                return responder.finish(.failure(error))
            }
            onOwner(call) { (_, loaded) throws(ServiceError) in
                do throws(ServiceError) {
                    try loaded.database.mayAccept(call.place.link, call.visitor)
                    return .mayAccept
                } catch {
                    return .refused(error)
                }
            } then: { [self] decision in
                switch decision {
                case .success(.mayAccept): ask(call)
                case .success(.refused(let error)):
                    server.shareLinkLimits.note(call.account, nowNanoseconds: loop.nowNanoseconds)
                    call.end(.failure(error))
                case .success(.accepted): preconditionFailure("a share was accepted before anybody asked")
                case .failure(let error): call.end(.failure(error))
                }
            }
        }
    }

    private func ask(_ call: AcceptanceCall) {
        inHome(of: call) { [self] loaded in
            do throws(ServiceError) {
                if loaded.database.sharedZones.lists(call.asked) { return commit(call) }
                if let refusal = writeRefusal ?? call.share.undurableRefusal { throw refusal }
                if let commit = try loaded.database.ask(call.asked, nowMilliseconds: wallClockMilliseconds) {
                    guard append(commit, to: loaded, origin: .server, by: call.share) else { throw .databaseLost }
                }
            } catch {
                return call.end(.failure(error))
            }
            gate.whenDurable(loaded.lastPosition, of: loaded) { [self] error in
                if let error { call.end(.failure(error)) } else { commit(call) }
            }
        }
    }

    /// Has the owner's database commit the acceptance.
    private func commit(_ call: AcceptanceCall) {
        onOwner(call) { (shard, loaded) throws(ServiceError) in
            try shard.accept(call, in: loaded)
        } then: { [self] decision in
            list(decision, call)
        }
    }

    /// The owner's database commits the acceptance. On its loop.
    private func accept(_ call: AcceptanceCall, in loaded: LoadedDatabase) throws(ServiceError) -> AcceptanceDecision {
        if let refusal = writeRefusal ?? call.share.undurableRefusal { throw refusal }
        let decision: Decision<Database.Acceptance>
        do throws(ServiceError) {
            decision = try loaded.database.acceptShare(
                call.place.link, by: call.visitor, nowMilliseconds: wallClockMilliseconds)
        } catch {
            return .refused(error)
        }
        if let commit = decision.commit {
            let origin = ChangeOrigin(call.client.identity, in: loaded.database.id)
            guard append(commit, to: loaded, origin: origin, by: call.share) else { throw .databaseLost }
        }
        return .accepted(decision.answer)
    }

    private func list(_ decision: Result<AcceptanceDecision, ServiceError>, _ call: AcceptanceCall) {
        inHome(of: call) { [self] loaded in
            let news: SharedZoneNews
            let outcome: Outcome
            switch decision {
            case .success(.accepted(let acceptance)):
                news = acceptance.news
                outcome = .success(.shareAccepted(acceptance.share))
            case .success(.refused(let error)):
                let owner = call.place.database.owner
                news = SharedZoneNews(
                    id: ZoneID(name: "", owner: owner), incarnation: call.asked.incarnation, zone: nil,
                    sequence: .max, run: 0)
                outcome = .failure(error)
            case .success(.mayAccept): preconditionFailure("an acceptance came to nothing, without a reason")
            case .failure(let error):
                // What the owner's database holds nobody knows now, also of an earlier attempt.
                askLater(call.asked, home: loaded.database.id)
                return call.end(.failure(error))
            }
            guard note(news, in: loaded, HomeMessageCause(account: call.share.key)) else {
                askLater(call.asked, home: loaded.database.id)
                return call.end(.failure(writeRefusal ?? .databaseLost))
            }
            gate.whenDurable(loaded.lastPosition, of: loaded) { error in
                call.end(error.map { .failure($0) } ?? outcome)
            }
        }
    }

    /// Has the user's own database, which stays in memory while its client is there.
    private func inHome(of call: AcceptanceCall, _ body: @escaping (LoadedDatabase) -> Void) {
        databases.withDatabase(call.client.identity.privateDatabase!, of: call.share.key, keepsEmpty: true) { outcome in
            switch outcome {
            case .success(let loaded): body(loaded)
            case .failure(let error): call.end(.failure(error))
            }
        }
    }

    /// Does something in the owner's database, on its loop, and goes on here when what it shows is durable.
    private func onOwner(
        _ call: AcceptanceCall,
        _ body: @escaping @Sendable (Shard, LoadedDatabase) throws(ServiceError) -> AcceptanceDecision,
        then done: @escaping (Result<AcceptanceDecision, ServiceError>) -> Void
    ) {
        let owner = server.shard(of: call.place.database)
        let back = OnLoop(done)
        let give: @Sendable (Result<AcceptanceDecision, ServiceError>) -> Void = { result in
            self.loop.execute { back.body(result) }
        }
        owner.loop.execute {
            owner.takeFarTurn(of: call.client, refuse: { give(.failure($0)) }) {
                owner.databases.withDatabase(
                    call.place.database, of: call.share.key, byteCount: call.byteCount, keepsEmpty: false
                ) { outcome in
                    let loaded: LoadedDatabase
                    switch outcome {
                    case .success(let database): loaded = database
                    case .failure(let error): return give(.failure(error))
                    }
                    if !owner.server.isStillValid(call.client.identity) {
                        return give(.failure(ServerCore.unknownToken))
                    }
                    let result: Result<AcceptanceDecision, ServiceError>
                    do throws(ServiceError) {
                        result = .success(try body(owner, loaded))
                    } catch {
                        result = .failure(error)
                    }
                    owner.gate.whenDurable(loaded.lastPosition, of: loaded) { error in
                        give(error.map { .failure($0) } ?? result)
                    }
                }
            }
        }
    }

    private static let otherContainer = ServiceError(
        .badContainer,
        "the share is of another container; accept it with a client of that one, which its metadata names")
}

/// What an owner's database says to a user who would take part.
private enum AcceptanceDecision {
    case mayAccept
    case accepted(Database.Acceptance)
    /// Whatever kept it from deciding is no refusal.
    case refused(ServiceError)
}

/// A call that accepts a share, on its way between two databases.
///
/// `@unchecked Sendable`: what changes belongs to the loop of its client.
private final class AcceptanceCall: @unchecked Sendable {
    let place: (database: DatabaseID, link: ShareLink)
    let visitor: ShareVisitor
    let account: String
    let byteCount: Int
    private let responder: Responder
    private var detour: Detour?

    init(
        place: (database: DatabaseID, link: ShareLink), visitor: ShareVisitor, account: String, responder: Responder,
        byteCount: Int
    ) {
        self.place = place
        self.visitor = visitor
        self.account = account
        self.responder = responder
        self.byteCount = byteCount
    }

    var client: Client { responder.client }
    var share: ClientShare { client.share }
    var asked: AskedZone { AskedZone(owner: place.database.owner, incarnation: place.link.zone) }

    /// From here on the call waits for both databases.
    func begin() throws(ServiceError) { detour = try Detour(of: client, requestBytes: byteCount) }

    func end(_ outcome: Outcome) {
        detour?.end()
        responder.finish(outcome)
        client.door.resumeIfPossible()
    }
}
