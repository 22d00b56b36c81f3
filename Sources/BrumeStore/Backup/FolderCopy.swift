/// Copies a data folder: to a backup, and from one. A backup is itself a data folder, without what only a running
/// server needs, or one file that holds such a folder (``BackupFileDisk``): `brume verify` checks both.
///
/// From a folder that nobody uses, journal and snapshots are copied as they are. From one that a server uses, snapshots
/// alone are: a snapshot that has its name is whole, holds durable commits only, and does not change (a newer one takes
/// its place by a rename), so that each database is copied as it was at one commit. The server has to be asked for
/// snapshots before: they hold what was committed until then. The copy gets a journal of its own, without entries.
///
/// The contents of assets come behind the records, from either kind of folder.
///
/// The copy holds all that the folder's ``ManifestFile`` names, or no copy is made; it has a manifest of its own.
///
/// `brume.meta` comes last. No server opens a folder that holds data and no such file, so that a copy that was cut
/// short is not taken for a whole one.
package struct FolderCopy: Sendable {
    package enum Source: Sendable {
        /// Nobody writes to the folder while it is copied.
        case idle
        /// A server uses the folder, and has just written snapshots of all that changed.
        case inUse
    }

    package struct Item: Equatable, Sendable {
        package let path: String
        package let byteCount: UInt64
    }

    /// Bytes that are read, and then written, at a time.
    private static let chunkBytes = 1024 * 1024
    /// The size of a journal without entries: a server makes its next segment as large as it is told to.
    static let emptyJournalBytes = 64 * 1024

    /// What will be copied, `brume.meta` and assets left out. In a folder that is in use a snapshot's size may change
    /// until then.
    package let items: [Item]
    /// The assets' contents that will be copied, and their files' bytes, as long as the folder is not in use.
    package let assets: (files: Int, byteCount: UInt64)
    /// The bytes of all items and assets.
    package var byteCount: UInt64 { items.reduce(assets.byteCount) { $0 + $1.byteCount } }

    let kind: Source
    let disk: any Disk
    let meta: MetaFile
    /// The copy's manifest; nil when neither the folder nor its copy has one.
    let manifest: ManifestFile?

    /// Looks at the folder that `disk` stands for.
    ///
    /// - Parameter others: Files of the folder that the store knows nothing of; those that don't exist are left out.
    package init(of disk: any Disk, _ kind: Source, others: [String]) throws(StoreError) {
        self.disk = disk
        self.kind = kind
        guard let meta = try MetaFile.read(from: disk) else {
            throw .damaged(
                Damage(missing: MetaFile.path, "the file is missing: this is no data folder"))
        }
        self.meta = meta
        // Read before the folder's names: the files that it names stay, and it need not name those that are added
        // meanwhile.
        var manifest = meta.hasManifest ? try ManifestFile.read(from: disk) : nil
        if meta.hasManifest, manifest == nil {
            throw .damaged(ManifestFile.missing(ManifestFile.path, sequence: 0))
        }
        let present: Set<String>
        do throws(DiskError) {
            present = try ManifestFile.namesOfSnapshotsAndSchemas(on: disk)
        } catch {
            throw .disk(error)
        }
        // A copy has its assets in itself, unless it is made in a folder that has them elsewhere.
        let namesPlace = manifest?.files.removeValue(forKey: AssetPlace.path) != nil
        let namesAssets = manifest?.files.removeValue(forKey: BlobFolder.root) != nil
        if let damage = manifest?.missing(from: present).first { throw .damaged(damage) }
        var (hasPlace, hasAssets) = (false, false)
        if kind == .idle, meta.hasManifest, try JournalExtent.read(from: disk) == nil {
            throw .damaged(ManifestFile.missing(JournalExtent.path, sequence: 0))
        }
        do throws(DiskError) {
            let names = try disk.list("")
            hasPlace = names.contains(AssetPlace.path)
            hasAssets = try ManifestFile.holdsAssets(disk)
            // Data first: accounts without it and without `brume.meta` would be taken for a folder that is just being
            // made.
            var paths = try disk.list(SnapshotFormat.folder).filter { $0.hasSuffix(SnapshotFormat.suffix) }
                .map { SnapshotFormat.folder + "/" + $0 }
            if kind == .idle {
                paths += try disk.list(JournalFormat.folder).filter { JournalFormat.segmentNumber(ofFile: $0) != nil }
                    .map { JournalFormat.folder + "/" + $0 }
                if meta.hasManifest { paths.append(JournalExtent.path) }
            }
            // After the data: a schema that knows more than the data use does no harm.
            paths += try disk.list(SchemaFile.folder).filter { SchemaFile.isFileName($0) }
                .map { SchemaFile.folder + "/" + $0 }
            paths += try AuditFile.list(on: disk).map(\.path)
            paths += others.filter(names.contains)
            var items: [Item] = []
            for path in paths { items.append(Item(path: path, byteCount: try FolderCopy.size(of: path, on: disk))) }
            self.items = items
            assets = try BlobFiles(on: disk).count()
            for path in paths where present.contains(path) && manifest?.files[path] == nil {
                manifest?.files[path] = 0
            }
            self.manifest = manifest
        } catch {
            throw .disk(error)
        }
        // Without this file nobody knows where the assets are.
        if namesPlace, !hasPlace { throw .damaged(ManifestFile.missing(AssetPlace.path, sequence: 0)) }
        if namesAssets, !hasAssets { throw .damaged(ManifestFile.missing(BlobFolder.root, sequence: 0)) }
    }

    /// Copies everything to `target`, an empty folder. When this returns the copy is durable; when it throws, what is
    /// in the target is of no use.
    ///
    /// - Parameters:
    ///   - epoch: The copy's epoch; nil keeps the folder's. A folder that will be served gets another one.
    ///   - salt: Random, for a journal that is made; see ``JournalFormat``.
    ///   - adopt: Asked for each asset whether an earlier copy's file has taken its place; nil copies all.
    ///   - progress: Called with the number of bytes that have been copied.
    package func run(
        to target: any Disk, epoch: UInt32?, salt: UInt64, adopting adopt: Adoption? = nil,
        progress: (UInt64) -> Void
    ) throws(StoreError) {
        do throws(DiskError) {
            try target.makeDirectory(JournalFormat.folder)
            try target.makeDirectory(SnapshotFormat.folder)
            try target.makeDirectory(SchemaFile.folder)
            try target.makeDirectory(AuditFile.folder)
            var done: UInt64 = 0
            for item in items {
                try copy(item.path, to: target) { count in
                    done += count
                    progress(done)
                }
            }
            let newSchemas = try newSchemas()
            for path in newSchemas { try copy(path, to: target) { _ in } }
            try copyAssets(to: target, adopting: adopt) { count in
                done += count
                progress(done)
            }
            if kind == .inUse {
                _ = try JournalWriter(
                    creatingOn: target,
                    options: JournalWriter.Options(salt: salt, segmentBytes: FolderCopy.emptyJournalBytes))
            }
            for folder in [JournalFormat.folder, SnapshotFormat.folder, SchemaFile.folder, AuditFile.folder, ""] {
                try target.syncDirectory(folder)
            }
            if var manifest {
                for path in newSchemas { manifest.files[path] = 0 }
                if try target.list("").contains(AssetPlace.path) { manifest.files[AssetPlace.path] = 0 }
                if try ManifestFile.holdsAssets(target) { manifest.files[BlobFolder.root] = 0 }
                try target.replaceFile(ManifestFile.path, in: "", with: manifest.encoded)
            }
            try MetaFile(epoch: epoch ?? meta.epoch, version: meta.version).write(to: target)
        } catch {
            throw .disk(error)
        }
    }

    /// The schemas that the folder has by now, and had not when it was looked at: the first records of a container may
    /// be in a snapshot that was copied since.
    func newSchemas() throws(DiskError) -> [String] {
        let known = Set(items.map(\.path))
        return try disk.list(SchemaFile.folder).filter { SchemaFile.isFileName($0) }
            .map { SchemaFile.folder + "/" + $0 }.filter { !known.contains($0) }
    }

    private func copy(_ path: String, to target: any Disk, progress: (UInt64) -> Void) throws(DiskError) {
        let input = try disk.openForReading(path)
        defer { disk.close(input) }
        try copy(input, to: path, on: target, reading: disk.read, progress: progress)
    }

    /// How a part of a file is read that is copied.
    typealias Reading = (_ file: DiskFile, _ offset: UInt64, _ length: Int) throws(DiskError) -> [UInt8]

    /// Copies an open file.
    func copy(
        _ input: DiskFile, to path: String, on target: any Disk, reading read: Reading, progress: (UInt64) -> Void
    ) throws(DiskError) {
        let output = try target.create(path)
        defer { target.close(output) }
        var offset: UInt64 = 0
        while true {
            let bytes = try read(input, offset, FolderCopy.chunkBytes)
            if !bytes.isEmpty { try target.write(bytes, to: output, at: offset) }
            offset += UInt64(bytes.count)
            progress(UInt64(bytes.count))
            if bytes.count < FolderCopy.chunkBytes { break }
        }
        try target.sync(output)
    }

    private static func size(of path: String, on disk: any Disk) throws(DiskError) -> UInt64 {
        let file = try disk.openForReading(path)
        defer { disk.close(file) }
        return try disk.size(of: file)
    }
}
