package import BrumeModel
internal import BrumeServer
package import BrumeService
package import BrumeStore
internal import BrumeSystem

/// Commit logs in memory, of which a test decides each step: when commits become durable, what is refused, how long it
/// takes to open a database and what comes of it, and which databases another owner takes.
///
/// `@unchecked Sendable`: a test has one thread.
package final class ScriptedCommitLogs: CommitLogs, @unchecked Sendable {
    /// How a database is opened.
    package enum Opening: Sendable {
        case atOnce
        /// By work that the host has done elsewhere.
        case inBackground
        /// By such work, and not before ``finishOpenings()``.
        case held
    }

    package let storage: ScriptedLogStorage
    package var opening = Opening.atOnce
    /// What the next openings end with, instead of a database.
    package var openingErrors: [StoreError] = []
    /// Whether the log says that it has no room; it takes commits nevertheless, as the journal does.
    package var isFull = false
    /// Whether the log says that it is behind.
    package var isBehind = false
    /// Whether no commit is taken, without a word before.
    package var takesNoMore = false
    /// Whether commits are saved as soon as they are durable, or when the host or the operator asks for it.
    package var savesAtOnce = true
    package var failsToSave = false
    package private(set) var isDamageFound = false
    package let isNew: Bool
    let run: UInt32
    private var logs: [ScriptedCommitLog] = []

    /// Makes the logs of a server that begins with what is durable. What is not saved is opened at once, as after a
    /// start with the journal.
    package init(_ loops: ServerLoops, storage: ScriptedLogStorage = ScriptedLogStorage()) {
        self.storage = storage
        isNew = storage.runs == 0
        run = storage.beginRun()
        logs = loops.shards.map { ScriptedCommitLog(loop: $0, logs: self) }
        for id in storage.ids where storage.savedSequence(of: id) < storage.sequence(of: id) {
            logs[loops.shard(of: id)].adopt(storage.open(id, run: run))
        }
    }

    /// The records that commits moved between shared trees: see ``CommitLog/append(_:movedRecords:)``.
    package var movedRecords: Int { logs.reduce(0) { $0 + $1.movedRecords } }

    // MARK: What a test does

    /// Makes durable what was submitted: all, or up to a position of each shard's.
    package func makeDurable(upTo position: UInt64 = .max) {
        for log in logs { log.makeDurable(upTo: position) }
    }

    /// The same, but the host does not learn of it before something else becomes durable.
    package func makeDurableUntold() {
        for log in logs { log.makeDurable(upTo: .max, tellsHost: false) }
    }

    /// Commits that wait to become durable.
    package var undurableCount: Int { logs.reduce(0) { $0 + $1.undurableCount } }

    /// Ends the openings that are held.
    package func finishOpenings() {
        for log in logs { log.finishOpenings() }
    }

    /// Another owner takes a database. The host learns of it by its next commit.
    package func fence(_ id: DatabaseID) {
        for log in logs { log.fence(id) }
    }

    /// The same, and the host is told.
    package func lose(_ id: DatabaseID) {
        for log in logs {
            log.fence(id)
            log.tellLost(id)
        }
    }

    /// Another owner takes all databases that are open and hold commits.
    package func loseAll() {
        for log in logs { for id in log.openIDs { lose(id) } }
    }

    func takeOpeningError() -> StoreError? { openingErrors.isEmpty ? nil : openingErrors.removeFirst() }

    // MARK: What a server asks

    package var epoch: UInt32 { storage.epoch }
    package func containers() throws(StoreError) -> Set<String> { Set(storage.ids.map(\.container)) }
    package func log(ofShard index: Int) -> any CommitLog { logs[index] }
    package func start() {}

    package func holds(_ id: DatabaseID) -> Bool { storage.holds(id) }

    package func databases(
        of container: String, _ environment: Environment
    ) throws(StoreError) -> [DatabaseID] {
        storage.ids.filter { $0.container == container && $0.environment == environment }
    }

    package func quotaBytes(of id: DatabaseID) throws(StoreError) -> Int? { try countedQuotaBytes(of: id) }

    package func countedQuotaBytes(of id: DatabaseID) throws(StoreError) -> Int {
        storage.open(id, run: run).database.quotaBytes
    }

    package var undurableByteCount: Int { 100 * undurableCount }
    package func addFigures(to figures: inout ServerFigures) { figures.memory.undurableBytes = undurableByteCount }

    package func saveAll(_ done: @escaping @Sendable (Result<SnapshotSummary, SaveFailure>) -> Void) {
        @Sendable func save(_ index: Int, _ count: Int) {
            guard index < logs.count else {
                return done(.success(SnapshotSummary(databases: count, segmentsRemoved: 0)))
            }
            let log = logs[index]
            log.loop.execute {
                let ids = log.host?.takeUnsaved() ?? []
                log.save(ids) { isSaved in
                    if isSaved { return save(index + 1, count + ids.count) }
                    log.host?.listUnsaved()
                    done(.failure(SaveFailure(isFull: false, message: "the script lets nothing be saved")))
                }
            }
        }
        save(0, 0)
    }

    package func beginStopping() {}
    package func endOpening() {}
    package func giveUpWhenFull() {}
    package func stop() {}
    package func release() { for log in logs { log.host = nil } }
}
