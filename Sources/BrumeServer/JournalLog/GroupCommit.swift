internal import BrumeLock
internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Glibc
internal import Synchronization

/// The journal's thread: takes what all shards have committed, writes it as one batch, syncs it, and tells the shards.
///
/// While a sync runs the loops go on working, and what they commit meanwhile becomes the next batch. A failed write or
/// sync is final (P8): nothing is acknowledged after it.
///
/// A full disk is the exception, because the write was refused outright, so no state is unknown: the thread keeps its
/// batch and tries it again every second. Meanwhile nothing of the batch, or after it, is durable, so nothing of it is
/// answered or shown; ``isDiskFull`` tells the shards to refuse writes. When there is room again, everything goes on as
/// if the sync had taken long.
///
/// `@unchecked Sendable`: `state` is behind its lock, `writer` and `batch` belong to the journal's thread once that
/// runs.
final class GroupCommit: @unchecked Sendable {
    private struct State {
        var queue = JournalQueue()
        var isStopping = false
        /// Whether a full disk ends the process, because it is about to end anyway.
        var givesUp = false
    }

    private let state = Lock(State())
    private let wake = Semaphore()
    private let diskIsFull = Atomic<Bool>(false)
    /// The figures, under a lock that is taken once per batch, so that they can be read while the disk holds up the
    /// thread.
    private let counted: Lock<ServerFigures.Journal>
    /// The work that was taken and is not done; a full disk may hold it up. Belongs to the journal's thread, like the
    /// writer.
    private var current: Progress?
    private var writer: JournalWriter
    /// Its memory is kept from one batch to the next.
    private var batch = JournalBatch()
    private var thread: SystemThread?
    /// Prepares the segments to come.
    let preparer: SegmentPreparer
    private let preparesSegments: Bool
    /// The segment whose successor ``preparer`` was asked for last. Belongs to the journal's thread.
    private var precededSegment: UInt64 = 0
    /// The last segment that ``segmentBegan`` was called for.
    private var knownSegment: UInt64

    /// Called on the journal's thread: everything of `shard` up to `position` is on disk.
    private let becameDurable: @Sendable (_ shard: Int, _ position: UInt64) -> Void
    /// Called on the journal's thread when the journal has grown by a segment, with the number of those that it keeps.
    private let segmentBegan: @Sendable (_ segmentsKept: UInt64) -> Void
    /// Called on the journal's thread: with the error when the disk has become full, with nil when there is room again.
    private let diskFullChanged: @Sendable (DiskError?) -> Void
    /// Called on the journal's thread when the disk failed. Ends the process.
    private let failStop: @Sendable (String) -> Void
    private let diskFullPauseMilliseconds: Int
    /// Has the thread look for more work before it sleeps, as the loops do. Belongs to the journal's thread.
    private var spinner: Spinner

    init(
        writer: JournalWriter, diskFullPauseMilliseconds: Int = ServerLimits.diskFullPauseMilliseconds,
        spinner: Spinner = Spinner(), preparesSegments: Bool = true,
        becameDurable: @escaping @Sendable (Int, UInt64) -> Void,
        segmentBegan: @escaping @Sendable (UInt64) -> Void,
        diskFullChanged: @escaping @Sendable (DiskError?) -> Void,
        failStop: @escaping @Sendable (String) -> Void
    ) {
        self.writer = writer
        self.diskFullPauseMilliseconds = diskFullPauseMilliseconds
        self.spinner = spinner
        knownSegment = writer.segment
        preparer = SegmentPreparer(writer.preparation)
        self.preparesSegments = preparesSegments
        var counted = ServerFigures.Journal()
        counted.segments = Int(clamping: writer.segment - writer.oldestSegment + 1)
        self.counted = Lock(counted)
        self.segmentBegan = segmentBegan
        self.becameDurable = becameDurable
        self.diskFullChanged = diskFullChanged
        self.failStop = failStop
    }

    // MARK: Any thread

    /// Hands in committed entries. Once per loop turn.
    ///
    /// - Returns: Memory for the entries of the next turn, if some is left over.
    @discardableResult
    func submit(_ submission: JournalQueue.Submission) -> JournalEntries {
        let (isFirst, room) = state.withLock { ($0.queue.append(submission), $0.queue.takeEmptied()) }
        if isFirst { wake.post() }
        return room
    }

