internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Empties databases, one after the other. Users may go on meanwhile: what they save afterwards stays.
///
/// `@unchecked Sendable`: belongs to the admin loop; the shards get single databases and answer there.
final class DatabaseEmptying: @unchecked Sendable {
    typealias Done = @Sendable (Result<ResetSummary, ServiceError>) -> Void

    private unowned let server: ServerCore
    /// Whether what the databases still know of their user goes as well: nobody will come back.
    private let forgets: Bool
    private let done: Done
    private var ids: [DatabaseID] = []
    private var summary = ResetSummary(databases: 0, records: 0)

    init(server: ServerCore, forgets: Bool = false, _ done: @escaping Done) {
        self.server = server
        self.forgets = forgets
        self.done = done
    }

    /// Begins with the databases of a container's development environment. On the admin loop.
    func start(container: String) {
        let saved: Set<DatabaseID>
        do throws(StoreError) {
            saved = Set(try server.logs.databases(of: container, .development))
        } catch {
            server.log.error("the databases can't be listed", [("reason", "\(error)")])
            return done(.failure(Self.failure))
        }
        server.loadedDatabases {
            $0.container == container && $0.environment == .development
        } then: { [self] loaded in
            start(saved.union(loaded))
        }
    }

    /// Begins with those of `databases` that are in memory or in the log. On the admin loop.
    func start(anyOf databases: Set<DatabaseID>) {
        server.loadedDatabases {
            databases.contains($0)
        } then: { [self] loaded in
            start(loaded.union(databases.filter { server.logs.holds($0) }))
        }
    }

    private func start(_ databases: Set<DatabaseID>) {
        // In a fixed order, so that a run can be repeated.
        ids = databases.sorted {
            ($0.scope.rawValue, $0.owner, $0.container, $0.environment.rawValue)
                > ($1.scope.rawValue, $1.owner, $1.container, $1.environment.rawValue)
        }
        next()
    }

    private static let failure = ServiceError(
        .serviceUnavailable, "not all databases could be emptied, and the server's log says why: try again",
        retryAfterMilliseconds: 1_000)

    private func next() {
        guard let id = ids.popLast() else { return done(.success(summary)) }
        let shard = server.shard(of: id)
        shard.loop.execute { [self] in
            shard.empty(id, forgets: forgets) { result in
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
}

extension ServerCore {
    /// Finds the databases in memory that match; `done` is called on the admin loop, which this is called on.
    func loadedDatabases(
        _ matches: @escaping @Sendable (DatabaseID) -> Bool, then done: @escaping @Sendable (Set<DatabaseID>) -> Void
    ) {
        let found = Found(loopsLeft: shards.count)
        for shard in shards {
            shard.loop.execute { [self] in
                var ids: [DatabaseID] = []
                shard.databases.forEach { if matches($0.database.id) { ids.append($0.database.id) } }
                adminLoop.execute { [ids] in
                    found.ids.formUnion(ids)
                    found.loopsLeft -= 1
                    if found.loopsLeft == 0 { done(found.ids) }
                }
            }
        }
    }

    /// `@unchecked Sendable`: the admin loop alone uses it.
    private final class Found: @unchecked Sendable {
        var ids: Set<DatabaseID> = []
        var loopsLeft: Int

        init(loopsLeft: Int) { self.loopsLeft = loopsLeft }
    }
}

extension Shard {
    /// Empties a database, a part in each turn; `done` is called with the number of records when all is durable.
    func empty(
        _ id: DatabaseID, forgets: Bool, _ done: @escaping @Sendable (Result<Int, ServiceError>) -> Void
    ) {
        databases.withDatabase(id, of: .operator, keepsEmpty: false) { [self] outcome in
            switch outcome {
            case .failure(let error): done(.failure(error))
            case .success(let loaded):
                loaded.slicedWorkCount += 1
                let end: (Result<Int, ServiceError>) -> Void = { result in
                    loaded.slicedWorkCount -= 1
                    done(result)
                }
                let empty: (ServiceError?) -> Void = { [self] error in
                    if let error { return end(.failure(error)) }
                    emptyMore(loaded, loaded.database.beginEmptying(), 0, forgets: forgets, end)
                }
                if forgets { leaveAll(loaded, then: empty) } else { empty(nil) }
            }
        }
    }

    private func emptyMore(
        _ loaded: LoadedDatabase, _ emptying: Emptying, _ records: Int, forgets: Bool,
        _ done: @escaping (Result<Int, ServiceError>) -> Void
    ) {
        if let refusal = writeRefusal { return done(.failure(refusal)) }
        if loaded.isLost { return done(.failure(.databaseLost)) }
        var emptying = emptying
        guard let (commit, count) = loaded.database.empty(&emptying, nowMilliseconds: wallClockMilliseconds) else {
            if forgets {
                for commit in loaded.database.forgetUser(nowMilliseconds: wallClockMilliseconds) {
                    if !append(commit, to: loaded, origin: .server, by: nil) { break }
                }
            }
            return gate.whenDurable(loaded.lastPosition, of: loaded) { error in
                done(error.map { .failure($0) } ?? .success(records))
            }
        }
        if let commit { append(commit, to: loaded, origin: .server, by: nil) }
        let next = OnLoop<Void> { [self, emptying] in
            emptyMore(loaded, emptying, records + count, forgets: forgets, done)
        }
        loop.execute { next.body(()) }
    }
}
