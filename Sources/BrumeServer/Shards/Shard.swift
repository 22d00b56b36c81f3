internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire

/// One event loop and all that it owns: its databases and the sessions whose private database is among them.
///
/// A turn: requests run and commit in memory; when the turn ends, all its commits go to the journal's thread at once; when
/// they are durable, the answers that waited are given, then the pushes.
///
/// `@unchecked Sendable`: everything belongs to `loop`. Other threads use `loop.execute` only.
final class Shard: @unchecked Sendable {
    let index: Int
    let loop: EventLoop
    let coder = MessageCoder()
    let sealer: TokenSealer

    let server: ServerCore
    /// Databases whose snapshot on disk is damaged.
    private var unloadable: Set<DatabaseID> = []
    var databases = LoadedDatabases()
    /// Databases with commits that their snapshots don't have, each once.
    var changed: [DatabaseID] = []
    private var sessions: [ObjectIdentifier: Session] = [:]
    /// Whether something changed since the last look at what could be dropped.
    var mayDrop = false
    var isSavingToDrop = false
    var nextSaveToDropNanoseconds: UInt64 = 0
    var nextBudgetWarningNanoseconds: UInt64 = 0
    private var refusals = LogThrottle(linesPerSecond: ServerLimits.refusalLinesPerSecond)

    /// Where commits go. Set before the loop runs.
    private(set) var log: ShardLog!

    /// What waits for the disk, in the order of positions.
    private var waiting: [(position: UInt64, action: () -> Void)] = []
    private var firstWaiting = 0
    /// Bytes of the answers among them.
    private var heldByteCount = 0

    init(index: Int, loop: EventLoop, server: ServerCore) {
        self.index = index
        self.loop = loop
        self.server = server
        sealer = TokenSealer(key: server.secrets.key)
    }

    /// Gives the shard its log and opens what recovery replayed. Before the loop runs.
    func prepare(_ log: ShardLog) throws(StoreError) {
        self.log = log
        for id in log.adoptedIDs {
            let database = try log.open(id)
            let loaded = loaded(database, snapshotSequence: log.neededSnapshot(id) ? 0 : database.sequence)
            keep(loaded)
            if database.sequence > loaded.snapshotSequence { noteChange(of: loaded) }
        }
        loop.turnEnded = { [unowned self] in
            self.log.submit()
            if mayDrop { dropIdleDatabases() }
        }
        sweepLater()
    }

    // MARK: Databases

    /// The database, loaded from its snapshot when it isn't in memory; a new one when it has none.
    ///
    /// - Parameter keepsEmpty: Whether a new one is kept. A reader without an account could name any number of containers, and
    ///   would fill the memory with databases of nothing.
    func database(_ id: DatabaseID, keepsEmpty: Bool = true) throws(ServiceError) -> LoadedDatabase {
        if let known = databases.use(id) { return known }
        if unloadable.contains(id) { throw Self.unloadableDatabase }
        do throws(StoreError) {
            let database = try log.open(id)
            let loaded = loaded(database, snapshotSequence: database.sequence)
            if database.sequence > 0 || keepsEmpty { keep(loaded) }
            return loaded
        } catch {
            // A damaged snapshot stays as it is: its owner gets an error, the operator a line that names the file.
            // It is looked at again after the next start; one that the disk did not give, at the next use.
            server.log.error("a database can't be loaded", [("reason", "\(error)")])
            if case .disk = error {} else { unloadable.insert(id) }
            throw Self.unloadableDatabase
        }
    }

    private static let unloadableDatabase = ServiceError(
        .internalError, "the database can't be loaded; the server's log says why", retryAfterMilliseconds: 60_000)

    private func keep(_ loaded: LoadedDatabase) {
        databases.insert(loaded)
        measure(loaded)
    }

    private func loaded(_ database: Database, snapshotSequence: UInt64) -> LoadedDatabase {
        LoadedDatabase(
            database: database,
            hub: NotificationHub(
                database: database, head: .end(ofSequence: database.sequence), sealer: sealer, coder: coder,
                backlogEvents: server.configuration.backlogEvents),
            snapshotSequence: snapshotSequence)
    }

    // MARK: Commits

    /// Takes a commit: it goes to the journal at the end of the turn, and is published when it is durable.
    func append(_ commit: Commit, to loaded: LoadedDatabase, origin: [UInt8]) {
        loaded.lastPosition = log.append(commit.entry)
        noteChange(of: loaded)
        measure(loaded)
        let matches = loaded.database.matchingSubscriptions(for: commit)
        if matches.isEmpty { return }
        let publication = NotificationHub.Publication(
            sequence: commit.sequence, origin: origin, committedMilliseconds: commit.entry.committedMilliseconds,
            matches: matches)
        whenDurable(loaded.lastPosition) { loaded.hub.publish(publication) }
    }

