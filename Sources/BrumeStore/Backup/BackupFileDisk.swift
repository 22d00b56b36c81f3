internal import BrumeLock

/// A backup file, read as the data folder that it holds: it is checked and copied like a folder.
///
/// Making one reads the whole file and checks every byte of it (see ``BackupFormat``). It keeps the names, and where
/// the blocks stand: 8 bytes for each MiB.
package final class BackupFileDisk: Disk {
    private struct Content {
        var byteCount: UInt64
        /// Offsets of the blocks, each of ``StoreLimits/backupBlockBytes`` but for the last.
        var blocks: [UInt64] = []
    }

    private struct Folder {
        var files: [String] = []
        var folders = Set<String>()
    }

    private struct Open {
        let name: String
        /// The block that was read last, and its number in the file: reading goes forward in pieces.
        var block: (number: Int, content: [UInt8])?
    }

    private struct State {
        var open: [Int: Open] = [:]
        var nextID = 1
    }

    private let disk: any Disk
    private let file: DiskFile
    private let reader: Reader
    private let contents: [String: Content]
    /// The names of the files and of the folders in each folder.
    private let folders: [String: Folder]
    private let state = Lock(State())

    /// The size of the backup file itself.
    package let byteCount: UInt64

    /// - Parameters:
    ///   - others: The files that a data folder may have besides those of the store.
    ///   - progress: Called with the number of bytes of the file that have been read.
    package init(
        reading path: String, on disk: any Disk, others: [String], progress: (UInt64) -> Void = { _ in }
    ) throws(StoreError) {
        self.disk = disk
        do throws(DiskError) {
            file = try disk.openForReading(path)
        } catch {
            throw .disk(error)
        }
        do throws(StoreError) {
            var reader = try BackupFileReader(file, path: path, on: disk)
            contents = try Self.scan(&reader, others: others, progress)
            folders = Self.folders(of: contents.keys)
            byteCount = reader.offset
            self.reader = Reader(reader)
        } catch {
            disk.close(file)
            throw error
        }
    }

    deinit { disk.close(file) }

    private static func scan(
        _ reader: inout BackupFileReader, others: [String], _ progress: (UInt64) -> Void
    ) throws(StoreError) -> [String: Content] {
        var contents: [String: Content] = [:]
        var total: UInt64 = 0
        while true {
            let block = try reader.next()
            switch block.kind {
            case .file:
                let (name, byteCount) = try begin(block, others: others, reader)
                guard contents[name] == nil, contents[MetaFile.path] == nil else {
                    throw reader.damage("a file stands there twice, or behind the last one", at: block.offset)
                }
                guard contents.count < StoreLimits.backupFiles else {
                    throw reader.damage("there are more files than a backup holds", at: block.offset)
                }
                contents[name] = try content(ofFile: byteCount, &reader, progress)
                total += byteCount
            case .content: throw reader.damage("a block belongs to no file", at: block.offset)
            case .end:
                guard block.content.count == BackupFormat.endBytes,
                    block.content.integer(at: 0, as: UInt64.self) == UInt64(contents.count),
                    block.content.integer(at: 8, as: UInt64.self) == total
                else {
                    throw reader.damage("the counts at the end are not those of the files", at: block.offset)
                }
                guard reader.isAtEnd else { throw reader.damage("something follows the end", at: reader.offset) }
                guard contents[MetaFile.path] != nil else {
                    throw reader.damage("the backup holds no \(MetaFile.path)", at: block.offset)
                }
                return contents
            }
            progress(reader.offset)
        }
    }

    /// What a file block says.
    private static func begin(
        _ block: BackupFileReader.Block, others: [String], _ reader: BackupFileReader
    ) throws(StoreError) -> (name: String, byteCount: UInt64) {
        guard block.content.count > BackupFormat.lengthBytes,
            block.content.count <= BackupFormat.lengthBytes + BackupFormat.nameBytesLimit,
            let name = String(validating: block.content[BackupFormat.lengthBytes...], as: UTF8.self),
            BackupFormat.isName(name, others: others)
        else {
            throw reader.damage("a file has a name that no data folder has", at: block.offset)
        }
        let byteCount: UInt64 = block.content.integer(at: 0)
        guard byteCount <= BackupFormat.byteLimit(ofFile: name) else {
            throw reader.damage("a file is larger than such files are", at: block.offset)
        }
        return (name, byteCount)
    }

    /// Reads a file's blocks.
    private static func content(
        ofFile byteCount: UInt64, _ reader: inout BackupFileReader, _ progress: (UInt64) -> Void
    ) throws(StoreError) -> Content {
        var content = Content(byteCount: byteCount)
        var missing = byteCount
        while missing > 0 {
            let block = try reader.next()
            guard block.kind == .content,
                UInt64(block.content.count) == min(missing, UInt64(StoreLimits.backupBlockBytes))
            else {
                throw reader.damage("a block is not the one that its file goes on with", at: block.offset)
            }
            content.blocks.append(block.offset)
            missing -= UInt64(block.content.count)
            progress(reader.offset)
        }
        return content
    }

    private static func folders(of paths: some Sequence<String>) -> [String: Folder] {
        var folders: [String: Folder] = [:]
        for path in paths {
            var folder = ""
            let parts = path.split(separator: "/").map(String.init)
            for part in parts.dropLast() {
                folders[folder, default: Folder()].folders.insert(part)
                folder += (folder.isEmpty ? "" : "/") + part
            }
            folders[folder, default: Folder()].files.append(parts[parts.count - 1])
        }
        return folders
    }

    // MARK: Disk

    package func openForReading(_ path: String) throws(DiskError) -> DiskFile {
        guard contents[path] != nil else {
            throw DiskError(call: "open", path: path, message: "the backup does not hold it", isMissing: true)
        }
        return state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            state.open[id] = Open(name: path)
            return DiskFile(id: id)
        }
    }

    package func close(_ file: DiskFile) {
        state.withLock { $0.open[file.id] = nil }
    }

    package func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        let result = state.withLock { state -> Result<[UInt8], DiskError> in
            guard var open = state.open[file.id], let content = contents[open.name] else {
                preconditionFailure("a closed file is used")
            }
            defer { state.open[file.id] = open }
            do throws(DiskError) {
                return .success(try read(&open, content, at: offset, length: length))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func read(
        _ open: inout Open, _ content: Content, at offset: UInt64, length: Int
    ) throws(DiskError) -> [UInt8] {
        guard offset < content.byteCount else { return [] }
        let end = offset + min(UInt64(length), content.byteCount - offset)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(end - offset))
        var place = offset
        while place < end {
            let number = Int(place / UInt64(StoreLimits.backupBlockBytes))
            if open.block?.number != number {
                do throws(StoreError) {
                    open.block = (number, try reader.content(at: content.blocks[number]))
                } catch {
                    throw DiskError(call: "read", path: open.name, message: "\(error)")
                }
            }
            let block = open.block!.content
            let start = Int(place % UInt64(StoreLimits.backupBlockBytes))
            let count = min(block.count - start, Int(end - place))
            guard count > 0 else {
                throw DiskError(call: "read", path: open.name, message: "the backup file changes while it is read")
            }
            bytes += block[start..<start + count]
            place += UInt64(count)
        }
        return bytes
    }

    package func size(of file: DiskFile) throws(DiskError) -> UInt64 {
        state.withLock { contents[$0.open[file.id]!.name]!.byteCount }
    }

    package func list(_ path: String) throws(DiskError) -> [String] { (folders[path]?.files ?? []).sorted() }
    package func listFolders(_ path: String) throws(DiskError) -> [String] { (folders[path]?.folders ?? []).sorted() }

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { disk.sha256(bytes) }
    package func makeContentHash() -> any ContentHash { disk.makeContentHash() }

    // MARK: What a backup does not take

    package func openForWriting(_ path: String) throws(DiskError) -> DiskFile { throw Self.unchangeable("open", path) }
    package func create(_ path: String) throws(DiskError) -> DiskFile { throw Self.unchangeable("open", path) }
    package func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        throw Self.unchangeable("write", "")
    }
    package func sync(_ file: DiskFile) throws(DiskError) { throw Self.unchangeable("fdatasync", "") }
    package func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        throw Self.unchangeable("write", "")
    }
    package func rename(_ path: String, to target: String) throws(DiskError) { throw Self.unchangeable("rename", path) }
    package func remove(_ path: String) throws(DiskError) { throw Self.unchangeable("unlink", path) }
    package func makeDirectory(_ path: String) throws(DiskError) { throw Self.unchangeable("mkdir", path) }
    package func removeDirectory(_ path: String) throws(DiskError) { throw Self.unchangeable("rmdir", path) }
    package func syncDirectory(_ path: String) throws(DiskError) { throw Self.unchangeable("fsync", path) }

    private static func unchangeable(_ call: String, _ path: String) -> DiskError {
        DiskError(call: call, path: path, message: "a backup file is not changed")
    }

    /// The reader of single blocks. Its decompressor has working memory, so it is used under the lock of ``state``
    /// only.
    private final class Reader: @unchecked Sendable {
        private let reader: BackupFileReader

        init(_ reader: BackupFileReader) { self.reader = reader }

        func content(at offset: UInt64) throws(StoreError) -> [UInt8] { try reader.block(at: offset).content }
    }
}
