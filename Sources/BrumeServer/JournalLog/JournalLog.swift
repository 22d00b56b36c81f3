internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// One shard's side of the local journal.
///
/// Commits of a loop turn gather here and go to the journal's thread together (``submit()``); positions count this
/// shard's commits. Databases come from their snapshots, and are saved by ``Snapshots``.
///
/// The journal has a single owner, because the folder's lock lets nobody else in: no database is lost to another one.
///
/// `@unchecked Sendable`: belongs to `loop`. For `@exclusivity(unchecked)` see ``Shard``.
final class JournalLog: CommitLog, @unchecked Sendable {
    let shard: Int
    let loop: EventLoop
    /// Not weak: once an object has been referred to weakly, counting references to it costs twice as much, and every
    /// request does that with its shard.
    unowned var host: (any CommitLogHost)?
    /// Databases as their snapshots have them, on any thread; it does not know those that recovery replayed.
    private let source: Recovery.SnapshotSource
    private let shortLoad: ShortLoadLimits
    private let isOpening: @Sendable () -> Bool
    private var groupCommit: GroupCommit!
    private var snapshots: Snapshots!
    private var recovered: [OpenedDatabase] = []

    @exclusivity(unchecked) private var outbox = JournalEntries()
    private var submitted: UInt64 = 0
    private(set) var durablePosition: UInt64 = 0
    /// Those that ``Snapshots`` does not know of yet: see ``Database/takeMovedRecords()``.
    private var movedRecords = 0
    /// Whether ``Snapshots`` knows that the shard has databases that changed.
    private var isChangeKnown = false

    /// - Parameters:
    ///   - shortLoad: What is loaded on the loop itself.
    ///   - isOpening: Asked now and then by a load: when it returns false the rest is not read.
    init(
        shard: Int, loop: EventLoop, source: Recovery.SnapshotSource, shortLoad: ShortLoadLimits,
        isOpening: @escaping @Sendable () -> Bool
    ) {
        self.shard = shard
        self.loop = loop
        self.source = source
        self.shortLoad = shortLoad
        self.isOpening = isOpening
    }

    /// Connects the log with the journal's thread. Before the loop runs.
    func connect(_ groupCommit: GroupCommit, _ snapshots: Snapshots) {
        self.groupCommit = groupCommit
        self.snapshots = snapshots
    }

    /// Releases the host, and what refers to the log.
    func release() {
        host = nil
        groupCommit = nil
        snapshots = nil
        recovered = []
    }

    // MARK: Databases

    /// Adds a database that recovery replayed. Before ``takeRecovered()``.
    ///
    /// - Parameter needsSnapshot: Whether the journal holds commits of it that its snapshot doesn't have.
    func adopt(_ database: Database, needsSnapshot: Bool) {
        recovered.append(OpenedDatabase(database, savedSequence: needsSnapshot ? 0 : database.sequence))
    }

    func takeRecovered() -> [OpenedDatabase] {
        let opened = exchange(&recovered, with: [])
        if opened.contains(where: { $0.database.sequence > $0.savedSequence }) { noteChange() }
        movedRecords += opened.reduce(0) { $0 + $1.database.takeMovedRecords() }
        noteMovedRecords()
        return opened.sorted {
            ($0.database.id.container, $0.database.id.owner) < ($1.database.id.container, $1.database.id.owner)
        }
    }

    /// A database on its way from the thread that loaded it to the loop that owns it, with who waits for it there.
    ///
    /// `@unchecked Sendable`: the thread does not touch the database any more when it has passed it on, and does not
    /// call `done`.
    private struct Handover: @unchecked Sendable {
        var result: Result<Database, StoreError>?
        let done: (Result<OpenedDatabase, StoreError>) -> Void

        func finish() { done(result!.map { OpenedDatabase($0, savedSequence: $0.sequence) }) }
    }

    /// A small database is loaded at once: most are small, and a round trip through another thread would take longer.
    func open(
        _ id: DatabaseID, background: (_ work: @escaping @Sendable () -> Void) -> Void,
        _ done: @escaping (Result<OpenedDatabase, StoreError>) -> Void
    ) {
        do throws(StoreError) {
            if let database = try source.openIfShort(id, limits: shortLoad) {
                return done(.success(OpenedDatabase(database, savedSequence: database.sequence)))
            }
        } catch {
            return done(.failure(error))
        }
        let waiting = Handover(done: done)
        background { [loop, source, isOpening] in
            var handover = waiting
            do throws(StoreError) {
                handover.result = .success(try source.open(id, while: isOpening))
            } catch {
                handover.result = .failure(error)
            }
            loop.execute { [handover] in handover.finish() }
        }
    }

    func close(_ id: DatabaseID) {}

    // MARK: Commits

    var refusal: CommitLogRefusal? {
        if groupCommit.isDiskFull { return .full }
        return outbox.byteCount + groupCommit.pendingByteCount > ServiceLimits.undurableBytes ? .behind : nil
    }

    func append(_ entry: JournalEntry, movedRecords: Int) -> AppendedCommit {
        self.movedRecords += movedRecords
        let before = outbox.byteCount
        outbox.append(entry)
        return AppendedCommit(position: submitted + UInt64(outbox.count), byteCount: outbox.byteCount - before)
    }

    /// Hands what was appended to the journal's thread. Once per loop turn.
    func submit() {
        if outbox.isEmpty { return }
        submitted += UInt64(outbox.count)
        // The next turn is expected to be like this one: growing step by step would copy its entries once more.
        let expected = min(outbox.byteCount, ServerLimits.expectedTurnBytes)
        outbox = groupCommit.submit(
            JournalQueue.Submission(shard: shard, entries: outbox, lastPosition: submitted))
        outbox.reserveCapacity(expected)
        noteChange()
        noteMovedRecords()
    }

    /// The journal's thread has synced everything up to the position.
    func becameDurable(_ position: UInt64) {
        durablePosition = max(durablePosition, position)
        host?.becameDurable(upTo: durablePosition)
    }

    // MARK: Snapshots

    func save(_ ids: [DatabaseID], _ done: @escaping @Sendable (Bool) -> Void) { snapshots.write(ids, of: self, done) }

    private func noteChange() {
        if isChangeKnown { return }
        isChangeKnown = true
        snapshots.databaseChanged()
    }

    private func noteMovedRecords() {
        if movedRecords == 0 { return }
        snapshots.recordsMoved(movedRecords)
        movedRecords = 0
    }

    /// Takes the list of the databases that changed since their snapshots.
    func takeChanged() -> [DatabaseID] {
        isChangeKnown = false
        return host?.takeUnsaved() ?? []
    }

    /// Handles a damaged snapshot. If its database is in memory, it was loaded while the snapshot was still sound, and
    /// a new snapshot takes the place of the damaged one; otherwise the database is refused when it is used.
    func replaceSnapshot(_ finding: SnapshotSweep.Finding, on disk: any Disk) {
        guard let host, let id = host.databaseIDs.first(where: { finding.concerns($0, on: disk) }), host.lostSaved(id)
        else { return }
        noteChange()
        save([id]) { _ in }
    }
}
