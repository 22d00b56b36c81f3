internal import BrumeModel
internal import BrumeStore

/// What each user's uploads to a database take that no record names: those under way, and those that have become blobs.
/// A user can't use up another one's room.
struct UploadRoom {
    private var uses: [String: UploadUse] = [:]

    /// Whether a user has room for so many bytes more.
    ///
    /// - Parameter blobs: What of the user's uploads is named by records, or gone, counts no more.
    mutating func hasRoom(for byteCount: UInt64, of user: String, limit: UInt64, in blobs: BlobIndex) -> Bool {
        guard var use = uses[user] else { return byteCount <= limit }
        if use.byteCount + byteCount > limit || use.isLong {
            use.forgetOthers(than: { blobs.isPending($0) })
            set(use, of: user)
        }
        return use.byteCount + byteCount <= limit
    }

    mutating func reserve(_ byteCount: UInt64, of user: String) {
        uses[user, default: UploadUse()].reserved += byteCount
    }

    mutating func release(_ byteCount: UInt64, of user: String) {
        guard var use = uses[user] else { preconditionFailure("room for an upload is released that was not taken") }
        use.reserved -= byteCount
        set(use, of: user)
    }

    mutating func stored(_ name: BlobName, _ byteCount: UInt64, by user: String) {
        uses[user, default: UploadUse()].add(name, byteCount)
    }

    /// How many blobs are counted for a user.
    func storedCount(of user: String) -> Int { uses[user]?.storedCount ?? 0 }

    private mutating func set(_ use: UploadUse, of user: String) { uses[user] = use.byteCount == 0 ? nil : use }
}

/// What one user's uploads take.
private struct UploadUse {
    /// Bytes of those under way.
    var reserved: UInt64 = 0
    private var stored: [BlobName: UInt64] = [:]
    private var storedByteCount: UInt64 = 0
    /// With so many blobs it is looked which of them count no more: so the list is at most twice as long as needed, and
    /// each upload costs the same.
    private var longCount = UploadUse.longCountMin

    private static let longCountMin = 64

    var byteCount: UInt64 { reserved + storedByteCount }
    var storedCount: Int { stored.count }
    var isLong: Bool { stored.count >= longCount }

    mutating func add(_ name: BlobName, _ byteCount: UInt64) {
        storedByteCount += byteCount
        storedByteCount -= stored.updateValue(byteCount, forKey: name) ?? 0
    }

    mutating func forgetOthers(than isPending: (BlobName) -> Bool) {
        stored = stored.filter { isPending($0.key) }
        storedByteCount = stored.values.reduce(0, +)
        longCount = max(UploadUse.longCountMin, 2 * stored.count)
    }
}
