internal import BrumeModel

/// Reads one snapshot whole and checks every byte against its checksums, without making a database of it: in pieces, so
/// that the thread may do other things between. Takes about a nanosecond a byte, and the memory of one block.
struct SnapshotCheck {
    private var reader: SnapshotReader
    private var header: SnapshotHeader?
    private var blocks: UInt64 = 0
    private(set) var isDone = false

    /// Opens the file; returns nil when it does not exist. The caller has to close it.
    init?(_ path: String, on disk: any Disk) throws(StoreError) {
        guard let reader = try SnapshotReader(opening: path, on: disk) else { return nil }
        self.reader = reader
    }

    /// The number of bytes that were read.
    var byteCount: UInt64 { reader.offset }

    func close() { reader.close() }

    /// Continues to read, to the end or until `limit` bytes of the file and the block that they end in have been read.
    mutating func read(upTo limit: UInt64) throws(StoreError) {
        if header == nil { header = try reader.readHeader(expecting: nil) }
        while !isDone, reader.offset < limit {
            let start = reader.offset
            guard let (kind, content) = try reader.nextBlock(decompressesContent: false) else {
                preconditionFailure("a check without limits came to one")
            }
            switch kind {
            case .header: throw reader.damage("a second header follows", at: start)
            case .content: blocks += 1
            case .footer:
                try reader.check(footer: content, header: header!, counts: nil, blocks: blocks)
                isDone = true
            }
        }
    }

    /// Checks a whole file. Returns the last commit that it holds, or nil when it does not exist.
    static func run(_ path: String, on disk: any Disk) throws(StoreError) -> UInt64? {
        guard var check = try SnapshotCheck(path, on: disk) else { return nil }
        defer { check.close() }
        try check.read(upTo: .max)
        return check.header?.sequence
    }
}
