/// Sending changes, of which none may get lost with another one that the server can't take.
extension SyncEngineDriver {
    /// Saves and deletes zones, those of each owner for themselves: what is wrong with one owner's must not become what
    /// all of the owner's others fail with, as it does in a call for several owners.
    func modify(
        _ saves: [CKRecordZone], _ deletions: [CKRecordZone.ID], _ database: CKDatabase
    ) async -> Result<SyncEngineAnswer.ZoneResults, CKError> {
        var all = SyncEngineAnswer.ZoneResults(saves: [:], deletions: [:])
        let parts = partsByOwner(saves, deletions, database, zoneOfSave: \.zoneID) { $0 }
        do throws(CKError) {
            let failures = try await database.sendEach(of: parts) { (part) throws(CKError) in
                all.add(try await modifyInHalves(part.saves, part.deletions, database).get())
            }
            for (part, error) in failures { all.fail(part.saves, part.deletions, with: error) }
            return .success(all)
        } catch {
            return .failure(error)
        }
    }

    /// A request of several that is refused whole is sent again in halves, down to the zone that is the reason: the
    /// engine forgets what fails for good, and with the one the others would be forgotten.
    private func modifyInHalves(
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
            switch await modifyInHalves(saves, deletions, database) {
            case .success(let results): all.add(results)
            case .failure(let error): all.fail(saves, deletions, with: error)
            }
        }
        return .success(all)
    }

    /// Saves and deletes records, as ``modify(_:_:_:)`` does zones.
    func modify(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, _ database: CKDatabase
    ) async -> Result<SyncEngineAnswer.RecordResults, CKError> {
        var all = SyncEngineAnswer.RecordResults(saves: [:], deletions: [:])
        let parts = partsByOwner(
            batch.recordsToSave, batch.recordIDsToDelete, database, zoneOfSave: \.recordID.zoneID
        ) { $0.zoneID }.map(batch.with)
        do throws(CKError) {
            let failures = try await database.sendEach(of: parts) { (part) throws(CKError) in
                all.add(try await modifyInParts(part, database).get())
            }
            for (part, error) in failures { all.fail(part, with: error) }
            return .success(all)
        } catch {
            return .failure(error)
        }
    }

    /// What is to happen at once stays together: the changes of one zone, in a batch that is atomic.
    private func modifyInParts(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, _ database: CKDatabase
    ) async -> Result<SyncEngineAnswer.RecordResults, CKError> {
        let error: CKError
        do {
            let modification = try database.modification(
                saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, savePolicy: .ifServerRecordUnchanged,
                atomically: batch.atomicByZone)
            let results = try await database.boundToAccount.send(
                modification, database.callOptions, uploads: batch.uploads)
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
            switch await modifyInParts(part, database) {
            case .success(let results): all.add(results)
            case .failure(let error): all.fail(part, with: error)
            }
        }
        return .success(all)
    }

    /// The changes in the zones of each owner; all of them outside of the shared database.
    private func partsByOwner<Save, Deletion>(
        _ saves: [Save], _ deletions: [Deletion], _ database: CKDatabase, zoneOfSave: (Save) -> CKRecordZone.ID,
        zoneOfDeletion: (Deletion) -> CKRecordZone.ID
    ) -> [(saves: [Save], deletions: [Deletion])] {
        guard database.databaseScope == .shared else { return [(saves, deletions)] }
        let owners = withoutRepetitions((saves.map(zoneOfSave) + deletions.map(zoneOfDeletion)).map(\.ownerName))
        return owners.map { owner in
            (
                saves.filter { zoneOfSave($0).ownerName == owner },
                deletions.filter { zoneOfDeletion($0).ownerName == owner }
            )
        }
    }
}

extension SyncEngineAnswer.ZoneResults {
    fileprivate mutating func add(_ results: Self) {
        saves.merge(results.saves) { $1 }
        deletions.merge(results.deletions) { $1 }
    }

    fileprivate mutating func fail(
        _ zones: [CKRecordZone], _ deletedIDs: [CKRecordZone.ID], with error: CKError
    ) {
        for zone in zones { saves[zone.zoneID] = .failure(error) }
        for id in deletedIDs { deletions[id] = .failure(error) }
    }
}

extension SyncEngineAnswer.RecordResults {
    fileprivate mutating func add(_ results: Self) {
        saves.merge(results.saves) { $1 }
        deletions.merge(results.deletions) { $1 }
    }

    fileprivate mutating func fail(_ batch: CKSyncEngine.RecordZoneChangeBatch, with error: CKError) {
        for record in batch.recordsToSave { saves[record.recordID] = .failure(error) }
        for id in batch.recordIDsToDelete { deletions[id] = .failure(error) }
    }
}

extension CKSyncEngine.RecordZoneChangeBatch {
    /// The batch in smaller ones; none where it can't be taken apart.
    fileprivate var parts: [Self] {
        if atomicByZone {
            let zones = Set(recordsToSave.map(\.recordID.zoneID) + recordIDsToDelete.map(\.zoneID))
            guard zones.count > 1 else { return [] }
            return zones.map { zone in
                with(
                    recordsToSave.filter { $0.recordID.zoneID == zone },
                    recordIDsToDelete.filter { $0.zoneID == zone })
            }
        }
        guard itemCount > 1 else { return [] }
        return halves(recordsToSave, recordIDsToDelete).map(with)
    }

    /// A batch of the same kind of some of the items.
    fileprivate func with(_ saves: [CKRecord], _ deletions: [CKRecord.ID]) -> Self {
        var batch = self
        batch.recordsToSave = saves
        batch.recordIDsToDelete = deletions
        return batch
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
