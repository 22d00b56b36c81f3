/// What has to be in a data folder besides the journal: `brume.manifest`, the snapshots and schemas by their files'
/// names, the folder of assets and ``AssetPlace`` where there are such.
///
/// ```
///  0  8  "BRUMEMAN"
///  8  4  format version, 1
/// 12  4  files
/// 16  8  bytes of the entries
/// 24  4  CRC-32C of bytes 0 to 23 and of the entries
/// 28     entries, in the order of their names: 8 bytes, the last commit that the snapshot holds at least, 0 for other
///        files; 2 bytes, the length of the name; the name, from the data folder
/// ```
///
/// A folder whose `brume.meta` has version 2 or later has this file: if it, or a file that it names, is missing, that
/// is damage, and so is a snapshot that is older than it says. Files that it does not name are no damage: one is named
/// after it is on the disk, and before the journal drops what it holds. The file is replaced whole: written under a
/// temporary name, synced, renamed, folder synced; once for a run of snapshots, not for each (100,000 databases are 10
/// MB).
package struct ManifestFile: Equatable, Sendable {
    package static let path = "brume.manifest"
    private static let magic = Array("BRUMEMAN".utf8)
    private static let version: UInt32 = 1
    private static let headerBytes = 28
    private static let entryHeaderBytes = 10

    /// By name: the commit that the snapshot holds at least.
    package var files: [String: UInt64]

    package init(files: [String: UInt64] = [:]) { self.files = files }

    package var encoded: [UInt8] {
        var entries: [UInt8] = []
        entries.reserveCapacity(files.count * 96)
        for (name, sequence) in files.sorted(by: { $0.key < $1.key }) {
            entries.appendInteger(sequence)
            entries.appendInteger(UInt16(name.utf8.count))
            entries += name.utf8
        }
        var bytes = ManifestFile.magic
        bytes.reserveCapacity(ManifestFile.headerBytes + entries.count)
        bytes.appendInteger(ManifestFile.version)
        bytes.appendInteger(UInt32(files.count))
        bytes.appendInteger(UInt64(entries.count))
        var crc = CRC32C()
        crc.update(bytes)
        crc.update(entries)
        bytes.appendInteger(crc.value)
        return bytes + entries
    }

    /// Reads the file; nil when there is none.
    static func read(from disk: any Disk) throws(StoreError) -> ManifestFile? {
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readFile(path, limit: StoreLimits.manifestBytes)
        } catch {
            throw .disk(error)
        }
        return try bytes.map { (bytes) throws(StoreError) in try ManifestFile(decoding: bytes) }
    }

    init(decoding bytes: [UInt8]) throws(StoreError) {
        guard bytes.count >= ManifestFile.headerBytes, bytes.starts(with: ManifestFile.magic) else {
            throw ManifestFile.damage("this is not the list of what is in a data folder", at: 0)
        }
        var crc = CRC32C()
        crc.update(Array(bytes[..<24]))
        crc.update(Array(bytes[ManifestFile.headerBytes...]))
        guard bytes.integer(at: 24, as: UInt32.self) == crc.value else {
            throw ManifestFile.damage("the checksum is wrong", at: 0)
        }
        let version: UInt32 = bytes.integer(at: 8)
        guard version == ManifestFile.version else {
            throw .unknownVersion(file: ManifestFile.path, version: version)
        }
        let count = Int(bytes.integer(at: 12, as: UInt32.self))
        guard bytes.integer(at: 16, as: UInt64.self) == UInt64(bytes.count - ManifestFile.headerBytes) else {
            throw ManifestFile.damage("the length is wrong", at: 16)
        }
        files = [:]
        files.reserveCapacity(Swift.min(count, bytes.count / ManifestFile.entryHeaderBytes))
        var offset = ManifestFile.headerBytes
        while offset < bytes.count {
            let start = offset + ManifestFile.entryHeaderBytes
            guard start <= bytes.count else { throw ManifestFile.damage("an entry is cut off", at: offset) }
            let end = start + Int(bytes.integer(at: offset + 8, as: UInt16.self))
            guard end <= bytes.count, let name = String(validating: bytes[start..<end], as: UTF8.self),
                files.updateValue(bytes.integer(at: offset), forKey: name) == nil
            else { throw ManifestFile.damage("an entry is wrong", at: offset) }
            offset = end
        }
        guard files.count == count else { throw ManifestFile.damage("the count of the files is wrong", at: 12) }
    }

    private static func damage(_ problem: String, at offset: Int) -> StoreError {
        .damaged(Damage(file: path, offset: UInt64(offset), problem: problem))
    }

    // MARK: What is there

    /// The snapshots and schemas of the folder that `disk` stands for, by their names, its folder of assets and its
    /// ``AssetPlace``.
    static func namesOfFiles(on disk: any Disk) throws(DiskError) -> Set<String> {
        var names = try namesOfSnapshotsAndSchemas(on: disk)
        if try holdsAssets(disk) { names.insert(BlobFolder.root) }
        if try disk.list("").contains(AssetPlace.path) { names.insert(AssetPlace.path) }
        return names
    }

    /// Whether there is a folder of assets. Once there is, there always is one: nobody removes it.
    static func holdsAssets(_ disk: any Disk) throws(DiskError) -> Bool {
        try disk.listFolders("").contains(BlobFolder.root)
    }

    /// The snapshots and schemas of the folder that `disk` stands for, by their names.
    static func namesOfSnapshotsAndSchemas(on disk: any Disk) throws(DiskError) -> Set<String> {
        var names = Set<String>()
        for name in try disk.list(SnapshotFormat.folder) where name.hasSuffix(SnapshotFormat.suffix) {
            names.insert(SnapshotFormat.folder + "/" + name)
        }
        for name in try disk.list(SchemaFile.folder) where name.hasSuffix(SchemaFile.suffix) {
            names.insert(SchemaFile.folder + "/" + name)
        }
        return names
    }

    /// The files that are named, and not among `names`; sorted.
    func missing(from names: Set<String>) -> [Damage] {
        // Where the place of the assets is lost, nobody knows where their folder has to be.
        let losesPlace = files[AssetPlace.path] != nil && !names.contains(AssetPlace.path)
        return files.filter { name, _ in
            !names.contains(name) && !(losesPlace && name == BlobFolder.root)
        }.sorted { $0.key < $1.key }.map { name, sequence in
            ManifestFile.missing(name, sequence: sequence)
        }
    }

    static func missing(_ name: String, sequence: UInt64) -> Damage {
        if name == BlobFolder.root {
            return Damage(missing: name, "the folder is missing, with the contents of all assets")
        }
        return Damage(
            missing: name, "the file is missing" + (sequence > 0 ? "; it held all to commit \(sequence)" : ""))
    }

    /// Checks that a snapshot that was read holds what it has to.
    static func check(_ path: String, holds sequence: UInt64?, atLeast least: UInt64?) throws(StoreError) {
        guard let least else { return }
        guard let sequence else { throw .damaged(missing(path, sequence: least)) }
        guard sequence >= least else {
            throw .damaged(
                Damage(
                    file: path, offset: 0,
                    problem: "the file is an older one: it holds all to commit \(sequence), and not to \(least)"))
        }
    }
}
