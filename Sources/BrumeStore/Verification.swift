internal import BrumeModel
internal import BrumeRecord

/// Checks a whole data folder without changing it: every segment, batch, entry, snapshot, schema and `brume.meta`, the
/// contents of the assets that records name, and that everything exists that has to (``ManifestFile``,
/// ``JournalExtent``).
///
/// For a folder that no server uses, or a ``BackupFileDisk``. It replays as recovery does, and goes on after damage
/// where it can: each snapshot is looked at by itself, the journal up to its first damage.
///
/// Memory is bounded by the largest database, not by all of them. The journal is read once to check it and to see whose
/// commits it holds. A database that has none there is read from its snapshot and dropped. The others are loaded in
/// groups of about ``StoreLimits/verificationBytes``, the journal is replayed over each group, and the group is
/// dropped. So snapshots are read once, and the journal once and once more for each group: since the server keeps it
/// short (256 MiB, or as long as the snapshots), reading it again costs seconds at most.
package struct Verification: Equatable, Sendable {
    package struct Problem: Equatable, Sendable {
        package let file: String
        package let offset: UInt64
        package let problem: String
        /// What can't be relied on because of it.
        package let affects: String
    }

    /// A file besides those of the store that a folder always has.
    package struct OtherFile: Sendable {
        package let path: String
        /// Throws what is wrong with the file's bytes.
        let check: @Sendable ([UInt8]) throws(StoreError) -> Void

        package init(path: String, check: @escaping @Sendable ([UInt8]) throws(StoreError) -> Void) {
            self.path = path
            self.check = check
        }
    }

    /// Whether what an asset's file holds is known, by its path.
    package typealias KnownAssets = (_ path: String) -> Bool

    /// What is wrong, assets left out.
    package private(set) var problems: [Problem] = []
    package private(set) var assets = AssetVerification()
    package private(set) var segments = 0
    package private(set) var batches = 0
    package private(set) var entries = 0
    package private(set) var snapshots = 0
    /// Containers that have schemas.
    package private(set) var schemas = 0
    /// Databases that have a snapshot or are in the journal.
    package private(set) var databases = 0
    /// In all databases, as they are at the journal's end.
    package private(set) var records = 0
    /// A torn tail: not a problem, the next start cuts it.
    package private(set) var tornBytes = 0
    /// Groups of databases that were held at a time.
    package private(set) var groups = 0

    private var manifest: ManifestFile?
    private var extent: JournalExtent?
    /// Files that have to exist, and don't.
    private var missing = Set<String>()

    package var isSound: Bool { problems.isEmpty && assets.problems.isEmpty }

    /// Checks the folder that `disk` stands for. Throws only errors of the disk.
    ///
    /// - Parameters:
    ///   - others: What else the folder always has.
    ///   - memoryBytes: About what the databases may take that are held at a time; one is always held.
    ///   - isKnown: Asked for each asset's file whether its content need not be read.
    ///   - progress: Called with the number of bytes of assets that have been checked: of these there is most.
    package init(
        of disk: any Disk, others: [OtherFile] = [], memoryBytes: Int = StoreLimits.verificationBytes,
        exceptContentOf isKnown: KnownAssets = { _ in false }, progress: (UInt64) -> Void = { _ in }
    ) throws(DiskError) {
        var meta: MetaFile?
        do throws(StoreError) {
            meta = try MetaFile.read(from: disk)
        } catch {
            try note(error, affects: "the whole folder")
        }
        let isMetaDamaged = !problems.isEmpty
        let epoch = meta?.epoch ?? 0
        if meta?.hasManifest == true { try readObligations(on: disk, others: others) }

        let (tails, journalEnd) = try readJournal(on: disk)
        do throws(StoreError) {
            // A damaged file has been noted; it is not missing.
            if case .success(let end) = journalEnd, !isMetaDamaged {
                try Recovery.checkAgreement(of: meta, with: end, on: disk)
            }
        } catch {
            try note(error, affects: "every commit from here on")
        }
        try readSnapshots(on: disk, epoch: epoch, except: tails, isKnown, progress)
        try readSchemas(on: disk)
        try replay(tails, on: disk, epoch: epoch, memoryBytes: memoryBytes, isKnown, progress)
        try assets.countUnnamed(on: disk)
        if case .failure(let error) = journalEnd { try note(error, affects: "every commit from here on") }
        // No longer needed; two verifications with the same findings are equal.
        (manifest, extent, missing) = (nil, nil, [])
    }

    /// The verification of something that can't be read as a folder at all. Throws errors of the disk.
    package init(failing error: StoreError) throws(DiskError) {
        try note(error, affects: "the whole backup")
    }

    /// Reads what has to exist, and checks that it does.
    private mutating func readObligations(on disk: any Disk, others: [OtherFile]) throws(DiskError) {
        do throws(StoreError) {
            manifest = try ManifestFile.read(from: disk)
            if manifest == nil { throw .damaged(ManifestFile.missing(ManifestFile.path, sequence: 0)) }
        } catch {
            try note(error, affects: "what is known of the snapshots and schemas that have to be there")
        }
        do throws(StoreError) {
            extent = try JournalExtent.read(from: disk)
            if extent == nil { throw .damaged(ManifestFile.missing(JournalExtent.path, sequence: 0)) }
        } catch {
            try note(error, affects: "what is known of the journal's ends")
        }
        for damage in manifest?.missing(from: try ManifestFile.namesOfFiles(on: disk)) ?? [] {
            missing.insert(damage.file)
            let isSnapshot = damage.file.hasPrefix(SnapshotFormat.folder + "/")
            try note(
                .damaged(damage),
                affects: damage.file == BlobFolder.root
                    ? "the contents of all assets"
                    : damage.file == AssetPlace.path
                        ? "where the contents of assets are"
                        : isSnapshot ? "the database of this snapshot" : "the schemas of this container")
        }
        for other in others {
            let bytes = try disk.readWhole(other.path, limit: StoreLimits.otherFileBytes)
            do throws(StoreError) {
                guard let bytes else { throw .damaged(ManifestFile.missing(other.path, sequence: 0)) }
                try other.check(bytes)
            } catch {
                try note(error, affects: "all accounts")
            }
        }
    }

    /// Checks that a snapshot holds what it has to; one that is missing has been reported.
    private func check(_ path: String, holds database: Database?) throws(StoreError) {
        if missing.contains(path) { return }
        try ManifestFile.check(path, holds: database?.sequence, atLeast: manifest?.files[path])
    }

    /// Checks the journal, up to its first damage. Returns the bytes of each database's entries.
    private mutating func readJournal(
        on disk: any Disk
    ) throws(DiskError) -> (tails: [DatabaseID: Int], end: Result<JournalReader.End?, StoreError>) {
        var tails: [DatabaseID: Int] = [:]
        var reader = JournalReader(disk: disk, extent: extent)
        let end: Result<JournalReader.End?, StoreError>
        do throws(StoreError) {
            let found = try reader.read { (bytes, location) throws(StoreError) in
                let entry = try Recovery.decode(bytes, at: location)
                tails[entry.database, default: 0] += bytes.count
            }
            tornBytes = found?.scan.tornBytes ?? 0
            end = .success(found)
        } catch {
            if case .disk(let error) = error { throw error }
            end = .failure(error)
        }
        segments = reader.segmentCount
        batches = reader.batchCount
        entries = reader.entryCount
        return (tails, end)
    }

    /// Checks the snapshots of the databases that are not in the journal, one at a time.
    private mutating func readSnapshots(
        on disk: any Disk, epoch: UInt32, except tails: [DatabaseID: Int], _ isKnown: KnownAssets,
        _ progress: (UInt64) -> Void
    ) throws(DiskError) {
        let others = Set(tails.keys.map { SnapshotFormat.path(of: $0, on: disk) })
        for name in try disk.list(SnapshotFormat.folder) where name.hasSuffix(SnapshotFormat.suffix) {
            let path = SnapshotFormat.folder + "/" + name
            if others.contains(path) { continue }
            do throws(StoreError) {
                guard let database = try SnapshotReader.read(path, epoch: epoch, from: disk, expecting: nil) else {
                    continue
                }
                try check(path, holds: database)
                snapshots += 1
                count(database)
                assets.check(database, on: disk, exceptContentOf: isKnown, progress: progress)
            } catch {
                try note(error, affects: "the database of this snapshot")
            }
        }
    }

    private mutating func readSchemas(on disk: any Disk) throws(DiskError) {
        for name in try disk.list(SchemaFile.folder) where name.hasSuffix(SchemaFile.suffix) {
            do throws(StoreError) {
                if try SchemaFile.read(SchemaFile.folder + "/" + name, from: disk) != nil { schemas += 1 }
            } catch {
                try note(error, affects: "the schemas of this container")
            }
        }
    }

    /// Loads the databases that are in the journal, group by group, and replays it over each.
    private mutating func replay(
        _ tails: [DatabaseID: Int], on disk: any Disk, epoch: UInt32, memoryBytes: Int, _ isKnown: KnownAssets,
        _ progress: (UInt64) -> Void
    ) throws(DiskError) {
        // In an order that does not depend on chance.
        let ids = tails.keys.map { (path: SnapshotFormat.path(of: $0, on: disk), id: $0) }.sorted { $0.path < $1.path }
        var next = 0
        while next < ids.count {
            var group: [DatabaseID: Database] = [:]
            var bytes = 0
            let first = next
            while next < ids.count, group.isEmpty || bytes < memoryBytes {
                let id = ids[next].id
                next += 1
                do throws(StoreError) {
                    let loaded = try SnapshotReader.load(id, epoch: epoch, from: disk)
                    try check(SnapshotFormat.path(of: id, on: disk), holds: loaded)
                    if loaded != nil { snapshots += 1 }
                    let database = loaded ?? Database(id: id, epoch: epoch)
                    group[id] = database
                    // Replayed, an entry takes its bytes, and about as much again for look-ups and feed.
                    bytes += database.approximateBytes + 2 * (tails[id] ?? 0)
                } catch {
                    try note(error, affects: "the database of this snapshot")
                }
            }
            if group.isEmpty { continue }
            try replay(over: group, on: disk)
            for database in ids[first..<next].compactMap({ group[$0.id] }) {
                count(database)
                assets.check(database, on: disk, exceptContentOf: isKnown, progress: progress)
            }
        }
    }

    private mutating func replay(over group: [DatabaseID: Database], on disk: any Disk) throws(DiskError) {
        groups += 1
        var damaged = Set<DatabaseID>()
        var found: [Problem] = []
        var reader = JournalReader(disk: disk, extent: extent)
        do throws(StoreError) {
            _ = try reader.read { (bytes, location) throws(StoreError) in
                let entry = try Recovery.decode(bytes, at: location)
                guard let database = group[entry.database], !damaged.contains(entry.database) else { return }
                do throws(ReplayError) {
                    try database.apply(entry)
                } catch {
                    damaged.insert(entry.database)
                    found.append(
                        Problem(
                            file: location.file, offset: location.offset, problem: error.problem,
                            affects: "the database of commit \(error.sequence)"))
                }
            }
        } catch {
            // The first reading has found it as well, and it is reported once.
            if case .disk(let error) = error { throw error }
        }
        problems += found
    }

    private mutating func count(_ database: Database) {
        databases += 1
        records += database.recordCount
    }

    private mutating func note(_ error: StoreError, affects: String) throws(DiskError) {
        switch error {
        case .disk(let error): throw error
        case .damaged(let damage):
            problems.append(
                Problem(file: damage.file, offset: damage.offset, problem: damage.problem, affects: affects))
        case .unknownVersion(let file, _):
            problems.append(Problem(file: file, offset: 8, problem: error.description, affects: affects))
        }
    }
}
