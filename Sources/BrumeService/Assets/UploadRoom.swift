internal import BrumeModel
internal import BrumeStore

/// What each user's uploads to a database take that no record names: those under way, and those that have become blobs.
/// A user can't use up another one's room.
struct UploadRoom {
    /// Bytes of all that are under way. What has become a blob the database's index counts.
    private(set) var reservedByteCount: UInt64 = 0
    private var uses: [String: UploadUse] = [:]

    /// Whether a user has room for so many bytes more.
    ///
    /// - Parameter blobs: What of the user's uploads is named by records, or gone, counts no more.
    mutating func hasRoom(for byteCount: UInt64, of user: String, limit: UInt64, in blobs: BlobIndex) -> Bool {
        if byteCount > limit { return false }
        guard var use = uses[user] else { return true }
        let countLimit = max(
            ServiceLimits.pendingUploadCountMin, Int(clamping: limit / ServiceLimits.bytesPerPendingUpload))
        func isFull() -> Bool { use.byteCount > limit - byteCount || use.count >= countLimit }
        // A look at all of them, which finds nothing unless some ended since the last one.
        if isFull() || use.isLong, use.lookedAtEndCount != blobs.pendingEndCount {
            use.forgetOthers(than: { blobs.isPending($0) }, endCount: blobs.pendingEndCount)
            set(use, of: user)
        }
        return !isFull()
    }

    /// Whether an upload of the user is counted already: it is under way in another connection, or has become a blob
    /// that no record names.
    func holds(_ id: UploadID, of user: String, in blobs: BlobIndex) -> Bool {
        uses[user]?.holds(id, where: { blobs.isPending($0) }) == true
    }

    /// What all users together have that is under way or named by no record, but for one user.
    ///
    /// - Parameter blobs: Of the one user's, what is named by records by now may still count: the result is no larger
    ///   than it should be.
    func byteCount(exceptOf user: String, in blobs: BlobIndex) -> UInt64 {
        let all = reservedByteCount + blobs.pendingByteCount
        return all - min(all, uses[user]?.byteCount ?? 0)
    }

    mutating func reserve(_ byteCount: UInt64, for id: UploadID, of user: String) {
        uses[user, default: UploadUse()].reserve(byteCount, for: id)
        reservedByteCount += byteCount
    }

    mutating func release(_ byteCount: UInt64, for id: UploadID, of user: String) {
        guard var use = uses[user] else { preconditionFailure("room for an upload is released that was not taken") }
        use.release(byteCount, for: id)
        reservedByteCount -= byteCount
        set(use, of: user)
    }

    mutating func stored(_ name: BlobName, _ byteCount: UInt64, as id: UploadID, by user: String) {
        uses[user, default: UploadUse()].add(name, byteCount, as: id)
    }

    /// How many blobs are counted for a user.
    func storedCount(of user: String) -> Int { uses[user]?.storedCount ?? 0 }

    private mutating func set(_ use: UploadUse, of user: String) { uses[user] = use.count == 0 ? nil : use }
}

/// What one user's uploads take.
private struct UploadUse {
    /// How many are under way with each id, and their bytes.
    private var open: [UploadID: Int] = [:]
    private var openCount = 0
    private var reserved: UInt64 = 0
    /// What uploads have become, the last one of each.
    private var stored: [BlobName: (byteCount: UInt64, id: UploadID)] = [:]
    private var storedByteCount: UInt64 = 0
    private var names: [UploadID: BlobName] = [:]
    /// With so many blobs it is looked which of them count no more: so the list is at most twice as long as needed, and
    /// each upload costs the same.
    private var longCount = UploadUse.longCountMin

    private static let longCountMin = 64

    /// What the index said of how many ended, at the last look at all; nil before the first.
    private(set) var lookedAtEndCount: UInt64?

    var byteCount: UInt64 { reserved + storedByteCount }
    var count: Int { openCount + stored.count }
    var storedCount: Int { stored.count }
    var isLong: Bool { stored.count >= longCount }

    func holds(_ id: UploadID, where isPending: (BlobName) -> Bool) -> Bool {
        open[id] != nil || names[id].map(isPending) == true
    }

    mutating func reserve(_ byteCount: UInt64, for id: UploadID) {
        reserved += byteCount
        openCount += 1
        open[id, default: 0] += 1
    }

    mutating func release(_ byteCount: UInt64, for id: UploadID) {
        guard let count = open[id] else { preconditionFailure("room is released for an upload that has none") }
        reserved -= byteCount
        openCount -= 1
        open[id] = count > 1 ? count - 1 : nil
    }

    mutating func add(_ name: BlobName, _ byteCount: UInt64, as id: UploadID) {
        if let former = stored[name] {
            storedByteCount -= former.byteCount
            names[former.id] = nil
        }
        storedByteCount += byteCount
        stored[name] = (byteCount, id)
        names[id] = name
    }

    mutating func forgetOthers(than isPending: (BlobName) -> Bool, endCount: UInt64) {
        lookedAtEndCount = endCount
        stored = stored.filter { isPending($0.key) }
        names = names.filter { stored[$0.value] != nil }
        storedByteCount = stored.values.reduce(0) { $0 + $1.byteCount }
        longCount = max(UploadUse.longCountMin, 2 * stored.count)
    }
}
