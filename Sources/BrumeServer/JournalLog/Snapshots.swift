internal import BrumeLock
internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// Writes snapshots, on a loop of its own, while the shards go on: of all databases that changed, in runs that also cut
/// the journal, and of single ones that will be dropped from memory.
///
/// A run begins a new segment first: what the shards capture afterwards holds all that the older segments hold. It
/// takes the captures in slices, so that no shard is kept for long and few are held at a time. All writing is here, in
/// the order in which a shard made the captures, so an older one never replaces a newer.
///
/// `@unchecked Sendable`: everything belongs to `loop`. Other threads use the methods that say so.
final class Snapshots: @unchecked Sendable {
    typealias Done = @Sendable (Result<SnapshotSummary, SaveFailure>) -> Void

    private final class Run {
        var firstKeptSegment: UInt64 = 0
        var summary = SnapshotSummary(databases: 0, segmentsRemoved: 0)
        var bytes: UInt64 = 0
        /// The callers that asked for the run; none for one that was due.
        let waiting: [Done]

        init(waiting: [Done]) { self.waiting = waiting }
    }

    private let loop: EventLoop
    private let logs: [JournalLog]
    private let disk: any Disk
    private let manifest: FolderManifest
    private let progress: JournalLogs.Progress
    private let log: Log
    private let failStop: FailStop
    private var groupCommit: GroupCommit!
    private let counted = Lock<(count: UInt64, bytes: UInt64)>((0, 0))
    private var schedule: SnapshotSchedule
    private var requests: [Done] = []
    private var timer: TimerID?
    /// The number of the journal's segments, as far as it is known here.
    private var segmentsKept: UInt64

    init(
        loop: EventLoop, logs: [JournalLog], disk: any Disk, manifest: FolderManifest,
        progress: JournalLogs.Progress, segmentsKept: Int, configuration: ServerConfiguration,
        failStop: @escaping FailStop
    ) {
        self.loop = loop
        self.logs = logs
        self.disk = disk
        self.manifest = manifest
        self.progress = progress
        self.segmentsKept = UInt64(segmentsKept)
        self.failStop = failStop
        log = configuration.log
        schedule = SnapshotSchedule(
            segmentsKept: UInt64(segmentsKept), segmentBytes: configuration.journalSegmentBytes,
            journalBytes: configuration.snapshotJournalBytes, ageMilliseconds: configuration.snapshotAgeMilliseconds)
    }

    /// Connects it with the journal's thread. Before the loop runs.
    func connect(_ groupCommit: GroupCommit) { self.groupCommit = groupCommit }

    /// Releases the journal's thread, which may have work that refers to this.
    func release() { groupCommit = nil }

    // MARK: Any thread

    /// Snapshots that were written since the start, and their bytes.
    var written: (count: UInt64, bytes: UInt64) { counted.withLock { $0 } }

    /// The journal has grown by a segment.
    func journalGrew(segmentsKept: UInt64) {
        loop.execute { [self] in
            self.segmentsKept = segmentsKept
            schedule.segmentBegan(segmentsKept: segmentsKept)
            proceed()
        }
    }

    /// A shard has a database that changed, and had none before.
    func databaseChanged() {
        loop.execute { [self] in
            schedule.changed(nowNanoseconds: loop.nowNanoseconds)
            proceed()
        }
    }

    /// Commits moved so many records that a replay has to find: see ``Database/takeMovedRecords()``.
    func recordsMoved(_ count: Int) {
        loop.execute { [self] in
            schedule.recordsMoved(count)
            proceed()
        }
    }

    /// Writes snapshots of all databases that changed and cuts the journal. What was committed before the call is in
    /// them, so a run that is under way is followed by another one, which all who asked meanwhile share. `done` is
    /// called on this loop.
    func request(_ done: @escaping Done) {
        loop.execute { [self] in
            requests.append(done)
            schedule.requested()
            proceed()
        }
    }

    /// Writes snapshots of some databases of a shard, which are to be dropped. Call it on the shard's loop; `done` is
    /// called there, with false when the disk failed.
    func write(_ ids: [DatabaseID], of shard: JournalLog, _ done: @escaping @Sendable (Bool) -> Void) {
        shard.host?.capture(ids[...]) { [self] captures, taken in
            loop.execute { [self] in
                let result = write(captures, of: shard) { _ in nil }
                if case .failure(let error) = result {
                    log.error("a database stays in memory", [("reason", error.message)])
                }
                shard.loop.execute { [self] in
                    guard case .success = result else { return done(false) }
                    if taken == ids.count { return done(true) }
                    write(Array(ids.dropFirst(taken)), of: shard, done)
                }
            }
        }
    }

    // MARK: The loop

