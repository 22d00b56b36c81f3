package import BrumeModel
internal import BrumeRecord

/// Opens a data folder: reads its own file, its journal, and the snapshots of the databases that are in the journal.
/// The other snapshots are checked, as long as they are few (``StartCheck``), and loaded when they are used.
///
/// Nothing but the torn tail is changed, and that only when all else has been read without damage. Files with temporary
/// names mean nothing, and are removed when the next file is written under that name.
///
/// Order on the disk: folders, the first segment, `journal/extent`, `brume.manifest`, then `brume.meta`. So a folder
/// without `brume.meta` is one whose making was cut short, if it holds nothing; if it holds anything, the file was
/// lost, and that is damage. A folder of an earlier version becomes one of today's in the same order.
package struct Recovery {
    package struct Report: Equatable, Sendable {
        package var segments = 0
        package var batches = 0
        /// Entries in the journal.
        package var entries = 0
        /// Entries among them that no snapshot had.
        package var entriesApplied = 0
        package var snapshotsRead = 0
        /// The other snapshots that were read whole and are sound; nil when there are too many for a start, see
        /// ``StartCheck``.
        package var snapshotsChecked: Int?
        /// Bytes of the torn tail that were cut; 0 when the journal's end was whole.
        package var tornBytes = 0
        package var isNewFolder = false
    }

    package let epoch: UInt32
    /// Names this run of the server in what it commits.
    package let run: UInt32
    /// The databases with commits in the journal. The others are loaded by ``openDatabase(_:)`` when they are used.
    package let databases: [DatabaseID: Database]
    /// Ready to append.
    package let writer: JournalWriter
    /// Which databases still need which segments.
    package let coverage: SegmentCoverage
    package let report: Report
    /// What has to be in the folder besides the journal.
    package let manifest: FolderManifest
    private let history: HistoryLimits
    private let threads: LoadThreads
    private let disk: any Disk

    /// Opens the folder that `disk` stands for, or makes it.
    ///
    /// - Parameters:
    ///   - newEpoch: Random and not 0: names this run of the server, and is the folder's epoch if that is made.
    ///   - startCheck: Which snapshots are read of databases that are not in the journal.
    ///   - history: The limits of all databases.
    ///   - threads: The threads that loading a snapshot may use.
    package init(
        opening disk: any Disk, options: JournalWriter.Options, newEpoch: UInt32, startCheck: StartCheck = .automatic,
        history: HistoryLimits = .standard, threads: LoadThreads = .one
    ) throws(StoreError) {
        self.disk = disk
        self.history = history
        self.threads = threads
        var report = Report()
        do throws(DiskError) {
            try disk.makeDirectory(JournalFormat.folder)
            try disk.makeDirectory(SnapshotFormat.folder)
            // A process that ended may have left names that are visible and not durable yet.
            try disk.syncDirectory(JournalFormat.folder)
            try disk.syncDirectory(SnapshotFormat.folder)
            try disk.syncDirectory("")
        } catch {
            throw .disk(error)
        }
        let meta = try MetaFile.read(from: disk)
        let epoch = meta?.epoch ?? newEpoch
        let (manifest, extent) = try Recovery.obligations(of: meta, on: disk)
        self.manifest = manifest
        var databases: [DatabaseID: Database] = [:]
        var coverage = SegmentCoverage()
        var reader = JournalReader(disk: disk, extent: extent)
        let end = try reader.read { (bytes, location) throws(StoreError) in
            let entry = try Recovery.decode(bytes, at: location)
            let database: Database
            if let known = databases[entry.database] {
                database = known
            } else {
                let loaded = try manifest.checking(entry.database, on: disk) { () throws(StoreError) in
                    try SnapshotReader.load(entry.database, epoch: epoch, from: disk, with: threads)
                }
                if loaded != nil { report.snapshotsRead += 1 }
                database = loaded ?? Database(id: entry.database, epoch: epoch)
                database.history = history
                databases[entry.database] = database
                coverage.snapshotted(entry.database, upTo: database.sequence)
            }
            if entry.sequence <= database.sequence { return }
            do throws(ReplayError) {
                try database.apply(entry)
            } catch {
                throw .damaged(
                    Damage(file: location.file, offset: location.offset, problem: error.problem))
            }
            report.entriesApplied += 1
            coverage.appended(entry.database, sequence: entry.sequence, segment: location.segment)
        }
        report.segments = reader.segmentCount
        report.batches = reader.batchCount
        report.entries = reader.entryCount
        report.tornBytes = end?.scan.tornBytes ?? 0
        try Recovery.checkAgreement(of: meta, with: end, on: disk)
        let known = Set(databases.keys.map { SnapshotFormat.path(of: $0, on: disk) })
        report.snapshotsChecked = try startCheck.run(on: disk, except: known, manifest)
        do throws(DiskError) {
            if let end {
                writer = try JournalWriter(disk: disk, options: options, continuing: end, extent: extent)
            } else {
                writer = try JournalWriter(creatingOn: disk, options: options)
            }
            report.isNewFolder = meta == nil
            try manifest.save()
            if meta?.version != MetaFile.version { try MetaFile(epoch: epoch).write(to: disk) }
        } catch {
            throw .disk(error)
        }
        self.epoch = epoch
        run = newEpoch
        for database in databases.values { database.begin(run: newEpoch) }
        self.databases = databases
        self.coverage = coverage
        self.report = report
    }

    /// A database as its snapshot has it; empty when it has none.
    ///
    /// Only for databases that are not in ``databases``, and have not been used since: the journal is not looked at.
    package func openDatabase(_ id: DatabaseID) throws(StoreError) -> Database { try snapshots.open(id) }

    /// The same as ``openDatabase(_:)``, to look at it only; nil when there is no snapshot.
    package func loadDatabase(_ id: DatabaseID) throws(StoreError) -> Database? {
        let database = try manifest.checking(id, on: disk) { () throws(StoreError) in
            try SnapshotReader.load(id, epoch: epoch, from: disk)
        }
        database?.history = history
        return database
    }

    /// The databases that are in the journal; others have snapshots.
    package var journaledDatabases: Set<DatabaseID> {
        Set(databases.values.lazy.filter { $0.sequence > 0 }.map(\.id))
    }

    /// Opens databases like ``openDatabase(_:)``, without holding on to all that was replayed.
    package var snapshots: SnapshotSource {
        SnapshotSource(
            disk: disk, manifest: manifest, epoch: epoch, run: run, history: history, threads: threads)
    }

    /// Databases as their snapshots have them.
    package struct SnapshotSource: Sendable {
        fileprivate let disk: any Disk
        /// Tells a snapshot that is missing, which is damage, from one that never existed.
        fileprivate let manifest: FolderManifest
        fileprivate let epoch: UInt32
        fileprivate let run: UInt32
        fileprivate let history: HistoryLimits
        fileprivate let threads: LoadThreads

        /// Whether there is a snapshot of the database. One that can't be looked for is assumed to exist.
        package func holds(_ id: DatabaseID) -> Bool {
            do throws(DiskError) {
                disk.close(try disk.openForReading(SnapshotFormat.path(of: id, on: disk)))
                return true
            } catch {
                return !error.isMissing
            }
        }

        /// ``Database/quotaBytes`` as the snapshot has it; 0 when there is none, nil when an earlier version wrote it,
        /// which did not say it. Reads the file's beginning.
        package func quotaBytes(of id: DatabaseID) throws(StoreError) -> Int? {
            let path = SnapshotFormat.path(of: id, on: disk)
            // Asked of many databases that never were: a look into memory tells.
            guard let least = manifest.leastSequence(of: path) else { return 0 }
            let header = try SnapshotReader.header(of: id, from: disk)
            try ManifestFile.check(path, holds: header?.sequence, atLeast: least)
            guard let header else { return 0 }
            if header.quotaBytes == 0, header.recordCount > 0 { return nil }
            return Int(min(header.quotaBytes, StoreLimits.quotaBytesOfSnapshot))
        }

        /// The same where the snapshot does not say it. Reads all of it.
        ///
        /// - Parameter goesOn: As for ``open(_:while:)``.
        package func countedQuotaBytes(
            of id: DatabaseID, while goesOn: @escaping @Sendable () -> Bool
        ) throws(StoreError) -> Int {
            try SnapshotReader.load(id, epoch: epoch, from: disk, with: threads, while: goesOn)?.quotaBytes ?? 0
        }

        /// The database as its snapshot has it; empty when there is none. Its next commits belong to this run of the
        /// server.
        ///
        /// - Parameter goesOn: Called now and then; when it returns false, the rest is not read, and this fails as if
        ///   the disk had failed.
        package func open(
            _ id: DatabaseID, while goesOn: @escaping @Sendable () -> Bool = { true }
        ) throws(StoreError) -> Database {
            let loaded = try manifest.checking(id, on: disk) { () throws(StoreError) in
                try SnapshotReader.load(id, epoch: epoch, from: disk, with: threads, while: goesOn)
            }
            return begin(loaded ?? Database(id: id, epoch: epoch))
        }

        /// The same as ``open(_:while:)`` where that is short work; nil where it is not.
        package func openIfShort(_ id: DatabaseID, limits: ShortLoadLimits) throws(StoreError) -> Database? {
            let path = SnapshotFormat.path(of: id, on: disk)
            // Before the file is opened: it may be replaced by a newer one meanwhile.
            let least = manifest.leastSequence(of: path)
            var loaded: Database?
            switch try SnapshotReader.loadIfShort(id, epoch: epoch, from: disk, limits: limits) {
            case .loaded(let database): loaded = database
            case .missing: break
            case .tooLong: return nil
            }
            try ManifestFile.check(path, holds: loaded?.sequence, atLeast: least)
            return begin(loaded ?? Database(id: id, epoch: epoch))
        }

        private func begin(_ database: Database) -> Database {
            database.history = history
            database.begin(run: run)
            return database
        }
    }

    static func decode(_ bytes: [UInt8], at location: JournalReader.Location) throws(StoreError) -> JournalEntry {
        let result: Result<JournalEntry, StoreCodingError> = bytes.withUnsafeBytes { bytes in
            do throws(StoreCodingError) {
                return .success(try StoreCoder.decodeJournalEntry(bytes))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let entry): return entry
        case .failure(let error):
            throw .damaged(Damage(file: location.file, offset: location.offset, problem: error.message))
        }
    }

    /// What has to be in the folder; nothing for folders of version 1, which get a manifest of what they hold.
    private static func obligations(
        of meta: MetaFile?, on disk: any Disk
    ) throws(StoreError) -> (FolderManifest, JournalExtent?) {
        let names: Set<String>
        do throws(DiskError) {
            names = try ManifestFile.namesOfFiles(on: disk)
        } catch {
            throw .disk(error)
        }
        var file = ManifestFile()
        var extent: JournalExtent?
        if let meta, meta.hasManifest {
            guard let found = try ManifestFile.read(from: disk) else {
                throw .damaged(ManifestFile.missing(ManifestFile.path, sequence: 0))
            }
            if let damage = found.missing(from: names).first { throw .damaged(damage) }
            file = found
            extent = try JournalExtent.read(from: disk)
            if extent == nil { throw .damaged(ManifestFile.missing(JournalExtent.path, sequence: 0)) }
        }
        let before = file
        // Files of a process that ended before it had named them.
        for name in names where file.files[name] == nil { file.files[name] = 0 }
        let isChanged = file != before || meta?.hasManifest != true
        return (FolderManifest(file, on: disk, isChanged: isChanged), extent)
    }

    /// A folder has both its own file and a journal, or neither and nothing else.
    static func checkAgreement(
        of meta: MetaFile?, with end: JournalReader.End?, on disk: any Disk
    ) throws(StoreError) {
        if meta != nil, end == nil {
            throw .damaged(
                Damage(missing: JournalFormat.path(ofSegment: 1), "the journal's files are missing"))
        }
        if meta == nil {
            let snapshots = try SnapshotFormat.paths(on: disk)
            let holdsBatches = end.map { $0.scan.nextBatch > 1 } ?? false
            if holdsBatches || !snapshots.isEmpty {
                throw .damaged(
                    Damage(missing: MetaFile.path, "the file is missing, but the folder holds data"))
            }
        }
    }
}
