internal import BrumeModel

/// What the records of a public database take, by the user who made them: encoded bytes, and the record's place.
struct CreatorBytes: Equatable, Sendable {
    private var bytes: [UserKey: Int] = [:]

    private static let entryBytes = 32

    subscript(user: UserKey) -> Int { bytes[user, default: 0] }

    /// A record of so many bytes is there now.
    mutating func add(_ byteCount: Int, of user: UserKey) {
        bytes[user, default: 0] += byteCount + Limits.recordOverheadBytes
    }

    /// A record of so many bytes is gone.
    mutating func remove(_ byteCount: Int, of user: UserKey) {
        let left = self[user] - byteCount - Limits.recordOverheadBytes
        precondition(left >= 0, "a user's record goes that was not counted")
        bytes[user] = left == 0 ? nil : left
    }

    var approximateBytes: Int { bytes.count * CreatorBytes.entryBytes }
}

/// How much of a public database's quota is left to each user while a batch is decided.
struct CreatorRoom {
    private let limit: Int
    private let stored: CreatorBytes
    private var growth: [UserKey: Int] = [:]

    init(limit: Int, stored: CreatorBytes) {
        self.limit = limit
        self.stored = stored
    }

    func left(to user: UserKey) -> Int { limit - stored[user] - growth[user, default: 0] }

    /// The user's records grow by so many bytes; negative when they shrink.
    mutating func grow(_ user: UserKey, by bytes: Int) { growth[user, default: 0] += bytes }
}
