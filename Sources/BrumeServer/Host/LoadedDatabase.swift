internal import BrumeModel
internal import BrumeStore

/// A database in the memory of the shard that owns it.
final class LoadedDatabase {
    let database: Database
    let hub: NotificationHub
    /// What it holds, for the quota of its account; nil for a public one, and for one that is not kept.
    let storage: DatabaseStorage?
    /// The position of the database's last commit among the shard's submissions. Whatever shows that commit waits until
    /// the position is durable.
    var lastPosition: UInt64 = 0
    /// The sequence that its snapshot on disk holds.
    var snapshotSequence: UInt64
    /// Whether the shard's list of changed databases has it.
    var isListedAsChanged = false
    /// Whether the shard's list of databases whose indexes are behind has it.
    var isListedAsBehind = false
    /// Whose changes its indexes have yet to take over.
    var indexDebts = IndexDebts()
    /// Sessions of its owner: while there are any it stays in memory.
    var sessionCount = 0
    /// Whether calls that came while it was being loaded still wait.
    var isAwaited = false
    /// Work on it that takes several turns: queries, and its emptying.
    var slicedWorkCount = 0

    /// Record types whose records were scanned for a schema that did not know them.
    private var taughtTypes: Set<String> = []
    /// Record types whose records are being scanned, and the callbacks that wait for the result.
    private var lessons: [String: [(SchemaLesson) -> Void]] = [:]

    /// Whether ``startLesson(ofType:_:)`` would begin no scan, because the type was asked for before.
    func isTeaching(_ type: String) -> Bool { lessons[type] != nil || taughtTypes.contains(type) }

    /// Learns from the records about a type. If the type was scanned before, `done` gets an empty lesson at once.
    ///
    /// - Returns: A scan that the caller has to continue and to end; nil when there is nothing to scan, or a scan of
    ///   the type is already running.
    func startLesson(ofType type: String, _ done: @escaping (SchemaLesson) -> Void) -> LessonScan? {
        if lessons[type] != nil {
            lessons[type]!.append(done)
            return nil
        }
        if taughtTypes.contains(type) {
            done(SchemaLesson())
            return nil
        }
        lessons[type] = [done]
        return LessonScan(type: type)
    }

    func endLesson(_ scan: LessonScan) {
        if taughtTypes.count >= ServerLimits.taughtTypes { taughtTypes.removeAll() }
        taughtTypes.insert(scan.type)
        for done in lessons.removeValue(forKey: scan.type) ?? [] { done(scan.lesson) }
    }

    /// Whether it is among those that ``LoadedDatabases/measureSome(_:)`` measures next.
    fileprivate var isUnmeasured = false

    /// What ``LoadedDatabases`` counts for it.
    var countedBytes: Int { countedDatabaseBytes + countedBacklogBytes }
    fileprivate var countedDatabaseBytes = 0
    fileprivate var countedBacklogBytes = 0
    /// Neighbours in the order of use. Unowned, because ``LoadedDatabases`` owns all databases and unlinks each one
    /// before it releases it.
    fileprivate unowned(unsafe) var newer: LoadedDatabase?
    fileprivate unowned(unsafe) var older: LoadedDatabase?

    init(database: Database, hub: NotificationHub, storage: DatabaseStorage?, snapshotSequence: UInt64) {
        self.database = database
        self.hub = hub
        self.storage = storage
        self.snapshotSequence = snapshotSequence
    }

    /// Whether dropping it would cost somebody more than the time to load it again.
    var isInUse: Bool {
        sessionCount > 0 || isAwaited || slicedWorkCount > 0 || !lessons.isEmpty || hub.isPublishing || hub.hasStreams
    }
}

