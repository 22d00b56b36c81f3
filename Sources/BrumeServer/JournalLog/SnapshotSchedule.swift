internal import BrumeService

/// Decides when the server writes snapshots: by itself, so that the journal, and with it the time of a start, stays
/// bounded, and on request. Never two runs at once.
///
/// Pure: events in, then ``next(nowNanoseconds:)`` says what to do. Without a request a run is due when the journal has
/// so many segments, and at least as many bytes as the last snapshots, so that snapshots at most double what is
/// written, however large a database is; when the oldest commit that only the journal holds has reached an age; and
/// when its commits moved so many records between shared trees that a replay would take seconds to find them, a minute
/// after the last run at the earliest, or ten times as long after it as it took. After a failure it waits, longer each
/// time.
struct SnapshotSchedule {
    enum Action: Equatable {
        case none
        /// Begin a run; ``ended(snapshotBytes:segmentsKept:nowNanoseconds:)`` follows.
        case start
        /// Ask again at this time, unless an event comes before.
        case wait(untilNanoseconds: UInt64)
    }

    private static let firstPauseNanoseconds: UInt64 = 15_000_000_000
    private static let longestPauseNanoseconds: UInt64 = 900_000_000_000

    /// How long after a run the next one may be due for what commits moved: so long, and so many times as long as the
    /// run took.
    private static let movesPauseNanoseconds: UInt64 = 60_000_000_000
    private static let movesPauseRuns: UInt64 = 10
    /// A replay finds a million records in about a second.
    static let movedRecordsMax = 5_000_000

    private let segmentsMin: UInt64
    private let segmentBytes: UInt64
    private let ageNanoseconds: UInt64

    private var segmentsKept: UInt64
    private var lastSnapshotBytes: UInt64 = 0
    /// When the oldest commit came that no snapshot holds and no run is about to take.
    private var oldestChangeNanoseconds: UInt64?
    private var movedRecords = 0
    /// Those that the run under way takes.
    private var takenRecords = 0
    private var startedNanoseconds: UInt64 = 0
    /// Before this no run is due for what commits moved.
    private var movesAwaitNanoseconds: UInt64 = 0
    private var isRunning = false
    private var isRequested = false
    private var pauseNanoseconds: UInt64 = 0
    private var pausedUntilNanoseconds: UInt64 = 0

    /// - Parameters:
    ///   - segmentsKept: The journal's segments now.
    ///   - journalBytes: What the journal may hold beyond the snapshots.
    ///   - ageMilliseconds: How long a commit may be in the journal alone.
    init(segmentsKept: UInt64, segmentBytes: Int, journalBytes: Int, ageMilliseconds: UInt64) {
        self.segmentsKept = segmentsKept
        self.segmentBytes = UInt64(max(1, segmentBytes))
        segmentsMin = max(2, UInt64(max(0, journalBytes)) / self.segmentBytes)
        ageNanoseconds = ageMilliseconds.multipliedReportingOverflow(by: 1_000_000).partialValue
    }

    // MARK: Events

    /// The journal began a segment.
    mutating func segmentBegan(segmentsKept: UInt64) { self.segmentsKept = segmentsKept }

    /// A commit came that only the journal holds.
    mutating func changed(nowNanoseconds: UInt64) {
        if oldestChangeNanoseconds == nil { oldestChangeNanoseconds = nowNanoseconds }
    }

    /// Commits moved so many records that the journal does not name: see ``Database/takeMovedRecords()``.
    mutating func recordsMoved(_ count: Int) { movedRecords += count }

    /// Somebody asks for a run that begins from now on.
    mutating func requested() { isRequested = true }

    /// The run is over. `snapshotBytes` is how many bytes its snapshots have; nil when it failed.
    mutating func ended(snapshotBytes: UInt64?, segmentsKept: UInt64, nowNanoseconds: UInt64) {
        precondition(isRunning, "a run of snapshots ends that did not begin")
        isRunning = false
        let duration = nowNanoseconds - min(startedNanoseconds, nowNanoseconds)
        movesAwaitNanoseconds = nowNanoseconds + max(Self.movesPauseNanoseconds, Self.movesPauseRuns * duration)
        self.segmentsKept = segmentsKept
        if let snapshotBytes {
            lastSnapshotBytes = snapshotBytes
            pauseNanoseconds = 0
            pausedUntilNanoseconds = 0
        } else {
            pauseNanoseconds = min(
                max(2 * pauseNanoseconds, Self.firstPauseNanoseconds), Self.longestPauseNanoseconds)
            pausedUntilNanoseconds = nowNanoseconds + pauseNanoseconds
            changed(nowNanoseconds: nowNanoseconds)
            movedRecords += takenRecords
        }
        takenRecords = 0
    }

    // MARK: What to do

    mutating func next(nowNanoseconds: UInt64) -> Action {
        if isRunning { return .none }
        if isRequested { return start(nowNanoseconds) }
        let ageDue = oldestChangeNanoseconds.map { $0.addingReportingOverflow(ageNanoseconds) }.map {
            $0.overflow ? UInt64.max : $0.partialValue
        }
        let isLong = segmentsKept >= max(segmentsMin, lastSnapshotBytes / segmentBytes)
        let movesDue = movedRecords < Self.movedRecordsMax ? nil : max(movesAwaitNanoseconds, nowNanoseconds)
        guard var due = isLong ? nowNanoseconds : [ageDue, movesDue].compactMap(\.self).min() else { return .none }
        due = max(due, pausedUntilNanoseconds)
        return due <= nowNanoseconds ? start(nowNanoseconds) : .wait(untilNanoseconds: due)
    }

    private mutating func start(_ nowNanoseconds: UInt64) -> Action {
        isRunning = true
        (takenRecords, movedRecords) = (movedRecords, 0)
        startedNanoseconds = nowNanoseconds
        isRequested = false
        oldestChangeNanoseconds = nil
        return .start
    }
}
