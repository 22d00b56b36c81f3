internal import BrumeLock

/// Files for the journal's next segments: those of segments that snapshots have made superfluous, and one that is
/// filled with zeros already.
///
/// A file that was used before usually still has its blocks, and its pages in the system's page cache, so that filling
/// it with zeros costs a fraction of what it costs for a new one. Filling is done ahead, and useless files are removed,
/// on another thread than the journal's, so that no commit waits for it: each usually takes some milliseconds, and some
/// tens where memory is new or the disk busy. All are in the journal's folder as `*.spare`, and no reader looks at
/// them.
final class SpareSegments: Sendable {
    /// More would only take room: the journal usually grows by so much between two snapshots.
    static let bytesLimit = 64 * 1024 * 1024
    static let countLimit = 16

    private static let suffix = ".spare"
    /// The file that is filled ahead when no segment has left one.
    private static let aheadPath = JournalFormat.folder + "/ahead" + suffix

    private struct State {
        /// Files that may be filled.
        var paths: [String] = []
        /// The file that is filled with zeros, and synced.
        var blank: String?
        /// Files to be removed.
        var useless: [String] = []
        var isPreparing = false
        /// Whether the journal is making a segment of the file that it took, which still has its old name.
        var isTaken = false
    }

    private let disk: any Disk
    /// The length of every spare file: one of another length is useless.
    private let segmentBytes: UInt64
    private let state = Lock(State())

    /// Takes over the files that an earlier process left, and removes useless ones.
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

    /// Takes over a segment's file. When this returns, the segment is gone for good; its file, if it is not kept, is
    /// removed when somebody calls ``prepare()``.
    func retire(segment number: UInt64) throws(DiskError) {
        let path = JournalFormat.path(ofSegment: number)
        // A file that can't be looked at now is not worth an error: it is removed.
        let isKept = hasRoom && (try? isUsual(path)) == true
        let spare = String(path.dropLast(JournalFormat.suffix.count)) + Self.suffix
        try disk.rename(path, to: spare)
        // Before the file is written to, the segment's name has to be gone from it for good.
        try disk.syncDirectory(JournalFormat.folder)
        state.withLock { if isKept { $0.paths.append(spare) } else { $0.useless.append(spare) } }
    }

    /// The file for a segment of so many bytes that is filled with zeros; nil when there is none. The caller owns it,
    /// and calls ``placed()`` when it has another name, or is gone.
    func takeBlank(length: UInt64) -> String? {
        state.withLock { state in
            state.isTaken = true
            return length == segmentBytes ? state.blank.take() : nil
        }
    }

    /// Notes that the file that ``takeBlank(length:)`` gave is a segment, or failed to become one.
    func placed() { state.withLock { $0.isTaken = false } }

    /// Removes useless files, and fills a file with zeros for the segment after this one, unless there is one. Call it
    /// on any thread; one call at a time has an effect.
    ///
    /// A failure does no harm yet: the file is removed, and the journal makes its segment itself when it needs it, and
    /// reports what is wrong. What can't be removed now is removed by the next start.
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

    /// Removes useless files. Call it on any thread.
    func removeUseless() {
        while let path = state.withLock({ $0.useless.popLast() }) { try? disk.remove(path) }
    }

    /// Removes all files that wait for a use, because the disk is full. Returns false when there were none.
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

    /// Whether a segment is ready.
    package var isPrepared: Bool { spares.isPrepared }

    /// Makes one unless there is one, and removes useless files. Blocks on the disk.
    package func prepare() { spares.prepare() }

    /// Removes useless files, and makes nothing.
    package func removeUseless() { spares.removeUseless() }
}