    /// What was written since the start.
    var figures: ServerFigures.Journal { counted.withLock { $0 } }

    /// Bytes that wait for the disk.
    var pendingByteCount: Int { state.withLock { $0.queue.byteCount } }

    /// Whether a batch waits for room on the disk. New writes should be refused then.
    var isDiskFull: Bool { diskIsFull.load(ordering: .relaxed) }

    /// Stops waiting for room, because the server is about to stop: a disk that is full, or becomes full, ends the
    /// process as a failed one does.
    func giveUpOnFullDisk() {
        state.withLock { $0.givesUp = true }
    }

    /// Starts a new segment after everything that was handed in before; `done` gets its number, on the journal's
    /// thread, or the error of a disk that has no room for one, which leaves the journal as it was.
    func rotate(_ done: @escaping @Sendable (Result<UInt64, DiskError>) -> Void) {
        state.withLock { $0.queue.append(done) }
        wake.post()
    }

    /// Removes the segments before `number`: every database in them has a newer snapshot. `done` is called on the
    /// journal's thread.
    func removeSegments(
        before number: UInt64, _ done: @escaping @Sendable (_ segmentsRemoved: Int, _ segmentsKept: UInt64) -> Void
    ) {
        state.withLock { $0.queue.append(JournalQueue.Removal(firstKept: number, done: done)) }
        wake.post()
    }

    func start() {
        thread = SystemThread(needed: "the journal") { self.run() }
        if preparesSegments { preparer.start() }
    }

