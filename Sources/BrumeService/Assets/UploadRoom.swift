internal import BrumeModel
internal import BrumeStore

/// What each user's uploads to a database take that no record names: those under way, and those that have become blobs.
/// A user can't use up another one's room.
struct UploadRoom {
    private struct Use {
        var reserved: UInt64 = 0
        var stored: [BlobName: UInt64] = [:]

        var byteCount: UInt64 { stored.values.reduce(reserved) { $0 + $1 } }
    }

    private var uses: [String: Use] = [:]

    /// Whether a user has room for so many bytes more.
    ///
    /// - Parameter blobs: What of the user's uploads is named by records, or gone, counts no more.
    mutating func hasRoom(for byteCount: UInt64, of user: String, limit: UInt64, in blobs: BlobIndex) -> Bool {
        guard var use = uses[user] else { return byteCount <= limit }
        if use.byteCount + byteCount > limit {
            use.stored = use.stored.filter { blobs.isPending($0.key) }
            uses[user] = use
        }
        return use.byteCount + byteCount <= limit
    }

    mutating func reserve(_ byteCount: UInt64, of user: String) { uses[user, default: Use()].reserved += byteCount }

    mutating func release(_ byteCount: UInt64, of user: String) {
        uses[user]!.reserved -= byteCount
        if uses[user]!.reserved == 0, uses[user]!.stored.isEmpty { uses[user] = nil }
    }

    mutating func stored(_ name: BlobName, _ byteCount: UInt64, by user: String) {
        uses[user, default: Use()].stored[name] = byteCount
    }
}
