/// `brume.assets`: in which folder the contents of a data folder's assets are, where that was ever another one than the
/// data folder itself.
///
/// ```
///  0   8  "BRUMEPLC"
///  8   4  format version, 1
/// 12   4  kind: 1 the data folder's, the contents are in the other folder; 2 the data folder's, they are in itself;
///         3 the other folder's; 4 the data folder's, the contents are being moved into the other folder
/// 16  16  id, random
/// 32  16  use, random, another one with each start
/// 48  16  the use before, as long as only one of the files may have the new one; then the same again
/// 64   4  CRC-32C of bytes 0 to 63 and of the path
/// 68      path, UTF-8: of the other folder, or in that one's file of the data folder, for messages
/// ```
///
/// Both folders have the file, with one id: a disk that is not mounted, or another server's, has not. The data folder's
/// file decides. It is named in the ``ManifestFile`` from the next start on, so that it is damage when it is lost, and
/// so that an earlier version of Brume, which would look for all assets in the data folder, refuses that.
///
/// A place is changed in three steps, each durable: the data folder's file gets the id and the path, of kind 4; the
/// other folder gets its file; the data folder's file becomes one of kind 1. The contents may have been moved before,
/// so that after a crash behind any step nothing is read before the steps are taken again, or the contents taken back.
///
/// The id tells that the two are a pair, and the use that they are of one time: a copy of either, made before the last
/// start, has another one. A server that took such a copy would remove all assets that the other one got since. With
/// each start the other folder's file gets the new use first, beside the one that it had, then the data folder's, then
/// the other folder's file gets it alone: a crash between these steps leaves two files that still belong together.
package struct AssetPlace: Equatable, Sendable {
    package enum Kind: UInt32, Sendable {
        case elsewhere = 1
        case here = 2
        case holder = 3
        case moving = 4
    }

    package static let path = "brume.assets"
    package static let idBytes = 16
    private static let magic = Array("BRUMEPLC".utf8)
    private static let version: UInt32 = 1
    private static let checksumOffset = 64
    private static let headerBytes = 68
    /// More than the longest path of Linux.
    private static let byteLimit: UInt64 = 16 * 1024

    package let id: [UInt8]
    package let kind: Kind
    /// The start that used the folder last.
    package let use: [UInt8]
    /// The one before, which counts as long as the other file may still have it.
    package let formerUse: [UInt8]
    /// The path of the other folder of the two.
    package let otherPath: String

    /// - Parameter formerUse: nil when both files have `use`, or will have it before anything else happens.
    package init(id: [UInt8], kind: Kind, use: [UInt8], formerUse: [UInt8]? = nil, otherPath: String) {
        let formerUse = formerUse ?? use
        precondition(
            [id, use, formerUse].allSatisfy { $0.count == AssetPlace.idBytes },
            "an id of a folder of assets has another length")
        (self.id, self.kind, self.use, self.formerUse, self.otherPath) = (id, kind, use, formerUse, otherPath)
    }

    /// Whether both files were last used by one start.
    package func isOfOneTime(with other: AssetPlace) -> Bool {
        !Set([use, formerUse]).isDisjoint(with: [other.use, other.formerUse])
    }

    package var encoded: [UInt8] {
        var bytes = AssetPlace.magic
        bytes.appendInteger(AssetPlace.version)
        bytes.appendInteger(kind.rawValue)
        bytes += id + use + formerUse
        let path = Array(otherPath.utf8)
        bytes.appendInteger(AssetPlace.checksum(bytes, path))
        return bytes + path
    }

    package init(decoding bytes: [UInt8]) throws(StoreError) {
        func damage(_ problem: String, at offset: UInt64) -> StoreError {
            .damaged(Damage(file: AssetPlace.path, offset: offset, problem: problem))
        }
        guard bytes.count >= AssetPlace.headerBytes, bytes.starts(with: AssetPlace.magic) else {
            throw damage("this is not the file that tells where assets are", at: 0)
        }
        let path = Array(bytes[AssetPlace.headerBytes...])
        guard
            bytes.integer(at: AssetPlace.checksumOffset, as: UInt32.self)
                == AssetPlace.checksum(Array(bytes[..<AssetPlace.checksumOffset]), path)
        else {
            throw damage("the checksum is wrong", at: 0)
        }
        let version: UInt32 = bytes.integer(at: 8)
        guard version == AssetPlace.version else { throw .unknownVersion(file: AssetPlace.path, version: version) }
        guard let kind = Kind(rawValue: bytes.integer(at: 12)), let otherPath = String(validating: path, as: UTF8.self)
        else { throw damage("it says what no version has written", at: 12) }
        let ids = stride(from: 16, to: AssetPlace.checksumOffset, by: AssetPlace.idBytes).map {
            Array(bytes[$0..<$0 + AssetPlace.idBytes])
        }
        self.init(id: ids[0], kind: kind, use: ids[1], formerUse: ids[2], otherPath: otherPath)
    }

    private static func checksum(_ header: [UInt8], _ path: [UInt8]) -> UInt32 {
        var crc = CRC32C()
        crc.update(header)
        crc.update(path)
        return crc.value
    }

    /// Reads the file of the folder that `disk` stands for; nil when there is none.
    package static func read(from disk: any Disk) throws(StoreError) -> AssetPlace? {
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readFile(path, limit: byteLimit)
        } catch {
            throw .disk(error)
        }
        return try bytes.map { (bytes) throws(StoreError) in try AssetPlace(decoding: bytes) }
    }

    /// Puts the file in place, whole and durable.
    package func write(to disk: any Disk) throws(DiskError) {
        try disk.replaceFile(AssetPlace.path, in: "", with: encoded)
    }
}
