internal import BrumeModel
internal import BrumeSystem

/// Where a database belongs: its group, one of 4,096, which says what shard owns it.
///
/// The group is the first 12 bits of a SHA-256, so that neither consecutive names nor many users of one container
/// gather on one shard. It is the same in every run and on every machine. What is hashed is unambiguous, since each
/// name comes after its length:
///
/// ```
/// 4  length of the container's name in bytes (little-endian, as below)
///    the container's name in UTF-8
/// 1  environment: 1 development, 2 production
/// 1  scope: 1 public, 2 private
/// 4  length of the owner's name in bytes; 0 for a public database
///    the owner's user record name in UTF-8
/// ```
struct Placement: Equatable, Sendable {
    /// A power of two: the first bits of a hash are the group's number.
    static let groupCount = 4_096

    /// From 0 up to, but not including, ``groupCount``.
    let group: Int

    /// - Complexity: One hash of the names. Callers that ask repeatedly keep the answer: see ``Identity``.
    init(of database: DatabaseID) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(10 + database.container.utf8.count + database.owner.utf8.count)
        func append(_ name: String) {
            withUnsafeBytes(of: UInt32(name.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: name.utf8)
        }
        append(database.container)
        bytes.append(database.environment.rawValue)
        bytes.append(database.scope.rawValue)
        append(database.owner)
        let digest = SHA256.digest(bytes)
        group = Int(digest[0]) << 4 | Int(digest[1]) >> 4
    }

    /// The shard that owns the group, of so many.
    func shard(of count: Int) -> Int { group % count }
}