    private func proceed() {
        if let timer { loop.cancel(timer) }
        timer = nil
        switch schedule.next(nowNanoseconds: loop.nowNanoseconds) {
        case .none: break
        case .wait(let time):
            let milliseconds = (time - loop.nowNanoseconds) / 1_000_000 + 1
            timer = loop.schedule(afterMilliseconds: milliseconds) { [unowned self] in
                timer = nil
                proceed()
            }
        case .start:
            let run = RunBox(Run(waiting: requests))
            requests = []
            groupCommit.preparer.prepare()
            groupCommit.rotate { [self] result in
                loop.execute { [self] in
                    switch result {
                    case .success(let segment):
                        run.value.firstKeptSegment = segment
                        takeShard(0, run)
                    case .failure(let error):
                        fail(run, SaveFailure(isFull: true, message: "there is no room for snapshots: \(error)"))
                    }
                }
            }
        }
    }

    /// A run on its way through other loops. Only this one looks inside.
    private final class RunBox: @unchecked Sendable {
        let value: Run

        init(_ run: Run) { value = run }
    }

    private func takeShard(_ index: Int, _ run: RunBox) {
        guard index < logs.count else { return cut(run) }
        let shard = logs[index]
        shard.loop.execute { [self] in
            let ids = shard.takeChanged()
            loop.execute { [self] in takeSlice(ids[...], ofShard: index, run) }
        }
    }

    private func takeSlice(_ ids: ArraySlice<DatabaseID>, ofShard index: Int, _ run: RunBox) {
        if ids.isEmpty { return takeShard(index + 1, run) }
        let shard = logs[index]
        shard.loop.execute { [self] in
            shard.host?.capture(ids) { [self] captures, taken in
                loop.execute { [self] in
                    let result = write(captures, of: shard) { bytes in
                        run.value.summary.databases += 1
                        run.value.bytes += bytes
                        // The server's stop writes them anyway.
                        return progress.isStopping && run.value.waiting.isEmpty
                            ? SaveFailure(isFull: false, message: "the server is about to stop") : nil
                    }
                    switch result {
                    case .success: takeSlice(ids.dropFirst(taken), ofShard: index, run)
                    case .failure(let error): fail(run, error)
                    }
                }
            }
        }
    }

    /// Writes captures; `written` is called with the bytes of each, and stops the rest by returning an error.
    private func write(
        _ captures: [DatabaseCapture], of shard: JournalLog, written: (UInt64) -> SaveFailure?
    ) -> Result<Void, SaveFailure> {
        for capture in captures {
            do throws(DiskError) {
                let bytes = try SnapshotWriter.write(capture, to: disk)
                let (id, sequence) = (capture.id, capture.sequence)
                manifest.noted(SnapshotFormat.path(of: id, on: disk), sequence: sequence)
                counted.withLock { $0 = ($0.count + 1, $0.bytes + bytes) }
                shard.loop.execute { shard.host?.saved(id, upTo: sequence) }
                if let error = written(bytes) { return .failure(error) }
            } catch {
                stopIfInDoubt(error)
                return .failure(
                    SaveFailure(
                        isFull: error.isFull,
                        message: "a snapshot can't be written, the journal stays whole: \(error)"))
            }
        }
        return .success(())
    }

    private func stopIfInDoubt(_ error: DiskError) {
        guard error.isFailedSync else { return }
        failStop(
            "a snapshot can't be synced: \(error). The journal has all that it holds; check the disk, then start again")
    }

    /// Removes the segments before the run's, once the folder's manifest names the new snapshots: these hold everything
    /// that changed before the run's segment.
    private func cut(_ run: RunBox) {
        do throws(DiskError) {
            try manifest.save()
        } catch {
            stopIfInDoubt(error)
            return fail(
                run,
                SaveFailure(
                    isFull: error.isFull,
                    message: "the list of the snapshots can't be written, the journal stays whole: \(error)"))
        }
        groupCommit.removeSegments(before: run.value.firstKeptSegment) { [self] removed, kept in
            loop.execute { [self] in
                run.value.summary.segmentsRemoved = removed
                let summary = run.value.summary
                log.info(
                    "snapshots written",
                    [
                        ("databases", String(summary.databases)), ("bytes", String(run.value.bytes)),
                        ("segmentsRemoved", String(summary.segmentsRemoved)),
                    ])
                segmentsKept = kept
                end(run, .success(summary))
            }
        }
    }

    private func fail(_ run: RunBox, _ error: SaveFailure) {
        for shard in logs { shard.loop.execute { shard.host?.listUnsaved() } }
        if !progress.isStopping || !run.value.waiting.isEmpty {
            log.error("no snapshots, the journal grows on", [("reason", error.message)])
        }
        end(run, .failure(error))
    }

    private func end(_ run: RunBox, _ result: Result<SnapshotSummary, SaveFailure>) {
        let bytes: UInt64?
        switch result {
        case .success: bytes = run.value.bytes
        case .failure: bytes = nil
        }
        schedule.ended(snapshotBytes: bytes, segmentsKept: segmentsKept, nowNanoseconds: loop.nowNanoseconds)
        for done in run.value.waiting { done(result) }
        proceed()
    }
}
