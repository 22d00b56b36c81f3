internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore
internal import BrumeTestKit

extension FuzzTarget {
    // MARK: Journal

    private static let segmentPath = "journal/0000000000000001.journal"
    private static let options = JournalWriter.Options(salt: 5, segmentBytes: 4096)

    /// A folder with a journal that holds these entries.
    private static func folder(_ entries: [[UInt8]]) -> SimulatedDisk {
        let disk = SimulatedDisk()
        do {
            var writer = try Recovery(opening: disk, options: options, newEpoch: 7).writer
            for entry in entries {
                var batch = JournalBatch()
                batch.append(entry)
                try writer.write(&batch)
            }
        } catch {
            preconditionFailure("a journal can't be made: \(error)")
        }
        return disk
    }

    /// Opens the folder; what opens is used.
    private static func open(_ disk: SimulatedDisk) {
        do throws(StoreError) {
            let recovery = try Recovery(opening: disk, options: options, newEpoch: 7)
            for database in recovery.databases.values { use(database) }
        } catch {
            guard case .disk = error else { return }
            preconditionFailure("a sound disk failed: \(error)")
        }
    }

    /// A journal's file, as it stands on the disk.
    static let journalFile = FuzzTarget(
        name: "journal-file",
        run: { bytes in
            let disk = folder([])
            disk.replace(segmentPath, with: Array(bytes))
            open(disk)
        },
        seeds: {
            [
                folder([]).contents(of: segmentPath)!,
                folder([FuzzSamples.journalEntry(1), FuzzSamples.journalEntry(2)]).contents(of: segmentPath)!,
            ]
        })

    /// Entries in a journal whose checksums hold: each has two bytes of length, then its own.
    static let journalEntries = FuzzTarget(
        name: "journal-entries",
        run: { bytes in
            var steering = Steering(bytes)
            var entries: [[UInt8]] = []
            while !steering.rest.isEmpty, entries.count < 8 {
                let count = steering.byte() * 256 + steering.byte()
                entries.append(Array(steering.bytes(count)))
            }
            open(folder(entries))
        },
        seeds: {
            let entries = (1...3).map { FuzzSamples.journalEntry($0) }
            return [entries.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }]
        })

    // MARK: Snapshots

    private static let snapshot: (path: String, bytes: [UInt8]) = {
        let disk = folder((1...3).map { FuzzSamples.journalEntry($0) })
        do {
            let recovery = try Recovery(opening: disk, options: options, newEpoch: 7)
            for database in recovery.databases.values { try SnapshotWriter.write(database.capture(), to: disk) }
        } catch {
            preconditionFailure("a snapshot can't be made: \(error)")
        }
        let path = disk.paths.first { $0.hasPrefix("snapshots/") || $0.contains("snapshot") }!
        return (path, disk.contents(of: path)!)
    }()

    /// A snapshot's file, as it stands on the disk.
    static let snapshotFile = FuzzTarget(
        name: "snapshot-file",
        run: { bytes in
            let disk = folder([])
            disk.replace(snapshot.path, with: Array(bytes))
            do throws(StoreError) {
                if let database = try SnapshotReader.load(FuzzSamples.database, epoch: 7, from: disk) { use(database) }
            } catch {
                guard case .disk = error else { return }
                preconditionFailure("a sound disk failed: \(error)")
            }
        },
        seeds: { [snapshot.bytes] })

    /// The content of a snapshot's blocks whose checksums hold: each has two bytes of length, then its own.
    static let snapshotContent = FuzzTarget(
        name: "snapshot-content",
        run: { bytes in
            var steering = Steering(bytes)
            let loader = DatabaseLoader(id: FuzzSamples.database, epoch: 7, sequence: 1 << 20)
            while !steering.rest.isEmpty {
                let count = steering.byte() * 256 + steering.byte()
                if Array(steering.bytes(count)).withUnsafeBytes({ loader.add(content: $0) }) != nil { return }
            }
            if case .success(let database) = loader.finish() { use(database) }
        },
        seeds: {
            var first: [UInt8] = []
            StoreCoder.encodeSnapshotBlock(FuzzSamples.firstBlock, into: &first)
            var second: [UInt8] = []
            StoreCoder.encodeSnapshotBlock(FuzzSamples.secondBlock, into: &second)
            return [
                [first, second].flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 },
                [UInt8(first.count >> 8), UInt8(first.count & 255)] + first,
            ]
        })

    // MARK: Records

    /// A record as it is stored, and what the server does with its parts.
    static let records = FuzzTarget(
        name: "records",
        run: { bytes in
            _ = try? StoredRecord.decode(bytes)
            guard let parts = try? StoredRecord.parts(of: Array(bytes)) else { return }
            let encoded = StoredRecord.encode(parts.system, fields: parts.fields)
            if let again = try? StoredRecord.parts(of: encoded) {
                precondition(again == parts || hasEqualKeys(parts), "a record has other parts after another encoding")
            } else {
                preconditionFailure("a record can't be taken apart after another encoding")
            }
            _ = StoredRecord.project(SharedBytes(Array(bytes)), keys: ["field_1", "k"])
            guard let summary = try? StoredRecord.summary(of: bytes) else { return }
            precondition(summary.holdsAssets == StoredRecord.holdsAssets(bytes), "assets are seen in one way only")
            guard (try? StoredRecord.forEachAsset(of: bytes) { _ in true }) != nil else {
                preconditionFailure("the assets of a record that was checked can't be read")
            }
        },
        seeds: { [FuzzSamples.record] })

    /// Fields of equal keys may come back in another order.
    private static func hasEqualKeys(_ parts: StoredRecord.Parts) -> Bool {
        !zip(parts.fields, parts.fields.dropFirst()).allSatisfy { $0.key < $1.key }
    }

    // MARK: Databases

    /// What was recovered serves: it is read, changed, and written as a snapshot.
    private static func use(_ database: Database) {
        let scope = database.id.scope
        let caller = Caller(user: database.id.owner, isOwner: true)
        for zone in database.zones {
            let page = try? database.zoneChanges(zone: zone.id, since: nil, resultsLimit: 10, desiredKeys: ["k", "v"])
            var names = ["r1", "_u"]
            for record in page?.records ?? [] {
                if let record = try? record.array.decoded(StoredRecord.decode) { names.append(record.system.name) }
            }
            _ = database.fetchRecords(
                FetchRecordsRequest(database: scope, zones: [.init(zone: zone.id, names: names)], desiredKeys: ["k"]))
            _ = database.modifyRecords(
                ModifyRecordsRequest<CheckedFields>(
                    database: scope, savePolicy: .allKeys, isAtomic: false,
                    zones: [ZoneModification(zone: zone.id, deletions: Array(names.prefix(400)))]),
                caller: caller, nowMilliseconds: 1)
        }
        _ = try? database.databaseChanges(since: nil, resultsLimit: 10)
        _ = database.subscriptions
        _ = database.approximateBytes
    }
}
