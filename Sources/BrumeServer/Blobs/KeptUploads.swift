internal import BrumeModel
internal import BrumeStore

/// The uploads to a database of which something is kept and that nobody has open: some of each user, since nobody has
/// asked for their room.
///
/// Where they are too many, those that have become blobs go before all others: they are notes for clients that did not
/// get their answers, while the others hold what would have to be sent again. Of each kind those that were left longest
/// ago go first; after a restart of the server nobody knows that order. Of the uploads to go on with, the one that was
/// left last stays, however large it is.
struct KeptUploads {
    /// More than an app has under way when its devices lose the network.
    static let perUser = 64
    /// Bytes of a user's uploads that are kept together.
    static let bytesPerUser: UInt64 = 1024 * 1024 * 1024

    private struct Kept {
        let upload: BlobUpload.Identity
        let byteCount: UInt64
    }

    /// Those of each user, in the order in which they were left.
    private var uploads: [String: [Kept]] = [:]

    /// Somebody goes on with an upload, or it is gone.
    mutating func remove(_ upload: BlobUpload.Identity) {
        guard var kept = uploads[upload.user] else { return }
        kept.removeAll { $0.upload.id == upload.id }
        uploads[upload.user] = kept.isEmpty ? nil : kept
    }

    /// An upload was left. Returns those that are to be forgotten for it.
    ///
    /// - Parameter byteCount: What is kept of it: none when it has become a blob.
    mutating func add(_ upload: BlobUpload.Identity, byteCount: UInt64) -> [BlobUpload.Identity] {
        remove(upload)
        var kept = uploads[upload.user] ?? []
        kept.append(Kept(upload: upload, byteCount: byteCount))
        var forgotten: [BlobUpload.Identity] = []
        while kept.count > KeptUploads.perUser {
            forgotten.append(kept.remove(at: kept.firstIndex { $0.byteCount == 0 } ?? 0).upload)
        }
        var bytes = kept.reduce(0) { $0 + $1.byteCount }
        while bytes > KeptUploads.bytesPerUser, let oldest = kept.firstIndex(where: { $0.byteCount > 0 }),
            oldest != kept.lastIndex(where: { $0.byteCount > 0 })
        {
            bytes -= kept[oldest].byteCount
            forgotten.append(kept.remove(at: oldest).upload)
        }
        uploads[upload.user] = kept
        return forgotten
    }
}
