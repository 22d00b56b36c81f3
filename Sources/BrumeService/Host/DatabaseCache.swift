internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The databases of one loop: those in memory, those on their way there, and those that can't be read.
///
/// It knows nothing of clients' requests: how databases come from the log is in the extension Loading, how they go in
/// Memory, and what else happens then is its host's affair.
///
/// `@unchecked Sendable`: everything belongs to the loop. For `@exclusivity(unchecked)` see ``Shard``.
package final class DatabaseCache: @unchecked Sendable {
    struct Limits {
        /// What all loops' databases may take together before those that nobody uses are dropped; 0 for no limit.
        var memoryBudgetBytes: Int
        /// Calls that may wait for one load.
        var callsPerLoad: Int
    }

    /// Where databases come from.
    struct Source {
        let log: any CommitLog
        /// Does what would hold up the loop, on another thread.
        let loading: FairWork
    }

    /// What came of a database that was asked for.
    package typealias Outcome = DatabaseLoad.Outcome

    /// Whether a database can be used now, is being loaded, or can't be used.
    enum Access {
        case loaded(LoadedDatabase)
        /// Wait for it with ``DatabaseCache/wait(for:of:byteCount:_:)``.
        case loading(DatabaseLoad)
        case unavailable(ServiceError)
    }

    let loop: EventLoop
    let limits: Limits
    /// What the databases of all loops take.
    let memory: MemoryUse
    /// What private databases hold, for quotas.
    let ledger: StorageLedger
    unowned let host: any DatabaseCacheHost
    let log: Log
    /// Set before the loop runs.
    var source: Source!

    @exclusivity(unchecked) var databases = LoadedDatabases()
    /// Databases that are being loaded on another thread, and those that were loaded and still have waiting calls.
    @exclusivity(unchecked) var loads: [DatabaseID: DatabaseLoad] = [:]
    /// Databases that are damaged where they were saved.
    var unloadable: Set<DatabaseID> = []
    /// Bytes of all calls that wait for loads.
    var waitingCallBytes = 0
    /// Databases that came into memory, and that were dropped from it.
    private(set) var loadCount: UInt64 = 0
    var dropCount: UInt64 = 0

    /// Whether something changed since the last look at what could be dropped.
    var mayDrop = false
    var isSavingToDrop = false
    var nextSaveToDropNanoseconds: UInt64 = 0
    var nextBudgetWarningNanoseconds: UInt64 = 0

    init(
        loop: EventLoop, limits: Limits, memory: MemoryUse, ledger: StorageLedger, log: Log,
        host: any DatabaseCacheHost
    ) {
        self.loop = loop
        self.limits = limits
        self.memory = memory
        self.ledger = ledger
        self.log = log
        self.host = host
    }

    /// Releases all databases, and what waits for others. Called when no loop runs any more.
    func abandon() {
        loads = [:]
        databases.forEach { $0.abandon() }
        databases = LoadedDatabases()
        source = nil
    }

    // MARK: In memory

    /// The number of databases in memory.
    var count: Int { databases.count }

    /// The number of loads that have not ended, or after which calls still wait.
    var loadingCount: Int { loads.count }

    /// What the databases in memory take, without the events that are kept for devices.
    var databaseBytes: Int { databases.databaseBytes }
    /// About how many bytes of assets the databases in memory have on the disk.
    var assetBytes: LoadedDatabases.AssetBytes { databases.assetBytes }

    /// Measures some of those that changed; returns whether there are more.
    func measureSome(_ limit: Int) -> Bool { databases.measureSome(limit) }

    /// Returns the database if it is in memory, without counting that as a use.
    func known(_ id: DatabaseID) -> LoadedDatabase? { databases.known(id) }

    /// Calls `body` with each database in memory, least recently used first.
    package func forEach(_ body: (LoadedDatabase) -> Void) { databases.forEach(body) }

    /// Whether a database can be used at once, because it is in memory and no call waits that came before; counts as a
    /// use.
    func isUsable(_ loaded: LoadedDatabase) -> Bool {
        guard loads.isEmpty, !loaded.isLost else { return false }
        databases.use(loaded)
        return true
    }

    /// Whether the database's file is damaged, so that nothing can be committed to it before the next start.
    func isUnloadable(_ id: DatabaseID) -> Bool { unloadable.contains(id) }

    /// The load of a database that has not ended, or after which calls still wait.
    func load(of id: DatabaseID) -> DatabaseLoad? { loads.isEmpty ? nil : loads[id] }

    /// Puts a database into memory.
    @discardableResult
    func keep(_ opened: OpenedDatabase) -> LoadedDatabase {
        let database = opened.database
        let isPrivate = database.id.scope == .private
        let storage = isPrivate ? ledger.opened(database.id, bytes: database.quotaBytes) : nil
        let loaded = host.makeLoaded(database, storage: storage, savedSequence: opened.savedSequence)
        loadCount += 1
        host.databaseEnters(loaded)
        databases.insert(loaded)
        measure(loaded)
        return loaded
    }
}
