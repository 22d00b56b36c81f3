internal import BrumeModel
internal import BrumeWire

/// Checks a whole data folder without changing it: every segment, batch, entry, snapshot and `brume.meta`.
///
/// For a folder that no server uses. It replays as recovery does, and goes on after damage where it can: each snapshot is
/// looked at by itself, the journal up to its first damage.
package struct Verification: Equatable, Sendable {
    package struct Problem: Equatable, Sendable {
        package let file: String
        package let offset: UInt64
        package let problem: String
        /// What can't be relied on because of it.
        package let affects: String
    }

    package private(set) var problems: [Problem] = []
    package private(set) var segments = 0
    package private(set) var batches = 0
    package private(set) var entries = 0
    package private(set) var snapshots = 0
    /// Databases that have a snapshot or are in the journal.
    package private(set) var databases = 0
    /// In all databases, as they are at the journal's end.
    package private(set) var records = 0
    /// A torn tail: not a problem, the next start cuts it.
    package private(set) var tornBytes = 0

    package var isSound: Bool { problems.isEmpty }

    /// Checks the folder that `disk` stands for. Throws only what the disk says.
    package init(of disk: any Disk) throws(DiskError) {
        var meta: MetaFile?
        do throws(StoreError) {
            meta = try MetaFile.read(from: disk)
        } catch {
            try note(error, affects: "the whole folder")
        }
        let epoch = meta?.epoch ?? 0
        var loaded: [DatabaseID: Database] = [:]
        for name in try disk.list(SnapshotFormat.folder) where name.hasSuffix(SnapshotFormat.suffix) {
            do throws(StoreError) {
                let path = SnapshotFormat.folder + "/" + name
                guard let database = try SnapshotReader.read(path, epoch: epoch, from: disk, expecting: nil) else {
                    continue
                }
                snapshots += 1
                loaded[database.id] = database
            } catch {
                try note(error, affects: "the database of this snapshot")
            }
        }
        var damaged = Set<DatabaseID>()
        var reader = JournalReader(disk: disk)
        var replayProblems: [Problem] = []
        do throws(StoreError) {
            let end = try reader.read { (bytes, location) throws(StoreError) in
                let entry = try Recovery.decode(bytes, at: location)
                if damaged.contains(entry.database) { return }
                let database = loaded[entry.database] ?? Database(id: entry.database, epoch: epoch)
                loaded[entry.database] = database
                do throws(ReplayError) {
                    try database.apply(entry)
                } catch {
                    damaged.insert(entry.database)
                    replayProblems.append(
                        Problem(
                            file: location.file, offset: location.offset, problem: error.problem,
                            affects: "the database of commit \(error.sequence)"))
                }
            }
            tornBytes = end?.scan.tornBytes ?? 0
            // A damaged file of the folder has been noted; it is not missing.
            if meta != nil || problems.isEmpty { try Recovery.checkAgreement(of: meta, with: end, on: disk) }
        } catch {
            try note(error, affects: "every commit from here on")
        }
        problems += replayProblems
        segments = reader.segmentCount
        batches = reader.batchCount
        entries = reader.entryCount
        databases = loaded.count
        records = loaded.values.reduce(0) { $0 + $1.recordCount }
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
