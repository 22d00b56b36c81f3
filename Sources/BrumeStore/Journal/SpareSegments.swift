/// The files of journal segments that snapshots have made superfluous, kept to serve again.
///
/// Their blocks and their places in the system's page cache are there already, so that filling one with zeros costs a fraction
/// of what it costs for a new file. They stand in the journal's folder as `%016x.spare`, and no reader looks at them.
struct SpareSegments: Sendable {
    /// More would only take room: this is what the journal grows by between two snapshots, mostly.
    static let bytesLimit = 64 * 1024 * 1024
    static let countLimit = 16

    private static let suffix = ".spare"

    /// Of every spare file: one of another length has no use.
    private let segmentBytes: UInt64
    private var paths: [String] = []

    /// Takes over what an earlier process left, and removes what has no use.
    init(of disk: any Disk, segmentBytes: Int) throws(DiskError) {
        self.segmentBytes = UInt64(segmentBytes)
        for name in try disk.list(JournalFormat.folder) where name.hasSuffix(Self.suffix) {
            let path = JournalFormat.folder + "/" + name
            if hasRoom, try isUsual(path, on: disk) {
                paths.append(path)
            } else {
                try disk.remove(path)
            }
        }
    }

    var count: Int { paths.count }

    private var hasRoom: Bool {
        count < Self.countLimit && (UInt64(count) + 1) * segmentBytes <= UInt64(Self.bytesLimit)
    }

    private func isUsual(_ path: String, on disk: any Disk) throws(DiskError) -> Bool {
        let file = try disk.openForReading(path)
        defer { disk.close(file) }
        return try disk.size(of: file) == segmentBytes
    }

    /// Keeps a segment's file, or removes it. When this returns, the segment is gone for good.
    mutating func retire(segment number: UInt64, on disk: any Disk) throws(DiskError) {
        let path = JournalFormat.path(ofSegment: number)
        guard hasRoom, try isUsual(path, on: disk) else {
            try disk.remove(path)
            return try disk.syncDirectory(JournalFormat.folder)
        }
        let spare = String(path.dropLast(JournalFormat.suffix.count)) + Self.suffix
        try disk.rename(path, to: spare)
        // Before the file is written to, the segment's name has to be gone from it for good.
        try disk.syncDirectory(JournalFormat.folder)
        paths.append(spare)
    }

    /// A file for a segment of so many bytes; nil where none is kept. The caller owns it.
    mutating func take(length: UInt64) -> String? {
        length == segmentBytes ? paths.popLast() : nil
    }
}
