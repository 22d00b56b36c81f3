/// When the server writes snapshots by itself, so that the journal, and with it the time of a start, stays bounded.
///
/// Pure. They are due when the journal has so many segments, and at least as many bytes as the snapshots of the last time: so
/// snapshots at most double what is written, however large a database is.
struct SnapshotSchedule {
    private let segmentsMin: UInt64
    private let segmentBytes: UInt64
    private var lastSnapshotBytes: UInt64 = 0
    private var isRunning = false

    init(segmentsMin: UInt64 = ServerLimits.journalSegments, segmentBytes: Int) {
        self.segmentsMin = segmentsMin
        self.segmentBytes = UInt64(max(1, segmentBytes))
    }

    /// The journal began a segment. Returns whether snapshots are to be written now; ``ended(snapshotBytes:)`` follows.
    mutating func segmentBegan(segmentsKept: UInt64) -> Bool {
        guard !isRunning, segmentsKept >= max(segmentsMin, lastSnapshotBytes / segmentBytes) else { return false }
        isRunning = true
        return true
    }

    /// The snapshots are written, or, with nil, could not be: they are due again with the next segment.
    mutating func ended(snapshotBytes: UInt64?) {
        isRunning = false
        if let snapshotBytes { lastSnapshotBytes = snapshotBytes }
    }
}
