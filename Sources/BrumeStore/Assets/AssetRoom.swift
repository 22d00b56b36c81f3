internal import BrumeModel

/// Which assets a database's records name, and which are pending, while a batch is decided.
///
/// It reads what the database knows: a copy of its index would be copied whole by the commit.
struct BlobsInUse {
    private unowned let database: Database

    init(of database: Database) { self.database = database }

    func referenceCount(of name: BlobName) -> Int { database.blobs.referenceCount(of: name) }

    func isPending(_ name: BlobName) -> Bool { database.blobs.isPending(name) }
}

/// What the assets of a batch's records take of a quota: as the database counts them, and as the batch has changed that
/// so far.
struct AssetRoom {
    /// What the change of one record means.
    struct Change {
        /// By how many bytes more is stored; negative when assets go that nothing else names.
        var bytes = 0
        /// How many of the bytes are pending uploads, which count already.
        var pendingBytes = 0
        /// By how many bytes what the record names grows, each asset as often as it is named.
        var namedBytes = 0
        fileprivate var counts: [BlobName: Int] = [:]
    }

    private let blobs: BlobsInUse?
    /// How many fields name an asset, where the batch changes that.
    private var counts: [BlobName: Int] = [:]
    /// How many assets of older versions may still be read. Those that are not make no room.
    private var looks = Limits.assetsPerRequest

    /// - Parameter blobs: Nil where there are no assets.
    init(_ blobs: BlobsInUse?) { self.blobs = blobs }

    /// What it means that a record is replaced or deleted.
    ///
    /// - Parameters:
    ///   - older: What is stored; nil for a new record.
    ///   - newer: What is to be stored; nil when that names no assets.
    mutating func change(from older: RecordSlot?, to newer: SharedBytes?) -> Change {
        var change = Change()
        guard let blobs else { return change }
        var differences: [BlobName: (count: Int, bytes: Int)] = [:]
        if let older, older.marks.contains(.assets), looks > 0 {
            Database.forEachAsset(of: older.bytes) { asset in
                let bytes = Int(BlobIndex.counted(asset.byteCount))
                differences[BlobName(asset), default: (0, bytes)].count -= 1
                change.namedBytes -= bytes
                looks -= 1
            }
        }
        if let newer {
            Database.forEachAsset(of: newer) { asset in
                let bytes = Int(BlobIndex.counted(asset.byteCount))
                differences[BlobName(asset), default: (0, bytes)].count += 1
                change.namedBytes += bytes
            }
        }
        for (name, difference) in differences where difference.count != 0 {
            let before = counts[name] ?? blobs.referenceCount(of: name)
            let after = max(0, before + difference.count)
            change.counts[name] = after
            if before == 0, after > 0 {
                change.bytes += difference.bytes
                if blobs.isPending(name) { change.pendingBytes += difference.bytes }
            } else if before > 0, after == 0 {
                change.bytes -= difference.bytes
            }
        }
        return change
    }

    /// The batch makes the change. Nothing was taken since it was computed.
    mutating func take(_ change: Change) { counts.merge(change.counts) { $1 } }
}
