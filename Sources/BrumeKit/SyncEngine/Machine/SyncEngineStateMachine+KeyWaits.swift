internal import BrumeModel

/// Records that wait for keys, and what can't be saved before them: it waits with them, as what is behind files does
/// (Documentation/CloudKit.md, The sync engine, 24).
extension SyncEngineStateMachine {
    /// A record that was not saved for want of keys.
    struct KeyWait: Sendable {
        let record: CKRecord
        let error: CKError
    }

    /// Records that are kept in mind. What has to wait for one beyond them fails as the server says, and is the app's.
    static let keyWaitsMax = 1_000

    /// Notes which records of a batch wait for keys, and no longer do.
    ///
    /// - Returns: What the others of the batch fail with, where they failed since they have to wait for such records.
    mutating func noteKeyWaits(
        in batch: CKSyncEngine.RecordZoneChangeBatch, _ results: SyncEngineAnswer.RecordResults
    ) -> [CKRecord.ID: CKError] {
        for id in batch.itemIDs { keyWaits[id] = nil }
        for record in batch.recordsToSave where keyWaits.count < Self.keyWaitsMax {
            guard case .failure(let error)? = results.saves[record.recordID], error.concernsKeys else { continue }
            keyWaits[record.recordID] = KeyWait(record: record, error: error)
        }
        if keyWaits.isEmpty { return [:] }
        let ids = Set(batch.itemIDs)
        var earlier = CKSyncEngine.RecordZoneChangeBatch()
        earlier.recordsToSave = keyWaits.values.map(\.record).filter { !ids.contains($0.recordID) }
        let waiting = BatchDependencies(batch, behind: [earlier]).waiting(for: keyWaits.keys)
        guard let cause = keyWaits.min(by: { $0.key.recordName < $1.key.recordName })?.value else { return [:] }
        var errors: [CKRecord.ID: CKError] = [:]
        for id in waiting {
            let error =
                switch (results.saves[id], results.deletions[id]) {
                case (.failure(let error), _), (_, .failure(let error)): error
                default: CKError?.none
                }
            if let error, error.mayComeOfMissingRecord { errors[id] = cause.errorBehind }
        }
        return errors
    }
}

extension SyncEngineStateMachine.KeyWait {
    /// What a record fails with that waits for this one.
    fileprivate var errorBehind: CKError {
        let message = "it waits for \(record.recordID), which can't be encrypted yet: \(error.localizedDescription)"
        return error.encryptionProblem.map { .notEncrypted($0, message) } ?? error
    }
}

extension CKError {
    /// Whether a record fails so whose parent is not there yet, of which it refers to one that is not, or that is saved
    /// whole with one that could not be saved.
    fileprivate var mayComeOfMissingRecord: Bool {
        [.referenceViolation, .permissionFailure, .batchRequestFailed, .unknownItem].contains(code)
    }
}