/// The databases in a shard's memory, in the order of their use, and about how many bytes they take.
struct LoadedDatabases: ~Copyable {
    private var byID: [DatabaseID: LoadedDatabase] = [:]
    private unowned(unsafe) var newest: LoadedDatabase?
    private unowned(unsafe) var oldest: LoadedDatabase?
    /// The sum of what was counted.
    private(set) var bytes = 0
    /// The part of ``bytes`` without the events that are kept for devices.
    private(set) var databaseBytes = 0
    /// Databases that changed since they were measured, each once; some may be gone.
    private var unmeasured: [DatabaseID] = []

    var count: Int { byID.count }

    /// Returns the database if it is loaded, without counting that as a use.
    func known(_ id: DatabaseID) -> LoadedDatabase? { byID[id] }

    /// Returns the database if it is loaded, and makes it the most recently used one.
    mutating func use(_ id: DatabaseID) -> LoadedDatabase? {
        guard let loaded = byID[id] else { return nil }
        use(loaded)
        return loaded
    }

    mutating func use(_ loaded: LoadedDatabase) {
        if newest === loaded { return }
        unlink(loaded)
        link(loaded)
    }

    /// Adds a database that is not loaded yet, as the most recently used one.
    mutating func insert(_ loaded: LoadedDatabase) {
        let former = byID.updateValue(loaded, forKey: loaded.database.id)
        precondition(former == nil, "a database is loaded twice")
        link(loaded)
        bytes += loaded.countedBytes
        databaseBytes += loaded.countedDatabaseBytes
    }

    mutating func remove(_ loaded: LoadedDatabase) {
        unlink(loaded)
        bytes -= loaded.countedBytes
        databaseBytes -= loaded.countedDatabaseBytes
        byID[loaded.database.id] = nil
    }

    /// Counts the bytes that the database takes now. Returns by how many they have grown.
    mutating func measure(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.database.approximateBytes - loaded.countedDatabaseBytes
        loaded.countedDatabaseBytes += growth
        bytes += growth
        databaseBytes += growth
        return growth + measureBacklog(loaded)
    }

    /// Notes that the database changed. It is measured later: its size matters only when the figures are asked for.
    mutating func noteUnmeasured(_ loaded: LoadedDatabase) {
        if loaded.isUnmeasured { return }
        loaded.isUnmeasured = true
        unmeasured.append(loaded.database.id)
    }

    /// Measures up to `limit` of those databases; returns whether there are more.
    mutating func measureSome(_ limit: Int) -> Bool {
        for _ in 0..<limit {
            guard let id = unmeasured.popLast() else { return false }
            guard let loaded = byID[id] else { continue }
            loaded.isUnmeasured = false
            _ = measure(loaded)
        }
        return !unmeasured.isEmpty
    }

    /// Counts the bytes of the events that the database keeps for devices. Returns by how many they have grown.
    mutating func measureBacklog(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.hub.approximateBytes - loaded.countedBacklogBytes
        loaded.countedBacklogBytes += growth
        bytes += growth
        return growth
    }

    /// Up to `limit` databases, least recently used first.
    func leastRecentlyUsed(_ limit: Int) -> [LoadedDatabase] {
        var found: [LoadedDatabase] = []
        var next = oldest
        while let loaded = next, found.count < limit {
            found.append(loaded)
            next = loaded.newer
        }
        return found
    }

    /// Calls `body` with each database, least recently used first: an order that is the same in every run.
    func forEach(_ body: (LoadedDatabase) -> Void) {
        var next = oldest
        while let loaded = next {
            next = loaded.newer
            body(loaded)
        }
    }

    private mutating func link(_ loaded: LoadedDatabase) {
        loaded.newer = nil
        loaded.older = newest
        newest?.newer = loaded
        newest = loaded
        if oldest == nil { oldest = loaded }
    }

    private mutating func unlink(_ loaded: LoadedDatabase) {
        if let newer = loaded.newer { newer.older = loaded.older } else { newest = loaded.older }
        if let older = loaded.older { older.newer = loaded.newer } else { oldest = loaded.newer }
        loaded.newer = nil
        loaded.older = nil
    }
}
