internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Synchronization

/// The local journal of a server, with its snapshots: all that is in a data folder besides accounts, secrets and
/// schemas.
///
/// `@unchecked Sendable`: set up before any loop runs. What is not constant says whose it is.
final class JournalLogs: CommitLogs, @unchecked Sendable {
    let groupCommit: GroupCommit
    let snapshots: Snapshots
    let epoch: UInt32
    let isNew: Bool
    private let logs: [JournalLog]
    private let disk: any Disk
    private let source: Recovery.SnapshotSource
    /// The databases that were in the journal at the start; others have snapshots.
    private let journaled: Set<DatabaseID>
    private let progress: Progress

    /// What the journal's parts know together: how far the server's stop has come, and whether a snapshot is damaged.
    final class Progress: Sendable {
        private let stopping = Atomic<Bool>(false)
        private let openingEnded = Atomic<Bool>(false)
        private let damageFound = Atomic<Bool>(false)

        var isStopping: Bool { stopping.load(ordering: .relaxed) }
        var isOpening: Bool { !openingEnded.load(ordering: .relaxed) }
        var isDamageFound: Bool { damageFound.load(ordering: .relaxed) }

        func beginStopping() { stopping.store(true, ordering: .relaxed) }
        func endOpening() { openingEnded.store(true, ordering: .relaxed) }
        func noteDamage() { damageFound.store(true, ordering: .relaxed) }
    }

    /// Makes the logs of all shards, and has the snapshots checked that recovery did not read.
    ///
    /// - Parameters:
    ///   - recovery: What was found on the disk.
    ///   - spinner: How long the journal's thread looks for more work before it sleeps.
    ///   - failStop: Ends the server when the disk can't be relied on any more.
    init(
        of recovery: Recovery, on disk: any Disk, configuration: ServerConfiguration, loops: ServerLoops,
        spinner: Spinner = Spinner(), diskFullPauseMilliseconds: Int = ServerLimits.diskFullPauseMilliseconds,
        failStop: @escaping FailStop
    ) {
        let log = configuration.log
        let progress = Progress()
        let source = recovery.snapshots
        let shortLoad = ShortLoadLimits(
            fileBytes: configuration.shortLoadBytes, items: ServerLimits.shortLoadItems,
            contentBytes: ServerLimits.shortLoadContentBytes)
        let logs = loops.shards.enumerated().map {
            JournalLog(
                shard: $0.offset, loop: $0.element, source: source, shortLoad: shortLoad,
                isOpening: { progress.isOpening })
        }
        for database in recovery.databases.values {
            logs[loops.shard(of: database.id)].adopt(
                database, needsSnapshot: !recovery.coverage.holdsAll(of: database.id))
        }
        let snapshots = Snapshots(
            loop: loops.background, logs: logs, disk: disk, manifest: recovery.manifest, progress: progress,
            segmentsKept: recovery.report.segments, configuration: configuration, failStop: failStop)
        let groupCommit = GroupCommit(
            writer: recovery.writer, diskFullPauseMilliseconds: diskFullPauseMilliseconds, spinner: spinner,
            becameDurable: { index, position in
                let log = logs[index]
                log.loop.execute { log.becameDurable(position) }
            },
            segmentBegan: { [unowned snapshots] in snapshots.journalGrew(segmentsKept: $0) },
            diskFullChanged: { error in
                if let error {
                    log.error("the disk is full: writes are refused until there is room", [("reason", "\(error)")])
                } else {
                    log.warning("there is room on the disk: writes are taken again")
                }
            },
            failStop: failStop)
        for log in logs { log.connect(groupCommit, snapshots) }
        snapshots.connect(groupCommit)
        loops.background.yieldsToOthers = true
        (self.groupCommit, self.snapshots, self.logs, self.disk, self.source, self.progress) = (
            groupCommit, snapshots, logs, disk, source, progress
        )
        epoch = recovery.epoch
        isNew = recovery.report.isNewFolder
        journaled = recovery.journaledDatabases
        if recovery.report.snapshotsChecked == nil {
            BackgroundCheck(of: disk, loop: loops.background, logs: logs, progress: progress, log: log).start()
        }
    }

    /// As far as the journal and the names of snapshots tell.
    func containers() throws(StoreError) -> Set<String> {
        try SnapshotListing.containers(on: disk).union(journaled.lazy.map(\.container))
    }

    func log(ofShard index: Int) -> any CommitLog { logs[index] }

    func start() { groupCommit.start() }

    // MARK: What it holds

    func holds(_ id: DatabaseID) -> Bool { journaled.contains(id) || source.holds(id) }

    func databases(of container: String, _ environment: Environment) throws(StoreError) -> [DatabaseID] {
        try SnapshotListing.databases(of: container, environment, on: disk)
    }

    func quotaBytes(of id: DatabaseID) throws(StoreError) -> Int? { try source.quotaBytes(of: id) }

    func countedQuotaBytes(of id: DatabaseID) throws(StoreError) -> Int {
        try source.countedQuotaBytes(of: id) { [progress] in progress.isOpening }
    }

    // MARK: How it is

    var isFull: Bool { groupCommit.isDiskFull }
    var undurableByteCount: Int { groupCommit.pendingByteCount }
    var isDamageFound: Bool { progress.isDamageFound }

    func addFigures(to figures: inout ServerFigures) {
        figures.journal = groupCommit.figures
        figures.memory.undurableBytes = groupCommit.pendingByteCount
        (figures.databases.snapshots, figures.databases.snapshotBytes) = snapshots.written
    }

    // MARK: Saving

    func saveAll(_ done: @escaping @Sendable (Result<SnapshotSummary, SaveFailure>) -> Void) { snapshots.request(done) }

    // MARK: The end

    func beginStopping() { progress.beginStopping() }
    func endOpening() { progress.endOpening() }
    func giveUpWhenFull() { groupCommit.giveUpOnFullDisk() }
    func stop() { groupCommit.stop() }

    func release() {
        for log in logs { log.release() }
        snapshots.release()
    }
}
