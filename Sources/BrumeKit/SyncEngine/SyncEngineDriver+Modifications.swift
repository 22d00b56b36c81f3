/// Sending changes, of which none may get lost with another one that the server can't take.
extension SyncEngineDriver {
    /// Saves and deletes zones. A request of several that is refused whole is sent again in halves, down to the zone
    /// that is the reason: the engine forgets what fails for good, and with the one the others would be forgotten.
    func modify(
        _ saves: [CKRecordZone], _ deletions: [CKRecordZone.ID], _ database: CKDatabase
    ) async -> Result<SyncEngineAnswer.ZoneResults, CKError> {
        let error: CKError
        do throws(CKError) {
            let results = try await database.modifyRecordZones(
                saving: saves, deleting: deletions, database.callOptions)
            return .success(
                .init(
                    saves: results.saveResults.mapValues(\.typed), deletions: results.deleteResults.mapValues(\.typed)))
        } catch let failure {
            error = failure
        }
        guard error.isOfOneItem, saves.count + deletions.count > 1 else { return .failure(error) }
        var all = SyncEngineAnswer.ZoneResults(saves: [:], deletions: [:])
        for (saves, deletions) in halves(saves, deletions) {
            switch await modify(saves, deletions, database) {
            case .success(let results):
                all.saves.merge(results.saves) { $1 }
                all.deletions.merge(results.deletions) { $1 }
            case .failure(let error):
                for zone in saves { all.saves[zone.zoneID] = .failure(error) }
                for id in deletions { all.deletions[id] = .failure(error) }
            }
        }
        return .success(all)
    }

    /// Saves and deletes records, as ``modify(_:_:_:)`` does zones. What is to happen at once stays together: the
    /// changes of one zone, in a batch that is atomic.
    func modify(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, _ database: CKDatabase
    ) async -> Result<SyncEngineAnswer.RecordResults, CKError> {
        let error: CKError
        do {
            let results = try await database.modifyRecords(
                saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, savePolicy: .ifServerRecordUnchanged,
                atomically: batch.atomicByZone)
            return .success(
                .init(
                    saves: results.saveResults.mapValues(\.typed), deletions: results.deleteResults.mapValues(\.typed)))
        } catch let failure {
            error = CKError(any: failure)
        }
        let parts = error.isOfOneItem ? batch.parts : []
        if parts.isEmpty { return .failure(error) }
        var all = SyncEngineAnswer.RecordResults(saves: [:], deletions: [:])
        for part in parts {
            switch await modify(part, database) {
            case .success(let results):
                all.saves.merge(results.saves) { $1 }
                all.deletions.merge(results.deletions) { $1 }
            case .failure(let error):
                for record in part.recordsToSave { all.saves[record.recordID] = .failure(error) }
                for id in part.recordIDsToDelete { all.deletions[id] = .failure(error) }
            }
        }
        return .success(all)
    }
}

extension CKSyncEngine.RecordZoneChangeBatch {
    /// The batch in smaller ones; none where it can't be taken apart.
    fileprivate var parts: [Self] {
        if atomicByZone {
            let zones = Set(recordsToSave.map(\.recordID.zoneID) + recordIDsToDelete.map(\.zoneID))
            guard zones.count > 1 else { return [] }
            return zones.map { zone in
                Self(
                    recordsToSave: recordsToSave.filter { $0.recordID.zoneID == zone },
                    recordIDsToDelete: recordIDsToDelete.filter { $0.zoneID == zone }, atomicByZone: true)
            }
        }
        guard itemCount > 1 else { return [] }
        return halves(recordsToSave, recordIDsToDelete).map {
            Self(recordsToSave: $0, recordIDsToDelete: $1, atomicByZone: false)
        }
    }
}

/// Two parts of about the same size, in order. There are two items at least.
private func halves<Save, Deletion>(_ saves: [Save], _ deletions: [Deletion]) -> [([Save], [Deletion])] {
    let half = (saves.count + deletions.count) / 2
    let savesOfFirst = min(half, saves.count)
    return [
        (Array(saves[..<savesOfFirst]), Array(deletions[..<(half - savesOfFirst)])),
        (Array(saves[savesOfFirst...]), Array(deletions[(half - savesOfFirst)...])),
    ]
}

extension CKError {
    /// Whether it is a request's whose other items may be right.
    fileprivate var isOfOneItem: Bool { code == .invalidArguments }
}
