package import BrumeModel

/// A snapshot on disk, format version 2: one file for each database, in `snapshots/`.
///
/// ```
/// file header, 16 bytes
///  0  8  "BRUMESNP"
///  8  4  format version, 2
/// 12  4  CRC-32C of bytes 0 to 11
///
/// block
///  0  4  bytes of the payload
///  4  4  kind: 1 header, 2 content, 3 footer
///  8  4  CRC-32C field of the block before; 0 for the first
/// 12  4  bytes of the content, at most 8 MiB
/// 16  4  CRC-32C of bytes 0 to 15 and the payload
/// 20     payload: the content as a zstd frame; the content itself where that is no shorter, and both counts are equal
/// ```
///
/// The checksum is over what is on the disk: nothing is decompressed that was not written so. A reader refuses a block
/// whose content is over the limit before it takes memory for it, and one whose frame holds another count of bytes than
/// it says.
///
/// The first block's content is a `brume.store.v1.SnapshotHeader`, the last one's the footer: five counts of 8 bytes,
/// of the content blocks, zones, records, tombstones and deleted zones. Those between are
/// `brume.store.v1.SnapshotBlock` messages: zones first, then what is in them. The file ends with its footer. It is
/// written under a temporary name, synced, renamed, and its folder is synced: a file that has its name is whole.
///
/// Version 1, which is still read, has blocks without the count of the content: the checksum stands at 12, the payload
/// at 16, and it is the content.
package enum SnapshotFormat {
    static let magic = Array("BRUMESNP".utf8)
    static let version: UInt32 = 2
    static let fileHeaderBytes = 16
    static let folder = "snapshots"
    static let suffix = ".snapshot"

    /// A content block ends when it has this many bytes: enough to make its header cheap, little to hold in memory.
    static let blockBytes = 256 * 1024

    /// A smaller file is loaded by one thread: making others takes longer than it gains.
    static let parallelLoadBytes: UInt64 = 8 * 1024 * 1024

    /// The most bytes of a block's content: ``blockBytes`` and one item more, of which the answer to an operation is
    /// the largest, at most a frame.
    static let contentBytesLimit = 2 * Limits.frameBytes

    /// Bytes before a block's payload in a version of the format; nil for a version that is not known.
    static func blockHeaderBytes(version: UInt32) -> Int? {
        switch version {
        case 1: 16
        case 2: 20
        default: nil
        }
    }

    enum Kind: UInt32 {
        case header = 1
        case content = 2
        case footer = 3
    }

    /// Names longer than this are hashed: file systems take 255 bytes, and a temporary file's name is longer.
    private static let nameLimit = 200

    /// The database's file. Two databases never share one: a name is its database's identity, escaped, or where that is
    /// too long, its SHA-256.
    package static func path(of database: DatabaseID, on disk: any Disk) -> String {
        folder + "/" + name(of: database, on: disk) + suffix
    }

    /// The name that a database has among others, in a folder of files or of folders.
    static func name(of database: DatabaseID, on disk: any Disk) -> String {
        shortened(identity(of: database), on: disk)
    }

    /// What tells a database from all others, in characters that names of files may have.
    static func identity(of database: DatabaseID) -> String {
        let environment = database.environment.name
        let scope = database.scope == .public ? "public" : "private"
        // `+` is escaped in the parts, so that it separates them.
        return "\(environment)+\(scope)+\(escaped(database.container))+\(escaped(database.owner))"
    }

    /// The most bytes of an ``identity(of:)``: two names of 255 bytes, each of them escaped, and some words.
    static let identityLimit = 2 * 3 * 255 + 64

    /// Whether a name is a digest, which tells nothing of its database.
    static func isDigest(_ name: String) -> Bool { name.hasPrefix(digestPrefix) }

    private static let digestPrefix = "sha256+"

    /// The name of a file, without its suffix, for something that any text may name.
    static func fileName(_ text: String, on disk: any Disk) -> String { shortened(escaped(text), on: disk) }

    private static func shortened(_ name: String, on disk: any Disk) -> String {
        name.utf8.count <= nameLimit ? name : digestPrefix + disk.sha256(Array(name.utf8)).hexadecimal
    }

    /// Whether a snapshot's file may have the name, as far as that can be said without knowing its database.
    static func isFileName(_ name: String) -> Bool {
        name.hasSuffix(suffix) && isName(String(name.dropLast(suffix.utf8.count)))
    }

    /// Whether a database may have the name among others, as far as that can be said without knowing it.
    static func isName(_ name: String) -> Bool {
        name.utf8.count <= nameLimit && isEscaped(name)
            && ["development+", "production+", digestPrefix].contains { name.hasPrefix($0) }
    }

    /// Whether a name holds nothing but what names of files are made of here.
    static func isEscaped(_ name: String) -> Bool {
        !name.hasPrefix(".") && name.utf8.count <= nameLimit + 16
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "%"), UInt8(ascii: "+"):
                    true
                default: false
                }
            }
    }

    /// The database of a file's name; nil for a name that is a digest, or none of ours.
    static func database(ofFile name: String) -> DatabaseID? {
        name.hasSuffix(suffix) ? database(named: name.dropLast(suffix.utf8.count)) : nil
    }

    /// The database with an identity; nil for a digest, and for what is none.
    static func database(named name: some StringProtocol) -> DatabaseID? {
        let parts = name.split(separator: "+", omittingEmptySubsequences: false)
        guard parts.count == 4, let container = unescaped(Substring(parts[2])),
            let owner = unescaped(Substring(parts[3]))
        else { return nil }
        let environments: [String: Environment] = ["development": .development, "production": .production]
        let scopes: [String: DatabaseScope] = ["public": .public, "private": .private]
        guard let environment = environments[String(parts[0])], let scope = scopes[String(parts[1])],
            (scope == .public) == owner.isEmpty
        else { return nil }
        return DatabaseID(container: container, environment: environment, scope: scope, owner: owner)
    }

    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16)
            else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += byte < 16 ? "%0" : "%"
                escaped += String(byte, radix: 16)
            }
        }
        return escaped
    }
}
