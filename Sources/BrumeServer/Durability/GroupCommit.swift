internal import BrumeStore
internal import Glibc
internal import Synchronization

/// The journal's thread: takes what all shards have committed, writes it as one batch, syncs it, and tells the shards.
///
/// While a sync runs the loops go on working, and what they commit meanwhile becomes the next batch. A failed write or sync
/// is final (P8): nothing is acknowledged after it.
///
/// `@unchecked Sendable`: `state` is behind its lock, `writer` and `batch` belong to the journal's thread once that runs.
final class GroupCommit: @unchecked Sendable {
    /// What a shard hands in: encoded entries, their bytes, and how many entries it has handed in altogether.
    struct Submission {
        var shard: Int
        var entries: [[UInt8]]
        var byteCount: Int
        var lastPosition: UInt64
    }

    private struct Removal {
        var firstKept: UInt64
        var done: @Sendable (_ segmentsRemoved: Int) -> Void
    }

    private struct State {
        var submissions: [Submission] = []
        var byteCount = 0
        var rotations: [@Sendable (UInt64) -> Void] = []
        var removals: [Removal] = []
        var isStopping = false
    }

    private let state = Mutex(State())
    private let wake = Semaphore()
    private var writer: JournalWriter
    /// Its memory is kept from one batch to the next.
    private var batch = JournalBatch()
    private var thread: pthread_t = 0
    /// The segment that ``segmentBegan`` was told of last.
    private var knownSegment: UInt64

    /// Called on the journal's thread: everything of `shard` up to `position` is on disk.
    private let becameDurable: @Sendable (_ shard: Int, _ position: UInt64) -> Void
    /// Called on the journal's thread when the journal has grown by a segment, with the number of those that it keeps.
    private let segmentBegan: @Sendable (_ segmentsKept: UInt64) -> Void
    /// Called on the journal's thread when the disk failed. Ends the process.
    private let failStop: @Sendable (String) -> Void

    init(
        writer: JournalWriter, becameDurable: @escaping @Sendable (Int, UInt64) -> Void,
        segmentBegan: @escaping @Sendable (UInt64) -> Void, failStop: @escaping @Sendable (String) -> Void
    ) {
        self.writer = writer
        knownSegment = writer.segment
        self.segmentBegan = segmentBegan
        self.becameDurable = becameDurable
        self.failStop = failStop
    }

    // MARK: Any thread

    /// Hands in committed entries. Once per loop turn.
    func submit(_ submission: Submission) {
        let isFirst = state.withLock { state in
            state.byteCount += submission.byteCount
            state.submissions.append(submission)
            return state.submissions.count == 1
        }
        if isFirst { wake.post() }
    }

    /// Bytes that wait for the disk.
    var pendingByteCount: Int { state.withLock { $0.byteCount } }

    /// Starts a new segment behind all that was handed in before; `done` gets its number, on the journal's thread.
    func rotate(_ done: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.rotations.append(done) }
        wake.post()
    }

    /// Removes the segments before `number`: every database in them has a newer snapshot. `done` is called on the journal's
    /// thread.
    func removeSegments(before number: UInt64, _ done: @escaping @Sendable (_ segmentsRemoved: Int) -> Void) {
        state.withLock { $0.removals.append(Removal(firstKept: number, done: done)) }
        wake.post()
    }

    func start() {
        let argument = Unmanaged.passRetained(self).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { argument in
                let commit = Unmanaged<GroupCommit>.fromOpaque(argument!).takeRetainedValue()
                commit.run()
                return nil
            }, argument)
        precondition(result == 0, "no thread for the journal")
    }

    /// Ends the thread when everything handed in is durable, and waits for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.post()
        pthread_join(thread, nil)
    }

    // MARK: The journal's thread

    private func run() {
        while true {
            wake.wait()
            while let work = takeWork() {
                if !perform(work) { return }
            }
            if state.withLock({ $0.isStopping && $0.submissions.isEmpty }) { return }
        }
    }

    private struct Work {
        var submissions: [Submission]
        var rotations: [@Sendable (UInt64) -> Void]
        var removals: [Removal]
    }

    private func takeWork() -> Work? {
        state.withLock { state in
            if state.submissions.isEmpty, state.rotations.isEmpty, state.removals.isEmpty { return nil }
            var count = 0
            var bytes = 0
            while count < state.submissions.count,
                count == 0 || bytes + state.submissions[count].byteCount <= ServerLimits.batchBytes
            {
                bytes += state.submissions[count].byteCount
                count += 1
            }
            let isAll = count == state.submissions.count
            let work = Work(
                submissions: Array(state.submissions.prefix(count)), rotations: isAll ? state.rotations : [],
                removals: isAll ? state.removals : [])
            state.submissions.removeFirst(count)
            state.byteCount -= bytes
            if isAll {
                state.rotations = []
                state.removals = []
            }
            return work
        }
    }

    private func write() throws(DiskError) {
        try writer.write(&batch)
        batch.removeAll()
    }

    private func perform(_ work: Work) -> Bool {
        do throws(DiskError) {
            if !work.submissions.isEmpty {
                for submission in work.submissions {
                    for entry in submission.entries {
                        if !batch.hasRoom(for: entry) { try write() }
                        batch.append(entry)
                    }
                }
                try write()
                for submission in work.submissions { becameDurable(submission.shard, submission.lastPosition) }
                if writer.segment != knownSegment {
                    knownSegment = writer.segment
                    segmentBegan(writer.segment - writer.oldestSegment + 1)
                }
            }
            if !work.rotations.isEmpty {
                try writer.rotate()
                for done in work.rotations { done(writer.segment) }
            }
            for removal in work.removals {
                let oldest = writer.oldestSegment
                try writer.removeSegments(before: removal.firstKept)
                removal.done(Int(writer.oldestSegment - oldest))
            }
            return true
        } catch {
            failStop(
                "the journal can't be written: \(error). Nothing was acknowledged after it; free the disk or replace it, then start again"
            )
            return false
        }
    }
}
