internal import BrumeModel

/// Which changes of a batch can't be sent before others of it, or of batches before it, are saved:
///
/// - A record whose parent is new, that refers to a new record with `deleteSelf`, or that is a share of such: on the
///   server, and on other devices, it would refer to nothing.
/// - A share and its root, which are saved together.
/// - All of a zone in a batch that is atomic.
/// - A deletion beside a record that may be moved away from what is deleted, which would else take it along.
///
/// Linear in the references of the records.
struct BatchDependencies {
    private let batch: CKSyncEngine.RecordZoneChangeBatch
    private let ids: Set<CKRecord.ID>
    private var dependents: [CKRecord.ID: [CKRecord.ID]] = [:]
    /// Records that are on the server and refer to others than there, as far as is known.
    private var moved: Set<CKRecord.ID> = []
    private var deletions: [CKRecordZone.ID: [CKRecord.ID]] = [:]
    private var wholeZones: [CKRecordZone.ID: [CKRecord.ID]] = [:]

    /// - Parameter earlier: What is sent before the batch.
    init(_ batch: CKSyncEngine.RecordZoneChangeBatch, behind earlier: [CKSyncEngine.RecordZoneChangeBatch]) {
        self.batch = batch
        ids = Set(batch.itemIDs)
        let earlierRecords = earlier.flatMap(\.recordsToSave)
        var new: Set<CKRecord.ID> = []
        for record in earlierRecords + batch.recordsToSave {
            let state = record.snapshot
            if state.version == nil { new.insert(record.recordID) }
            if state.movesReferences { moved.insert(record.recordID) }
        }
        for record in batch.recordsToSave {
            let id = record.recordID
            for name in record.snapshot.requiredNames {
                let target = CKRecord.ID(recordName: name, zoneID: id.zoneID)
                if new.contains(target), target != id { dependents[target, default: []].append(id) }
            }
            if let root = (record as? CKShare)?.snapshots.1.root, !root.isEmpty {
                let rootID = CKRecord.ID(recordName: root, zoneID: id.zoneID)
                dependents[rootID, default: []].append(id)
                dependents[id, default: []].append(rootID)
            }
        }
        for id in batch.recordIDsToDelete { deletions[id.zoneID, default: []].append(id) }
        for id in batch.itemIDs where batch.isWhole(id.zoneID) { wholeZones[id.zoneID, default: []].append(id) }
    }

    /// What of the batch has to wait for some records, those of them included that are in the batch.
    func waiting(for records: some Sequence<CKRecord.ID>) -> Set<CKRecord.ID> {
        var seen = Set(records)
        var next = Array(seen)
        var zonesWithMoves: Set<CKRecordZone.ID> = []
        var zonesThatWait: Set<CKRecordZone.ID> = []
        func add(_ ids: [CKRecord.ID]) {
            for id in ids where seen.insert(id).inserted { next.append(id) }
        }
        while let id = next.popLast() {
            add(dependents[id] ?? [])
            if moved.contains(id), zonesWithMoves.insert(id.zoneID).inserted { add(deletions[id.zoneID] ?? []) }
            if ids.contains(id), zonesThatWait.insert(id.zoneID).inserted { add(wholeZones[id.zoneID] ?? []) }
        }
        return seen.intersection(ids)
    }
}

extension CKRecordState {
    /// The records of the zone that have to be there before this one.
    fileprivate var requiredNames: [String] { Self.requiredNames(parent, fields) }

    /// Whether it is on the server, and may refer to others there.
    fileprivate var movesReferences: Bool {
        guard version != nil else { return false }
        guard let base else { return true }
        return Set(requiredNames) != Set(Self.requiredNames(base.parent, base.fields))
    }

    private static func requiredNames(_ parent: String?, _ fields: [String: FieldValue]) -> [String] {
        var names = parent.map { [$0] } ?? []
        for value in fields.values {
            switch value {
            case .reference(let reference) where reference.deletesSelf: names.append(reference.recordName)
            case .references(let references):
                names += references.filter(\.deletesSelf).map(\.recordName)
            default: break
            }
        }
        return names
    }
}
