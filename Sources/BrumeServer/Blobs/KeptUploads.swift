internal import BrumeModel
internal import BrumeStore

/// The uploads to a database of which something is kept and that nobody has open: a few of each user, since nobody has
/// asked for their room. Those that were left longest ago go first.
struct KeptUploads {
    /// As many as an app has under way when its device loses the network.
    static let perUser = 16

    /// In the order in which they were left.
    private var uploads: [BlobUpload.Identity] = []

    /// Somebody goes on with an upload, or it is gone.
    mutating func remove(_ upload: BlobUpload.Identity) {
        uploads.removeAll { $0.id == upload.id && $0.user == upload.user }
    }

    /// An upload was left. Returns those that are to be forgotten for it.
    mutating func add(_ upload: BlobUpload.Identity) -> [BlobUpload.Identity] {
        remove(upload)
        uploads.append(upload)
        let count = uploads.count { $0.user == upload.user }
        let surplus = uploads.filter { $0.user == upload.user }.prefix(max(0, count - KeptUploads.perUser))
        for old in surplus { remove(old) }
        return Array(surplus)
    }
}
