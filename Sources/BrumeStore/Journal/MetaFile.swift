/// The data folder's own file, `brume.meta`: that this is a data folder of Brume, its format, and its epoch.
///
/// ```
///  0  8  "BRUMEMET"
///  8  4  format version, 4
/// 12  4  epoch: random, another one after a restore from a backup
/// 16  4  CRC-32C of bytes 0 to 15
/// ```
///
/// A folder of version 1 has neither ``ManifestFile`` nor ``JournalExtent``; one of version 2 remembers the answers of
/// operations as the clients were given them (``FormerOperation``); one of version 3 holds no shares. Each is opened
/// once, as it is, and becomes one of this version: a server that can't read what a retry is to be answered with, or
/// that would drop what records say of sharing when it saves them, refuses the folder.
package struct MetaFile: Equatable, Sendable {
    package static let path = "brume.meta"
    static let version: UInt32 = 4
    private static let magic = Array("BRUMEMET".utf8)
    private static let byteCount = 20

    package let epoch: UInt32
    let version: UInt32

    package init(epoch: UInt32) { self.init(epoch: epoch, version: MetaFile.version) }

    init(epoch: UInt32, version: UInt32) {
        self.epoch = epoch
        self.version = version
    }

    /// Whether the folder has a ``ManifestFile`` and a ``JournalExtent``: if so, a missing one is damage.
    package var hasManifest: Bool { version > 1 }

    /// Whether a server has opened the folder, of this format or of versions 2 and 3, even where this file itself is
    /// lost: then all is in the folder that is made before it.
    package static func isOpened(_ disk: any Disk) throws(StoreError) -> Bool {
        if try read(from: disk)?.hasManifest == true { return true }
        do throws(DiskError) {
            for path in [ManifestFile.path, JournalExtent.path] where try disk.readFile(path) != nil { return true }
            return false
        } catch {
            throw .disk(error)
        }
    }

    /// Reads the file; nil when there is none.
    package static func read(from disk: any Disk) throws(StoreError) -> MetaFile? {
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readFile(path, limit: 4096)
        } catch {
            throw .disk(error)
        }
        guard let bytes else { return nil }
        guard bytes.count >= byteCount, Array(bytes[..<8]) == magic else {
            throw .damaged(
                Damage(file: path, offset: 0, problem: "this is not the file that a data folder of Brume has"))
        }
        guard bytes.checksum(0..<16) == bytes.integer(at: 16, as: UInt32.self) else {
            throw .damaged(Damage(file: path, offset: 0, problem: "the checksum is wrong"))
        }
        let version: UInt32 = bytes.integer(at: 8)
        guard (1...self.version).contains(version) else { throw .unknownVersion(file: path, version: version) }
        guard bytes.count == byteCount else {
            throw .damaged(
                Damage(file: path, offset: UInt64(byteCount), problem: "the file is longer than it should be"))
        }
        return MetaFile(epoch: bytes.integer(at: 12), version: version)
    }

    /// The file's bytes.
    var encoded: [UInt8] {
        var bytes = MetaFile.magic
        bytes.appendInteger(version)
        bytes.appendInteger(epoch)
        bytes.appendInteger(bytes.checksum(0..<bytes.count))
        return bytes
    }

    /// Puts the file in place, whole and durable.
    package func write(to disk: any Disk) throws(DiskError) {
        try disk.replaceFile(MetaFile.path, in: "", with: encoded)
    }
}
