internal import BrumeLock

/// Files for the journal's next segments: those of segments that snapshots have made superfluous, and one that is filled with zeros
/// already.
///
/// The blocks of a file that served before, and its places in the system's page cache, are there already, so that filling it with
/// zeros costs a fraction of what it costs for a new one. Filling ahead, on another thread than the journal's, keeps every commit
/// from waiting for it: some milliseconds mostly, some tens where memory is new or the disk busy. All stand in the journal's folder as
/// `*.spare`, and no reader looks at them.
final class SpareSegments: Sendable {
    /// More would only take room: this is what the journal grows by between two snapshots, mostly.
    static let bytesLimit = 64 * 1024 * 1024
    static let countLimit = 16

    private static let suffix = ".spare"
    /// What is filled ahead where no segment has left a file.
    private static let aheadPath = JournalFormat.folder + "/ahead" + suffix

    /// A file for a segment.
    struct Spare: Sendable {
        let path: String
        /// Whether all of it is zero, and on the disk.
        let isBlank: Bool
    }

    private struct State {
        var paths: [String] = []
        var blank: String?
        var isPreparing = false
        /// The journal makes a segment of what it took, which has its old name still.
        var isTaken = false
    }

    private let disk: any Disk
    /// Of every spare file: one of another length has no use.
    private let segmentBytes: UInt64
    private let state = Lock(State())

    /// Takes over what an earlier process left, and removes what has no use.
    init(of disk: any Disk, segmentBytes: Int) throws(DiskError) {
        self.disk = disk
        self.segmentBytes = UInt64(segmentBytes)
        for name in try disk.list(JournalFormat.folder) where name.hasSuffix(Self.suffix) {
            let path = JournalFormat.folder + "/" + name
            if hasRoom, try isUsual(path) {
                state.withLock { $0.paths.append(path) }
            } else {
                try disk.remove(path)
            }
        }
    }

    var isPrepared: Bool { state.withLock { $0.blank != nil } }

    var count: Int { state.withLock { $0.paths.count } }

    private var hasRoom: Bool {
        let count = count
        return count < Self.countLimit && (UInt64(count) + 1) * segmentBytes <= UInt64(Self.bytesLimit)
    }

    private func isUsual(_ path: String) throws(DiskError) -> Bool {
        let file = try disk.openForReading(path)
        defer { disk.close(file) }
        return try disk.size(of: file) == segmentBytes
    }

    /// Keeps a segment's file, or removes it. When this returns, the segment is gone for good.
    func retire(segment number: UInt64) throws(DiskError) {
        let path = JournalFormat.path(ofSegment: number)
        guard hasRoom, try isUsual(path) else {
            try disk.remove(path)
            return try disk.syncDirectory(JournalFormat.folder)
        }
        let spare = String(path.dropLast(JournalFormat.suffix.count)) + Self.suffix
        try disk.rename(path, to: spare)
        // Before the file is written to, the segment's name has to be gone from it for good.
        try disk.syncDirectory(JournalFormat.folder)
        state.withLock { $0.paths.append(spare) }
    }

    /// A file for a segment of so many bytes; nil where none is kept. The caller owns it, and calls ``placed()`` when it has another
    /// name, or is gone.
    func take(length: UInt64) -> Spare? {
        state.withLock { state in
            state.isTaken = true
            guard length == segmentBytes else { return nil }
            if let blank = state.blank.take() { return Spare(path: blank, isBlank: true) }
            return state.paths.popLast().map { Spare(path: $0, isBlank: false) }
        }
    }

    /// What ``take(length:)`` gave is a segment, or failed to become one.
    func placed() { state.withLock { $0.isTaken = false } }

    /// Fills a file with zeros for the segment after this one, unless there is one. On any thread; one call at a time has an effect.
    ///
    /// A failure is no one's yet: the file goes, and the journal makes its segment itself when it needs it, and tells what is wrong.
    func prepare() {
        let claimed: (path: String, isNew: Bool)? = state.withLock { state in
            if state.blank != nil || state.isPreparing || state.isTaken { return nil }
            state.isPreparing = true
            return state.paths.popLast().map { ($0, false) } ?? (Self.aheadPath, true)
        }
        guard let (path, isNew) = claimed else { return }
        let isDone = fill(path, isNew: isNew)
        state.withLock { state in
            state.isPreparing = false
            if isDone { state.blank = path }
        }
    }

    private func fill(_ path: String, isNew: Bool) -> Bool {
        // What can't be made or opened may be somebody else's: it stays.
        guard let file = isNew ? try? disk.create(path) : try? disk.openForWriting(path) else { return false }
        do throws(DiskError) {
            try disk.fillWithZeros(file, length: segmentBytes)
            try disk.sync(file)
            disk.close(file)
            return true
        } catch {
            disk.close(file)
            try? disk.remove(path)
            return false
        }
    }
}

/// Makes the journal's next segment before it is needed; from any thread but the journal's.
package struct SegmentPreparation: Sendable {
    let spares: SpareSegments

    /// Whether a segment waits.
    package var isPrepared: Bool { spares.isPrepared }

    /// Blocks on the disk. Does nothing when there is a segment that waits.
    package func prepare() { spares.prepare() }
}
