internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// Where an account's keys belong: one account in one container and environment of one server. No two places share a
/// key, so that no server learns anything by passing for another.
struct KeyPlace: Hashable, Sendable {
    /// `host:port`, as the configuration names the server.
    let server: String
    let scope: IdentityScope

    /// The name of the place's folder: 128 bits of a hash, which is enough to tell places apart.
    var folderName: String { SHA256.digest(bytes).prefix(16).hexadecimal }

    /// The place as bytes that no other place has: each part behind its length.
    var bytes: [UInt8] { Self.counted([server, scope.account, scope.container, scope.environment]) }

    /// The same of something in it that has these names.
    func bytes(of names: String...) -> [UInt8] { bytes + Self.counted(names) }

    /// Names, each behind its length.
    static func counted(_ names: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for name in names {
            withUnsafeBytes(of: UInt32(name.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: name.utf8)
        }
        return bytes
    }
}
