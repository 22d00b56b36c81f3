internal import BrumeModel
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
    struct Report: Sendable {
        var databases = 0
        var segmentsRemoved = 0
        var bytes: UInt64 = 0
    }

    typealias Done = @Sendable (Result<Report, ServerError>) -> Void

    private final class Run {
        var firstKeptSegment: UInt64 = 0
        var report = Report()
        /// The callers that asked for the run; none for one that was due.
        let waiting: [Done]

        init(waiting: [Done]) { self.waiting = waiting }
    }

    let loop: EventLoop
    private unowned let server: ServerCore
    private var schedule: SnapshotSchedule
    private var requests: [Done] = []
    private var timer: TimerID?
    /// The number of the journal's segments, as far as it is known here.
    private var segmentsKept: UInt64

    init(loop: EventLoop, server: ServerCore, segmentsKept: Int) {
        self.loop = loop
        self.server = server
        self.segmentsKept = UInt64(segmentsKept)
        let configuration = server.configuration
        schedule = SnapshotSchedule(
            segmentsKept: UInt64(segmentsKept), segmentBytes: configuration.journalSegmentBytes,
            journalBytes: configuration.snapshotJournalBytes, ageMilliseconds: configuration.snapshotAgeMilliseconds)
    }

    // MARK: Any thread

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
    func write(_ ids: [DatabaseID], of shard: Shard, _ done: @escaping @Sendable (Bool) -> Void) {
        shard.capture(ids[...]) { [self] captures, _ in
            loop.execute { [self] in
                let result = write(captures, of: shard) { _ in nil }
                if case .failure(let error) = result {
                    server.log.error("a database stays in memory", [("reason", error.message)])
                }
                shard.loop.execute {
                    if case .success = result { done(true) } else { done(false) }
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
            server.groupCommit.preparer.prepare()
            server.groupCommit.rotate { [self] result in
                loop.execute { [self] in
                    switch result {
                    case .success(let segment):
                        run.value.firstKeptSegment = segment
                        takeShard(0, run)
                    case .failure(let error):
                        fail(run, ServerError(.diskFull, "there is no room for snapshots: \(error)"))
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
        guard index < server.shards.count else { return cut(run) }
        let shard = server.shards[index]
        shard.loop.execute { [self] in
            let ids = shard.takeChanged()
            loop.execute { [self] in takeSlice(ids[...], ofShard: index, run) }
        }
    }

    private func takeSlice(_ ids: ArraySlice<DatabaseID>, ofShard index: Int, _ run: RunBox) {
        if ids.isEmpty { return takeShard(index + 1, run) }
        let shard = server.shards[index]
        shard.loop.execute { [self] in
            shard.capture(ids) { [self] captures, taken in
                loop.execute { [self] in
                    let result = write(captures, of: shard) { bytes in
                        run.value.report.databases += 1
                        run.value.report.bytes += bytes
                        // The server's stop writes them anyway.
                        return server.isDraining && run.value.waiting.isEmpty
                            ? ServerError(.folder, "the server is about to stop") : nil
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
        _ captures: [DatabaseCapture], of shard: Shard, written: (UInt64) -> ServerError?
    ) -> Result<Void, ServerError> {
        for capture in captures {
            do throws(StoreError) {
                let bytes = try shard.log.writeSnapshot(capture)
                let (id, sequence) = (capture.id, capture.sequence)
                shard.loop.execute { shard.snapshotted(id, upTo: sequence, byteCount: bytes) }
                if let error = written(bytes) { return .failure(error) }
            } catch {
                var code = ServerError.Code.folder
                if case .disk(let error) = error {
                    if error.isFull { code = .diskFull }
                    stopIfInDoubt(error)
                }
                return .failure(ServerError(code, "a snapshot can't be written, the journal stays whole: \(error)"))
            }
        }
        return .success(())
    }

    private func stopIfInDoubt(_ error: DiskError) {
        guard error.isFailedSync else { return }
        server.failStop(
            "a snapshot can't be synced: \(error). The journal has all that it holds; check the disk, then start again")
    }

    /// Removes the segments before the run's, once the folder's manifest names the new snapshots: these hold everything
    /// that changed before the run's segment.
    private func cut(_ run: RunBox) {
        do throws(DiskError) {
            try server.manifest.save()
        } catch {
            stopIfInDoubt(error)
            return fail(
                run,
                ServerError(
                    error.isFull ? .diskFull : .folder,
                    "the list of the snapshots can't be written, the journal stays whole: \(error)"))
        }
        server.groupCommit.removeSegments(before: run.value.firstKeptSegment) { [self] removed, kept in
            loop.execute { [self] in
                run.value.report.segmentsRemoved = removed
                let report = run.value.report
                server.log.info(
                    "snapshots written",
                    [
                        ("databases", String(report.databases)), ("bytes", String(report.bytes)),
                        ("segmentsRemoved", String(report.segmentsRemoved)),
                    ])
                segmentsKept = kept
                end(run, .success(report))
            }
        }
    }

    private func fail(_ run: RunBox, _ error: ServerError) {
        for shard in server.shards { shard.loop.execute { shard.findChanged() } }
        if !server.isDraining || !run.value.waiting.isEmpty {
            server.log.error("no snapshots, the journal grows on", [("reason", error.message)])
        }
        end(run, .failure(error))
    }

    private func end(_ run: RunBox, _ result: Result<Report, ServerError>) {
        let bytes: UInt64?
        switch result {
        case .success(let report): bytes = report.bytes
        case .failure: bytes = nil
        }
        schedule.ended(snapshotBytes: bytes, segmentsKept: segmentsKept, nowNanoseconds: loop.nowNanoseconds)
        for done in run.value.waiting { done(result) }
        proceed()
    }
}
