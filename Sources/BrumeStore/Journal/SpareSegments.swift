internal import BrumeLock

/// Files for the journal's next segments: those of segments that snapshots have made superfluous, and one that is
/// filled with zeros already.
///
/// The blocks of a file that served before, and its places in the system's page cache, are mostly there, so that
/// filling it with zeros costs a fraction of what it costs for a new one. Filling is done ahead, and what has no use is
/// removed, on another thread than the journal's, so that no commit waits for it: each takes some milliseconds mostly,
/// and some tens where memory is new or the disk busy. All stand in the journal's folder as `*.spare`, and no reader
/// looks at them.
final class SpareSegments: Sendable {
    /// More would only take room: this is what the journal grows by between two snapshots, mostly.
    static let bytesLimit = 64 * 1024 * 1024
    static let countLimit = 16

    private static let suffix = ".spare"
    /// What is filled ahead where no segment has left a file.
    private static let aheadPath = JournalFormat.folder + "/ahead" + suffix

    private struct State {
        /// Files that may be filled.
        var paths: [String] = []
        /// The file that is filled, and on the disk.
        var blank: String?
        /// Files to be removed.
        var useless: [String] = []
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

    /// Takes over a segment's file. When this returns, the segment is gone for good; its file, if it is not kept, when
    /// somebody calls ``prepare()``.
    func retire(segment number: UInt64) throws(DiskError) {
        let path = JournalFormat.path(ofSegment: number)
        // One that can't be looked at now is not worth a fault: it goes.
        let isKept = hasRoom && (try? isUsual(path)) == true
        let spare = String(path.dropLast(JournalFormat.suffix.count)) + Self.suffix
        try disk.rename(path, to: spare)
        // Before the file is written to, the segment's name has to be gone from it for good.
        try disk.syncDirectory(JournalFormat.folder)
        state.withLock { if isKept { $0.paths.append(spare) } else { $0.useless.append(spare) } }
    }

    /// The file for a segment of so many bytes that is filled with zeros; nil where there is none. The caller owns it,
    /// and calls ``placed()`` when it has another name, or is gone.
    func takeBlank(length: UInt64) -> String? {
        state.withLock { state in
            state.isTaken = true
            return length == segmentBytes ? state.blank.take() : nil
        }
    }

    /// What ``takeBlank(length:)`` gave is a segment, or failed to become one.
    func placed() { state.withLock { $0.isTaken = false } }

    /// Removes what has no use, and fills a file with zeros for the segment after this one, unless there is one. On any
    /// thread; one call at a time has an effect.
    ///
    /// A failure is no one's yet: the file goes, and the journal makes its segment itself when it needs it, and tells
    /// what is wrong. What can't be removed now is removed by the next start.
    func prepare() {
        removeUseless()
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

    /// Removes what has no use. On any thread.
    func removeUseless() {
        while let path = state.withLock({ $0.useless.popLast() }) { try? disk.remove(path) }
    }

    /// Removes all files that wait for a use, because the disk is full; false where there were none.
    func removeAll() -> Bool {
        let hadSome = state.withLock { state in
            state.useless += state.paths
            state.paths = []
            if let blank = state.blank.take() { state.useless.append(blank) }
            return !state.useless.isEmpty
        }
        removeUseless()
        return hadSome
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

    /// Makes one unless there is one, and removes what has no use. Blocks on the disk.
    package func prepare() { spares.prepare() }

    /// Removes what has no use, and makes nothing.
    package func removeUseless() { spares.removeUseless() }
}