    /// Ends the thread when everything handed in is durable, and waits for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.post()
        thread?.join()
        preparer.stop()
    }

    // MARK: Without a thread

    /// Whether there is something to do.
    var hasWork: Bool { current != nil || state.withLock { !$0.queue.isEmpty } }

    /// The segment that the next batch goes to, unless it is full.
    var segment: UInt64 { writer.segment }

    /// Does the next piece of work on the calling thread, in place of ``start()``; on a full disk tries the last one
    /// again, once. `observe` gets the entries before they are written.
    func step(_ observe: ([[UInt8]]) -> Void) {
        if current == nil {
            guard let work = takeWork() else { return }
            for submission in work.submissions { observe(submission.entries.separate) }
            current = Progress(work: work)
        }
        _ = proceed()
        if writer.isNearlyFull { preparer.prepare() }
        // A thread does this when it has had nothing to do for a while. Here it is done now and then, the same in every
        // run.
        if !hasWork, writer.batchCount % 4 == 0 { _ = record() }
    }

    // MARK: The journal's thread

    private func run() {
        while true {
            if writer.isRecorded {
                wake.wait(&spinner)
            } else if !wake.wait(&spinner, milliseconds: ServerLimits.journalRecordMilliseconds) {
                guard record() else { return }
                continue
            }
            while let work = takeWork() {
                current = Progress(work: work)
                var outcome = proceed()
                while outcome == .diskIsFull {
                    pause()
                    outcome = proceed()
                }
                if outcome == .failed { return }
            }
            if state.withLock({ $0.isStopping && !$0.queue.hasSubmissions }) {
                _ = record()
                return
            }
        }
    }

    /// Notes on the disk how far the journal is synced; returns false when the disk failed. If the disk is full, the
    /// note is tried again after the same time.
    private func record() -> Bool {
        do throws(DiskError) {
            try writer.record()
        } catch {
            guard error.isFull, !writer.hasFailed else {
                stop(for: error)
                return false
            }
        }
        return true
    }

    private func takeWork() -> JournalQueue.Work? {
        state.withLock { $0.queue.take(bytesLimit: ServerLimits.batchBytes) }
    }

    /// Writes the batch; returns false when there is no room for it now.
    private func write() throws(DiskError) -> Bool {
        let (entries, bytes, began) = (batch.entryCount, batch.count, MonotonicClock.nowNanoseconds)
        do throws(DiskError) {
            try writer.write(&batch)
        } catch {
            guard error.isFull, !writer.hasFailed, !givesUp else { throw error }
            if !diskIsFull.exchange(true, ordering: .relaxed) { diskFullChanged(error) }
            return false
        }
        let took = MonotonicClock.nowNanoseconds - began
        let segments = writer.segment - writer.oldestSegment + 1
        counted.withLock { counted in
            counted.syncNanoseconds.record(took)
            counted.batchEntries.record(UInt64(entries))
            counted.batchBytes.record(UInt64(bytes))
            counted.segments = Int(clamping: segments)
        }
        batch.removeAll()
        if diskIsFull.exchange(false, ordering: .relaxed) { diskFullChanged(nil) }
        return true
    }

    private var givesUp: Bool { state.withLock { $0.givesUp } }

    /// Waits until a full disk is tried again, or given up.
    private func pause() {
        for _ in 0..<10 where !givesUp { usleep(UInt32(diskFullPauseMilliseconds) * 100) }
    }

    private func rotate() throws(DiskError) -> Result<UInt64, DiskError> {
        do throws(DiskError) {
            try writer.rotate()
            return .success(writer.segment)
        } catch {
            guard error.isFull, !writer.hasFailed else { throw error }
            return .failure(error)
        }
    }

    /// Removes one segment, so that no batch waits for many; returns whether it did. On a full disk the others may have
    /// to stay, until the next time.
    private func removeSegment(before number: UInt64) throws(DiskError) -> Bool {
        let oldest = writer.oldestSegment
        do throws(DiskError) {
            try writer.removeSegments(before: number, limit: 1)
        } catch {
            guard error.isFull, !writer.hasFailed else { throw error }
        }
        let segments = writer.segment - writer.oldestSegment + 1
        counted.withLock { $0.segments = Int(clamping: segments) }
        return writer.oldestSegment > oldest
    }

    /// How far a piece of work has come.
    private struct Progress {
        let work: JournalQueue.Work
        /// The next submission that goes into the batch, and where its next entry begins.
        var submission = 0
        var offset = 0
    }

    private enum Outcome {
        case done
        /// No state is unknown: do the same again when there is room.
        case diskIsFull
        case failed
    }

    /// Goes on with the current work.
    private func proceed() -> Outcome {
        do throws(DiskError) {
            guard try writeEntries() else { return .diskIsFull }
            var work = current!.work
            current = nil
            if !work.submissions.isEmpty {
                for submission in work.submissions { becameDurable(submission.shard, submission.lastPosition) }
                recycle(&work.submissions)
                if writer.isNearlyFull, precededSegment != writer.segment {
                    precededSegment = writer.segment
                    preparer.ask()
                }
                if writer.segment != knownSegment {
                    knownSegment = writer.segment
                    segmentBegan(writer.segment - writer.oldestSegment + 1)
                }
            }
            if !work.rotations.isEmpty {
                let result = try rotate()
                for done in work.rotations { done(result) }
            }
            for var removal in work.removals {
                if try removeSegment(before: removal.firstKept) {
                    // The preparer may have to remove the segment's file. What came meanwhile is written first.
                    preparer.ask()
                    removal.removedCount += 1
                    state.withLock { $0.queue.append(removal) }
                } else {
                    removal.done(removal.removedCount, writer.segment - writer.oldestSegment + 1)
                }
            }
            return .done
        } catch {
            stop(for: error)
            return .failed
        }
    }

    /// The same sentence, whichever write or sync failed first: the operator has to do the same.
    private func stop(for error: DiskError) {
        failStop(
            "the journal can't be written: \(error). Nothing was acknowledged after it; "
                + "\(error.isFull ? "make room on the disk" : "check the disk"), then start again")
    }

    /// Gives the memory of what is durable back to the queue. Outside the lock that every loop takes: what is not kept
    /// is freed here.
    private func recycle(_ submissions: inout [JournalQueue.Submission]) {
        var room: [JournalEntries] = []
        // Taken out one by one: memory that somebody else still refers to can't be used again.
        while var submission = submissions.popLast() {
            var entries = exchange(&submission.entries, with: JournalEntries())
            guard room.count < JournalQueue.emptiedMax, JournalQueue.mayKeep(entries) else { continue }
            entries.removeAll()
            room.append(entries)
        }
        state.withLock { $0.queue.becameDurable(room) }
    }

    /// Writes the current work's entries; returns false when there is no room for them now.
    private func writeEntries() throws(DiskError) -> Bool {
        let submissions = current!.work.submissions
        while current!.submission < submissions.count {
            let entries = submissions[current!.submission].entries
            while true {
                current!.offset = batch.append(entries, from: current!.offset)
                if current!.offset == entries.byteCount { break }
                guard try write() else { return false }
            }
            current!.submission += 1
            current!.offset = 0
        }
        return batch.isEmpty ? true : try write()
    }
}
