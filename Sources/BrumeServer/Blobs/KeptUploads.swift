internal import BrumeModel
internal import BrumeStore

/// The uploads to a database of which something is kept and that nobody has open: some of each user, since nobody has
/// asked for their room.
///
/// Where they are too many, those that have become blobs go before all others: they are notes for clients that did not
/// get their answers, while the others hold what would have to be sent again. Of each kind those that were left longest
/// ago go first; after a restart of the server nobody knows that order. Of the uploads to go on with, the one that was
/// left last stays, however large it is. In the end all go that nobody has gone on with for long.
///
/// Times are seconds of the process's monotonic clock: after a restart all begin anew.
struct KeptUploads {
    /// More than an app has under way when its devices lose the network.
    static let perUser = 64
    /// Bytes of a user's uploads that are kept together.
    static let bytesPerUser: UInt64 = 1024 * 1024 * 1024

    /// An upload that was left, and what is kept of it.
    struct Kept {
        let upload: BlobUpload.Identity
        let byteCount: UInt64
        /// Which of all leavings it was.
        fileprivate let number: UInt64
    }

    /// Those of each user, in the order in which they were left.
    private var uploads: [String: [Kept]] = [:]
    /// When uploads were left, in that order. Those that somebody has gone on with are passed over.
    private var leavings = ArraySlice<(time: UInt32, kept: Kept)>()
    private var leavingNumber: UInt64 = 0
    /// The numbers of those that are kept.
    private var current = Set<UInt64>()

    var isEmpty: Bool { uploads.isEmpty }
    /// What is held for their order.
    var leavingCount: Int { leavings.count }

    /// Somebody goes on with an upload, or it is gone.
    mutating func remove(_ upload: BlobUpload.Identity) {
        guard var kept = uploads[upload.user], let index = kept.firstIndex(where: { $0.upload.id == upload.id })
        else { return }
        current.remove(kept.remove(at: index).number)
        uploads[upload.user] = kept.isEmpty ? nil : kept
    }

    /// An upload was left. Returns those that are to be forgotten for it.
    ///
    /// - Parameter byteCount: What is kept of it: none when it has become a blob.
    mutating func add(_ upload: BlobUpload.Identity, byteCount: UInt64, now: UInt32) -> [BlobUpload.Identity] {
        remove(upload)
        var kept = uploads[upload.user] ?? []
        leavingNumber += 1
        let new = Kept(upload: upload, byteCount: byteCount, number: leavingNumber)
        kept.append(new)
        var forgotten: [Kept] = []
        while kept.count > KeptUploads.perUser {
            forgotten.append(kept.remove(at: kept.firstIndex { $0.byteCount == 0 } ?? 0))
        }
        var bytes = kept.reduce(0) { $0 + $1.byteCount }
        while bytes > KeptUploads.bytesPerUser, let oldest = kept.firstIndex(where: { $0.byteCount > 0 }),
            oldest != kept.lastIndex(where: { $0.byteCount > 0 })
        {
            bytes -= kept[oldest].byteCount
            forgotten.append(kept.remove(at: oldest))
        }
        uploads[upload.user] = kept.isEmpty ? nil : kept
        current.insert(new.number)
        for old in forgotten { current.remove(old.number) }
        leavings.append((time: now, kept: new))
        // Each one is looked at once more for each that was left since.
        if leavings.count > 2 * current.count + KeptUploads.perUser {
            leavings = leavings.filter { current.contains($0.kept.number) }[...]
        }
        return forgotten.map(\.upload)
    }

    /// Takes out some of the uploads that were left up to a time, those that were left first before all others.
    mutating func take(_ limit: Int, leftUpTo time: UInt32) -> [Kept] {
        var taken: [Kept] = []
        while taken.count < limit, let first = leavings.first, first.time <= time {
            leavings.removeFirst()
            guard current.contains(first.kept.number) else { continue }
            remove(first.kept.upload)
            taken.append(first.kept)
        }
        return taken
    }
}
