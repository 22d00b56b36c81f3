internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Requests for the shared database: zones of others in which the client's user takes part.
///
/// The user's own database lists these zones. What is not on the list is answered at once as what does not exist, so
/// that nobody has another's database loaded, or learns by the time that it takes, by guessing. What is on it the
/// owner's database decides, each time anew.
extension Shard {
    func routeShared(_ request: DataRequest, ticket: QueryTicket?, byteCount: Int, to responder: Responder) {
        let identity = responder.client.identity
        let home: DatabaseID
        let owner: String?
        do throws(ServiceError) {
            home = try Authorisation.database(for: .private, of: identity).get()
            owner = try Authorisation.owner(ofZonesIn: request, for: identity)
        } catch {
            return responder.finish(.failure(error))
        }
        withHome(home, of: responder, byteCount: byteCount) { [self] loaded in
            guard let owner else {
                guard case .databaseChanges = request else {
                    return serve(request, ticket: nil, byteCount: byteCount, in: loaded, to: responder)
                }
                return passBarrier(of: loaded, responder, byteCount: byteCount) { [self] in
                    withHome(home, of: responder, byteCount: byteCount) { [self] loaded in
                        serve(request, ticket: nil, byteCount: byteCount, in: loaded, to: responder)
                    }
                }
            }
            let id = home.privateDatabase(of: owner)
            let zones = request.sharedZones ?? []
            guard
                zones.contains(where: { loaded.database.sharedZones.zone(ZoneID(name: $0.name, owner: owner)) != nil })
            else {
                if case .modifyRecords(let modification) = request,
                    let results = loaded.database.resultsInZonesLeft(modification, of: owner)
                {
                    return gate.whenDurable(
                        loaded.lastPosition, of: loaded, .success(.recordsModified(results)), to: responder)
                }
                return serve(request, ticket: ticket, byteCount: byteCount, in: nothing(of: id), to: responder)
            }
            send(request, ticket: ticket, byteCount: byteCount, in: id, on: server.shard(of: id), to: responder)
        }
    }

    /// A database that holds nothing, in the place of one that the client may not ask: so that both give the same
    /// answers.
    private func nothing(of id: DatabaseID) -> LoadedDatabase {
        makeLoaded(Database(id: id, epoch: 0), storage: nil, savedSequence: 0)
    }

    /// Calls `body` with the client's own database, now or when it is loaded.
    func withHome(
        _ id: DatabaseID, of responder: Responder, byteCount: Int, _ body: @escaping (LoadedDatabase) -> Void
    ) {
        let client = responder.client
        if let home = client.home, databases.isUsable(home) { return body(home) }
        let share = client.share
        switch databases.access(id, of: share.key) {
        case .loaded(let loaded):
            settle(client, in: loaded)
            body(loaded)
        case .unavailable(let error): responder.finish(.failure(error))
        case .loading(let load):
            guard let detour = detour(of: responder, byteCount: byteCount) else { return }
            let refusal = databases.wait(for: load, of: share.key, byteCount: byteCount) { [self] outcome in
                goOn(after: detour, refuse: { responder.finish(.failure($0)) }) {
                    switch outcome {
                    case .success(let loaded): body(loaded)
                    case .failure(let error): responder.finish(.failure(error))
                    }
                }
            }
            guard let refusal else { return }
            detour.end()
            responder.finish(.failure(refusal))
        }
    }

    /// Begins to wait elsewhere; nil if the call is refused because the account's requests hold too much.
    func detour(of responder: Responder, byteCount: Int) -> Detour? {
        do throws(ServiceError) {
            return try Detour(of: responder.client, requestBytes: byteCount)
        } catch {
            responder.finish(.failure(error))
            return nil
        }
    }

    /// Calls `body` when this loop has heard of all that was durable before in the zones of others that a user's
    /// database lists: what is told of a commit and the answer to a barrier come in one queue.
    private func passBarrier(
        of home: LoadedDatabase, _ responder: Responder, byteCount: Int, _ body: @escaping () -> Void
    ) {
        let id = home.database.id
        var shards = Set<Int>()
        for owner in Set(home.database.sharedZones.zones.map(\.id.owner)) where shards.count < server.shards.count {
            shards.insert(server.shard(of: id.privateDatabase(of: owner)).index)
        }
        if shards.isEmpty { return body() }
        guard let detour = detour(of: responder, byteCount: byteCount) else { return }
        let barrier = Barrier(count: shards.count) { [self] in
            goOn(after: detour, refuse: { responder.finish(.failure($0)) }, body)
        }
        for index in shards.sorted() {
            let shard = server.shards[index]
            shard.loop.execute { [loop] in loop.execute { barrier.passed() } }
        }
    }

    /// Counts answers, on one loop.
    private final class Barrier: @unchecked Sendable {
        private var left: Int
        private let done: () -> Void

        init(count: Int, _ done: @escaping () -> Void) {
            left = count
            self.done = done
        }

        func passed() {
            left -= 1
            if left == 0 { done() }
        }
    }

    // MARK: Answers

    /// The changes of the shared database, in the user's own one.
    func sharedChanges(
        _ request: DatabaseChangesRequest, in database: Database
    ) throws(ServiceError) -> DatabaseChangesPage<[UInt8]> {
        let scope = sharedSealer.scope(database.id)
        let token = try sharedSealer.open(request.token, scope: scope)
        let page = try database.sharedDatabaseChanges(
            since: token, touches: touchTable.touches(of: database.id, run: database.run),
            resultsLimit: request.resultsLimit)
        return DatabaseChangesPage(
            changed: page.changed, deletions: page.deletions.map { .init(zone: $0.zone, reason: $0.reason) },
            token: sharedSealer.seal(page.token, scope: scope), moreComing: page.moreComing,
            earlierDeletions: page.earlierDeletions.map { .init(zone: $0.zone, reason: $0.reason) })
    }
}
