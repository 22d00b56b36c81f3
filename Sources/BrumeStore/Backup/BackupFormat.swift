/// A backup in one file, format version 1: the files of a data folder, one after another, as `brume backup X.brume`
/// writes it.
///
/// Integers are little-endian.
///
/// ```
/// file header, 16 bytes
///  0  8  "BRUMEBAK"
///  8  4  format version, 1
/// 12  4  CRC-32C of bytes 0 to 11
///
/// block
///  0  4  bytes of the payload
///  4  4  kind: 1 file, 2 content, 3 end
///  8  4  CRC-32C field of the block before; that of the file header for the first
/// 12  4  bytes of the content, at most 1 MiB
/// 16  4  CRC-32C of bytes 0 to 15 and the payload
/// 20     payload: the content as a zstd frame; the content itself where that is no shorter, and both counts are equal
/// ```
///
/// A *file* block begins a file: its content is 8 bytes, the file's length, and its name in the data folder. *Content*
/// blocks with the file's bytes follow, each of 1 MiB but for the last. The *end* block is the last one, with two
/// counts of 8 bytes: of the files, and of all their bytes; nothing follows it. So a file that ends too early has no
/// end block, and one of which a part was lost, put twice or moved breaks the chain of checksums.
///
/// `brume.meta` comes last, as in a folder. Names are hostile until checked: only those that a data folder may have are
/// taken (``isName(_:others:)``), each once. The file is written under a temporary name, synced, read back whole,
/// renamed, and its folder is synced.
enum BackupFormat {
    static let magic = Array("BRUMEBAK".utf8)
    static let version: UInt32 = 1
    static let fileHeaderBytes = 16
    static let blockHeaderBytes = 20
    /// The bytes of a file block's content that are before the name.
    static let lengthBytes = 8
    static let endBytes = 16
    /// The most bytes of a name: its folders, slashes, and what file systems take; an asset's has 200 for its database.
    static let nameBytesLimit = 300

    enum Kind: UInt32 {
        case file = 1
        case content = 2
        case end = 3
    }

    /// Whether a data folder may have a file of this name: its path or, for one in a folder, `folder/name`; for an
    /// asset's, `assets/database/bucket/name`.
    ///
    /// - Parameter others: Files besides those of the store.
    static func isName(_ name: String, others: [String]) -> Bool {
        if [MetaFile.path, ManifestFile.path, JournalExtent.path].contains(name) || others.contains(name) {
            return true
        }
        if let file = name.inFolder(JournalFormat.folder) { return JournalFormat.segmentNumber(ofFile: file) != nil }
        if let file = name.inFolder(SnapshotFormat.folder) { return SnapshotFormat.isFileName(file) }
        if let file = name.inFolder(SchemaFile.folder) { return SchemaFile.isFileName(file) }
        if let file = name.inFolder(AuditFile.folder) { return AuditFile.isFileName(file) }
        return BlobFiles.isPath(name)
    }

    /// The most bytes of a file of that name.
    static func byteLimit(ofFile name: String) -> UInt64 {
        if name.inFolder(SnapshotFormat.folder) != nil { return .max }
        if name.inFolder(JournalFormat.folder) != nil { return StoreLimits.backupSegmentBytes }
        if name.inFolder(BlobFolder.root) != nil { return BlobFormat.fileBytesMax }
        return name == ManifestFile.path ? StoreLimits.manifestBytes : StoreLimits.backupOtherBytes
    }
}

extension String {
    /// What follows `folder/`; nil for another path.
    fileprivate func inFolder(_ folder: String) -> String? {
        hasPrefix(folder + "/") ? String(dropFirst(folder.count + 1)) : nil
    }
}