    /// Runs `action` when everything up to the position is on disk: at once if it is.
    func whenDurable(_ position: UInt64, _ action: @escaping () -> Void) {
        if position <= log.durablePosition { return action() }
        // Almost always behind all that waits; a read of another database may belong further to the front.
        var index = waiting.count
        while index > firstWaiting, waiting[index - 1].position > position { index -= 1 }
        waiting.insert((position, action), at: index)
    }

    /// Gives a reply when everything up to the position is on disk, however long that takes: a caller who can't wait has a
    /// deadline, and may ask again. Replies that wait are bounded; the one that would be too much is a refusal at once.
    func whenDurable(_ position: UInt64, reply: Reply, _ give: @escaping (Reply) -> Void) {
        if position <= log.durablePosition { return give(reply) }
        let byteCount = reply.heldByteCount
        guard heldByteCount + byteCount <= ServerLimits.heldAnswerBytes else {
            return give(
                .failure(
                    log.writeRefusal
                        ?? ServiceError(
                            .serviceUnavailable, "the disk is behind; try again shortly", retryAfterMilliseconds: 1_000)
                ))
        }
        heldByteCount += byteCount
        whenDurable(position) { [self] in
            heldByteCount -= byteCount
            give(reply)
        }
    }

    /// The journal's thread has synced everything up to the position.
    func becameDurable(_ position: UInt64) {
        log.becameDurable(position)
        while firstWaiting < waiting.count, waiting[firstWaiting].position <= log.durablePosition {
            let action = waiting[firstWaiting].action
            waiting[firstWaiting].action = {}
            firstWaiting += 1
            action()
        }
        if firstWaiting * 2 > waiting.count {
            waiting.removeFirst(firstWaiting)
            firstWaiting = 0
        }
    }

    // MARK: Sessions

    func add(_ session: Session) { sessions[ObjectIdentifier(session)] = session }

    func remove(_ session: Session) {
        sessions[ObjectIdentifier(session)] = nil
        session.home?.sessionCount -= 1
        session.home = nil
    }

    /// The session's hello is done and its data is here: makes the user's records if this is their first visit.
    func arrived(_ session: Session) {
        guard let database = session.identity.privateDatabase else { return }
        let user = session.identity.userRecordName
        // One that can't be loaded is told when it is asked for.
        if let loaded = try? self.database(database) {
            loaded.sessionCount += 1
            session.home = loaded
        }
        ensureUserRecord(of: user, in: database)
        let publicDatabase = session.identity.publicDatabase
        let owner = server.shard(of: publicDatabase)
        if owner === self {
            ensureUserRecord(of: user, in: publicDatabase)
        } else {
            owner.loop.execute { owner.ensureUserRecord(of: user, in: publicDatabase) }
        }
    }

    private func ensureUserRecord(of user: String, in id: DatabaseID) {
        guard log.writeRefusal == nil, let loaded = try? database(id) else { return }
        if let commit = loaded.database.ensureUserRecord(named: user, nowMilliseconds: loop.wallClockMilliseconds) {
            append(commit, to: loaded, origin: [])
        }
    }

    private func sweepLater() {
        _ = loop.schedule(afterMilliseconds: ServerLimits.sweepMilliseconds) { [unowned self] in
            for session in Array(sessions.values) { session.timePassed() }
            mayDrop = true
            sweepLater()
        }
    }

    /// Closes the sessions of an account whose tokens were revoked.
    func revoke(accountName: String) {
        for session in Array(sessions.values) where session.identity?.role == .account(name: accountName) {
            session.revoked()
        }
    }

    /// A line about a peer that was refused, unless there were too many of them.
    func logRefusal(peer: String, _ status: CallStatus) {
        guard let leftOut = refusals.admit(nowNanoseconds: loop.nowNanoseconds) else { return }
        server.log.info(
            "connection refused",
            [("peer", peer), ("code", String(status.code)), ("reason", status.message)]
                + (leftOut > 0 ? [("leftOut", String(leftOut))] : []))
    }

    // MARK: Stop

    /// Tells all sessions that the server is about to stop.
    func drain() {
        for session in Array(sessions.values) { session.drain() }
    }

    /// Calls in flight, and answers that wait for the disk.
    var unfinishedCount: Int {
        sessions.values.reduce(waiting.count - firstWaiting) { $0 + $1.unaryCallCount }
    }

    func closeSessions() {
        for session in Array(sessions.values) { session.close() }
    }
}
