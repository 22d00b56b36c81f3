internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Empties the databases of a container's development environment, one after the other. Users may go on meanwhile: what
/// they save afterwards stays.
///
/// `@unchecked Sendable`: belongs to the admin loop; the shards get single databases and answer there.
final class DatabaseEmptying: @unchecked Sendable {
    typealias Done = @Sendable (Result<ResetSummary, ServiceError>) -> Void

    private unowned let server: ServerCore
    private let container: String
    private let done: Done
    private var ids: [DatabaseID] = []
    private var summary = ResetSummary(databases: 0, records: 0)
    private var shardsLeft = 0

    init(server: ServerCore, container: String, _ done: @escaping Done) {
        self.server = server
        self.container = container
        self.done = done
    }

    /// On the admin loop.
    func start() {
        var known = Set<DatabaseID>()
        do throws(StoreError) {
            known.formUnion(try server.schemas.databases(of: container, .development))
        } catch {
            server.log.error("the snapshots can't be listed", [("reason", "\(error)")])
            return done(.failure(Self.failure))
        }
        shardsLeft = server.shards.count
        let found = Found(ids: known)
        for shard in server.shards {
            shard.loop.execute { [self] in
                let loaded = shard.loadedDatabases(of: container, .development)
                server.adminLoop.execute { [self] in
                    found.ids.formUnion(loaded)
                    shardsLeft -= 1
                    guard shardsLeft == 0 else { return }
                    // In a fixed order, so that a run can be repeated.
                    ids = found.ids.sorted { ($0.scope.rawValue, $0.owner) > ($1.scope.rawValue, $1.owner) }
                    next()
                }
            }
        }
    }

    private static let failure = ServiceError(
        .serviceUnavailable, "not all databases could be emptied; the server's log says why: reset again",
        retryAfterMilliseconds: 1_000)

    private func next() {
        guard let id = ids.popLast() else { return done(.success(summary)) }
        let shard = server.shard(of: id)
        shard.loop.execute { [self] in
            shard.empty(id) { result in
                self.server.adminLoop.execute { [self] in
                    switch result {
                    case .success(let records):
                        summary.databases += 1
                        summary.records += records
                        next()
                    case .failure(let error): done(.failure(error))
                    }
                }
            }
        }
    }

    /// On the admin loop only.
    private final class Found: @unchecked Sendable {
        var ids: Set<DatabaseID>

        init(ids: Set<DatabaseID>) { self.ids = ids }
    }
}

extension Shard {
    func loadedDatabases(of container: String, _ environment: Environment) -> [DatabaseID] {
        var found: [DatabaseID] = []
        databases.forEach { loaded in
            let id = loaded.database.id
            if id.container == container, id.environment == environment { found.append(id) }
        }
        return found
    }

    /// Empties a database, a part in each turn; `done` is called with the number of records when all is durable.
    func empty(_ id: DatabaseID, _ done: @escaping @Sendable (Result<Int, ServiceError>) -> Void) {
        databases.withDatabase(id, of: .operator, keepsEmpty: false) { [self] outcome in
            switch outcome {
            case .failure(let error): done(.failure(error))
            case .success(let loaded):
                loaded.slicedWorkCount += 1
                emptyMore(loaded, loaded.database.beginEmptying(), 0) { result in
                    loaded.slicedWorkCount -= 1
                    done(result)
                }
            }
        }
    }

    private func emptyMore(
        _ loaded: LoadedDatabase, _ emptying: Emptying, _ records: Int,
        _ done: @escaping (Result<Int, ServiceError>) -> Void
    ) {
        if let refusal = log.writeRefusal { return done(.failure(refusal)) }
        var emptying = emptying
        guard let (commit, count) = loaded.database.empty(&emptying, nowMilliseconds: wallClockMilliseconds) else {
            return gate.whenDurable(loaded.lastPosition) { done(.success(records)) }
        }
        if let commit { append(commit, to: loaded, origin: [], by: nil) }
        let next = OnLoop<Void> { [self, emptying] in emptyMore(loaded, emptying, records + count, done) }
        loop.execute { next.body(()) }
    }
}
