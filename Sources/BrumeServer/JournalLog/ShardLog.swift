internal import BrumeModel
internal import BrumeStore

/// One shard's side of the local journal, behind the `CommitLog` seam.
///
/// Commits of a loop turn gather here and go to the journal's thread together (``submit()``); positions count this
/// shard's commits. Belongs to the shard's loop, except for ``writeSnapshot(_:)``, which touches only the disk and may
/// run anywhere.
final class ShardLog: CommitLog {
    private let shard: Int
    /// Opens databases as their snapshots have them, on any thread; it does not know those that were adopted.
    let snapshots: Recovery.SnapshotSource
    private let disk: any Disk
    private let groupCommit: GroupCommit
    private var recovered: [DatabaseID: Database] = [:]
    /// The recovered databases with commits that no snapshot holds.
    private var unsaved: Set<DatabaseID> = []

    @exclusivity(unchecked) private var outbox = JournalEntries()
    @exclusivity(unchecked) private var undurable = UndurableCommits()
    private var submitted: UInt64 = 0
    private(set) var durablePosition: UInt64 = 0

    init(shard: Int, snapshots: Recovery.SnapshotSource, disk: any Disk, groupCommit: GroupCommit) {
        self.shard = shard
        self.snapshots = snapshots
        self.disk = disk
        self.groupCommit = groupCommit
    }

    /// Gives the shard a database that recovery replayed for it. Call it before the loop runs.
    ///
    /// - Parameter needsSnapshot: Whether the journal holds commits of it that its snapshot doesn't have.
    func adopt(_ database: Database, needsSnapshot: Bool) {
        recovered[database.id] = database
        if needsSnapshot { unsaved.insert(database.id) }
    }

    /// The ids of the databases that were adopted and not opened yet, in a fixed order, so that a run can be repeated.
    var adoptedIDs: [DatabaseID] {
        recovered.keys.sorted { ($0.container, $0.owner) < ($1.container, $1.owner) }
    }

    func open(_ id: DatabaseID) throws(StoreError) -> Database {
        if let database = recovered.removeValue(forKey: id) { return database }
        return try snapshots.open(id)
    }

    /// Whether the journal held commits of the database, when it was adopted, that its snapshot doesn't have.
    func neededSnapshot(_ id: DatabaseID) -> Bool { unsaved.contains(id) }

    func append(_ entry: JournalEntry) -> UInt64 {
        outbox.append(entry)
        return appendedPosition
    }

    /// Appends an account's entry, which counts as the account's until it is durable.
    func append(
        _ entry: JournalEntry, by share: ClientShare, _ timeShare: TimeShare, nowNanoseconds: UInt64
    ) -> UInt64 {
        let before = outbox.byteCount
        let position = append(entry)
        undurable.append(
            outbox.byteCount - before, of: share, timeShare, at: position, submitted: submitted,
            nowNanoseconds: nowNanoseconds)
        groupCommit.sharing.wrote(share, atNanoseconds: nowNanoseconds)
        return position
    }

    /// The position of the last commit that was appended.
    var appendedPosition: UInt64 { submitted + UInt64(outbox.count) }

    /// Whether several accounts have written within the last second, on any loop.
    func isShared(atNanoseconds now: UInt64) -> Bool { groupCommit.sharing.isShared(atNanoseconds: now) }

    /// Whether commits wait for room on the disk.
    var isDiskFull: Bool { groupCommit.isDiskFull }

    /// Why no write of anybody is accepted now, with a time to come back; nil when writes are accepted.
    var writeRefusal: ServiceError? {
        if isDiskFull { return .diskFull }
        if outbox.byteCount + groupCommit.pendingByteCount > ServerLimits.undurableBytes {
            return ServiceError(
                .serviceUnavailable, "the disk is behind; try again shortly", retryAfterMilliseconds: 1_000)
        }
        return nil
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
    }

    /// The journal's thread has synced everything up to the position.
    func becameDurable(_ position: UInt64, nowNanoseconds: UInt64) {
        durablePosition = max(durablePosition, position)
        undurable.becameDurable(
            durablePosition, isShared: isShared(atNanoseconds: nowNanoseconds), nowNanoseconds: nowNanoseconds)
    }

    func writeSnapshot(_ capture: DatabaseCapture) throws(StoreError) -> UInt64 {
        do throws(DiskError) {
            let byteCount = try SnapshotWriter.write(capture, to: disk)
            snapshots.manifest.noted(SnapshotFormat.path(of: capture.id, on: disk), sequence: capture.sequence)
            return byteCount
        } catch {
            throw .disk(error)
        }
    }

    /// The local journal has a single owner, because the folder's lock lets nobody else in: there is nobody to fence.
    func close(_ id: DatabaseID) { recovered[id] = nil }
}
