internal import BrumeModel
internal import BrumeRecord

/// What the records of a public database take, by the user who made them: encoded bytes, the record's place, and the
/// contents of the assets that it names, each as often as it is named. Whose upload an asset was does not matter: the
/// record's creator is who can delete it.
///
/// Users are told apart by 64 bits of a hash with a random key: of a billion users, two share one sum with a chance of
/// a few percent.
struct CreatorBytes: Equatable, Sendable {
    /// A user, by the hash of their name.
    struct User: Hashable, Sendable {
        fileprivate let hash: UInt64

        init(_ name: UnsafeRawBufferPointer) {
            var hasher = Hasher()
            hasher.combine(bytes: name)
            hash = UInt64(truncatingIfNeeded: hasher.finalize())
        }

        init(_ name: String) {
            var name = name
            self = name.withUTF8 { User(UnsafeRawBufferPointer($0)) }
        }

        /// The user who made a record.
        init(ofRecord record: RecordSlot) {
            self = record.withBytes { User(StoredRecord.creator(of: $0)) }
        }
    }

    /// In parts, so that no save has to move the sums of all users to a larger table; none before the first record.
    private var parts: [[User: Int]] = []

    /// The sum of all users.
    private(set) var total = 0

    private static let partCount = 64
    private static let entryBytes = 32

    private static func part(of user: User) -> Int { Int(user.hash >> 58) }

    subscript(user: User) -> Int { parts.isEmpty ? 0 : parts[CreatorBytes.part(of: user)][user, default: 0] }

    /// A record of so many bytes, with its assets, is there now.
    mutating func add(_ byteCount: Int, of user: User) {
        if parts.isEmpty { parts = Array(repeating: [:], count: CreatorBytes.partCount) }
        parts[CreatorBytes.part(of: user)][user, default: 0] += byteCount + Limits.recordOverheadBytes
        total += byteCount + Limits.recordOverheadBytes
    }

    /// A record of so many bytes, with its assets, is gone.
    mutating func remove(_ byteCount: Int, of user: User) {
        let left = self[user] - byteCount - Limits.recordOverheadBytes
        precondition(left >= 0, "a user's record goes that was not counted")
        parts[CreatorBytes.part(of: user)][user] = left == 0 ? nil : left
        total -= byteCount + Limits.recordOverheadBytes
    }

    var approximateBytes: Int { parts.reduce(0) { $0 + $1.count } * CreatorBytes.entryBytes }

    /// What a record counts for its creator.
    static func byteCount(of record: RecordSlot) -> Int {
        record.byteCount + (record.marks.contains(.assets) ? assetBytes(of: record.bytes) : 0)
    }

    /// The contents of the assets that a record names, each as often as it is named.
    static func assetBytes(of record: SharedBytes) -> Int {
        var sum: UInt64 = 0
        Database.forEachAsset(of: record) { sum += BlobIndex.counted($0.byteCount) }
        return Int(sum)
    }

    /// Whether each user has the same sum in both.
    static func == (one: CreatorBytes, other: CreatorBytes) -> Bool {
        if one.total != other.total { return false }
        if one.parts.isEmpty || other.parts.isEmpty {
            return one.approximateBytes == 0 && other.approximateBytes == 0
        }
        return one.parts == other.parts
    }
}

/// How much of a public database's quota is left to each user while a batch is decided.
struct CreatorRoom {
    private let limit: Int
    private let stored: CreatorBytes
    private var growth: [CreatorBytes.User: Int] = [:]

    init(limit: Int, stored: CreatorBytes) {
        self.limit = limit
        self.stored = stored
    }

    func left(to user: CreatorBytes.User) -> Int { limit - stored[user] - growth[user, default: 0] }

    /// The user's records grow by so many bytes; negative when they shrink.
    mutating func grow(_ user: CreatorBytes.User, by bytes: Int) { growth[user, default: 0] += bytes }
}
