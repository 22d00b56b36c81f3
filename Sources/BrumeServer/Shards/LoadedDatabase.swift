internal import BrumeModel
internal import BrumeStore

/// A database in the memory of the shard that owns it.
final class LoadedDatabase {
    let database: Database
    let hub: NotificationHub
    /// Where the database's last commit stands among the shard's submissions: what shows it waits for that to be
    /// durable.
    var lastPosition: UInt64 = 0
    /// The sequence that its snapshot on disk holds.
    var snapshotSequence: UInt64
    /// Whether the shard's list of changed databases has it.
    var isListedAsChanged = false
    /// Whether the shard's list of databases whose indexes are behind has it.
    var isListedAsBehind = false
    /// Sessions of its owner: while there are any it stays in memory.
    var sessionCount = 0
    /// Whether calls wait that came while it was loaded.
    var isAwaited = false
    /// Queries that have begun and not ended.
    var runningQueryCount = 0

    /// Record types whose records were looked at for a schema that did not know them.
    private var taughtTypes: Set<String> = []
    /// Those whose records are being looked at, and who waits for what they tell.
    private var lessons: [String: [(SchemaLesson) -> Void]] = [:]

    /// Whether ``startLesson(ofType:_:)`` begins nothing: the type was asked for before.
    func isTeaching(_ type: String) -> Bool { lessons[type] != nil || taughtTypes.contains(type) }

    /// Asks what the records tell of a type; nothing when they were asked before.
    ///
    /// - Returns: A scan that the caller has to go on with, and to end; nil when there is nothing to do, or others do
    ///   it.
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
    /// Neighbours in the order of use. Unowned: ``LoadedDatabases`` owns all, and takes one out of the row before it
    /// lets it go.
    fileprivate unowned(unsafe) var newer: LoadedDatabase?
    fileprivate unowned(unsafe) var older: LoadedDatabase?

    init(database: Database, hub: NotificationHub, snapshotSequence: UInt64) {
        self.database = database
        self.hub = hub
        self.snapshotSequence = snapshotSequence
    }

    /// Whether somebody would miss more than the time of loading it again.
    var isInUse: Bool {
        sessionCount > 0 || isAwaited || runningQueryCount > 0 || !lessons.isEmpty || hub.isPublishing || hub.hasStreams
    }
}

/// The databases in a shard's memory, in the order of their use, and about how many bytes they take.
struct LoadedDatabases: ~Copyable {
    private var byID: [DatabaseID: LoadedDatabase] = [:]
    private unowned(unsafe) var newest: LoadedDatabase?
    private unowned(unsafe) var oldest: LoadedDatabase?
    /// The sum of what was counted.
    private(set) var bytes = 0
    /// The part of it that is not kept for devices.
    private(set) var databaseBytes = 0
    /// Databases that changed since they were measured, each once; some may be gone.
    private var unmeasured: [DatabaseID] = []

    var count: Int { byID.count }

    /// The database if it is loaded, without using it.
    func known(_ id: DatabaseID) -> LoadedDatabase? { byID[id] }

    /// The database if it is loaded; it is the one that was used last from now on.
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

    /// Adds one that is not there yet, as the one used last.
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

    /// Counts what the database takes now; returns by how much that is more.
    mutating func measure(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.database.approximateBytes - loaded.countedDatabaseBytes
        loaded.countedDatabaseBytes += growth
        bytes += growth
        databaseBytes += growth
        return growth + measureBacklog(loaded)
    }

    /// The database changed, and nobody needs to know by how much before the figures are asked for.
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

    /// Counts the events that it keeps for devices; returns by how much they are more.
    mutating func measureBacklog(_ loaded: LoadedDatabase) -> Int {
        let growth = loaded.hub.approximateBytes - loaded.countedBacklogBytes
        loaded.countedBacklogBytes += growth
        bytes += growth
        return growth
    }

    /// Up to `limit` databases, beginning with the one whose use is longest ago.
    func leastRecentlyUsed(_ limit: Int) -> [LoadedDatabase] {
        var found: [LoadedDatabase] = []
        var next = oldest
        while let loaded = next, found.count < limit {
            found.append(loaded)
            next = loaded.newer
        }
        return found
    }

    func forEach(_ body: (LoadedDatabase) -> Void) { byID.values.forEach(body) }

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
