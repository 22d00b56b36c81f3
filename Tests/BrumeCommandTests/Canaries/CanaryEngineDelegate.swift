internal import BrumeKit

/// Sends the records that it has.
final class CanaryEngineDelegate: CKSyncEngineDelegate {
    let records: [CKRecord.ID: CKRecord]

    init(_ records: [CKRecord]) {
        self.records = Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) })
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = syncEngine.state.pendingRecordZoneChanges
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { records[$0] }
    }
}
