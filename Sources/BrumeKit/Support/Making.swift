/// Makes the values that only the SDK makes, for the testing kit: an app's delegate can be tested with them without a
/// server.
package enum Making {
    package static func modification(ofZone zoneID: CKRecordZone.ID) -> CKDatabase.DatabaseChange.Modification {
        .init(zoneID: zoneID)
    }

    package static func deletion(
        ofZone zoneID: CKRecordZone.ID, reason: CKDatabase.DatabaseChange.Deletion.Reason
    ) -> CKDatabase.DatabaseChange.Deletion {
        .init(zoneID: zoneID, reason: reason)
    }

    package static func modification(of record: CKRecord) -> CKDatabase.RecordZoneChange.Modification {
        .init(record: record)
    }

    package static func deletion(
        of recordID: CKRecord.ID, type: CKRecord.RecordType
    ) -> CKDatabase.RecordZoneChange.Deletion {
        .init(recordID: recordID, recordType: type)
    }

    // MARK: Events

    package static func stateUpdate(_ state: CKSyncEngine.State.Serialization) -> CKSyncEngine.Event.StateUpdate {
        .init(stateSerialization: state)
    }

    package static func accountChange(
        _ type: CKSyncEngine.Event.AccountChange.ChangeType
    ) -> CKSyncEngine.Event.AccountChange {
        .init(changeType: type)
    }

    package static func fetchedDatabaseChanges(
        _ modifications: [CKDatabase.DatabaseChange.Modification], _ deletions: [CKDatabase.DatabaseChange.Deletion]
    ) -> CKSyncEngine.Event.FetchedDatabaseChanges {
        .init(modifications: modifications, deletions: deletions)
    }

    package static func fetchedRecordZoneChanges(
        _ modifications: [CKDatabase.RecordZoneChange.Modification], _ deletions: [CKDatabase.RecordZoneChange.Deletion]
    ) -> CKSyncEngine.Event.FetchedRecordZoneChanges {
        .init(modifications: modifications, deletions: deletions)
    }

    package static func sentDatabaseChanges(
        saved: [CKRecordZone], failedSaves: [(CKRecordZone, CKError)], deleted: [CKRecordZone.ID],
        failedDeletes: [CKRecordZone.ID: CKError]
    ) -> CKSyncEngine.Event.SentDatabaseChanges {
        .init(
            savedZones: saved, failedZoneSaves: failedSaves.map { .init(zone: $0, error: $1) }, deletedZoneIDs: deleted,
            failedZoneDeletes: failedDeletes)
    }

    package static func sentRecordZoneChanges(
        saved: [CKRecord], failedSaves: [(CKRecord, CKError)], deleted: [CKRecord.ID],
        failedDeletes: [CKRecord.ID: CKError]
    ) -> CKSyncEngine.Event.SentRecordZoneChanges {
        .init(
            savedRecords: saved, failedRecordSaves: failedSaves.map { .init(record: $0, error: $1) },
            deletedRecordIDs: deleted, failedRecordDeletes: failedDeletes)
    }

    package static func willFetchChanges(
        _ context: CKSyncEngine.FetchChangesContext
    ) -> CKSyncEngine.Event.WillFetchChanges {
        .init(context: context)
    }

    package static func didFetchChanges(
        _ context: CKSyncEngine.FetchChangesContext
    ) -> CKSyncEngine.Event.DidFetchChanges {
        .init(context: context)
    }

    package static func willFetchRecordZoneChanges(
        _ zoneID: CKRecordZone.ID, _ startsOver: Bool
    ) -> CKSyncEngine.Event.WillFetchRecordZoneChanges {
        .init(zoneID: zoneID, startsOver: startsOver)
    }

    package static func didFetchRecordZoneChanges(
        _ zoneID: CKRecordZone.ID, _ error: CKError?
    ) -> CKSyncEngine.Event.DidFetchRecordZoneChanges {
        .init(zoneID: zoneID, error: error)
    }

    package static func willSendChanges(_ context: CKSyncEngine.SendChangesContext)
        -> CKSyncEngine.Event.WillSendChanges
    {
        .init(context: context)
    }

    package static func didSendChanges(_ context: CKSyncEngine.SendChangesContext) -> CKSyncEngine.Event.DidSendChanges
    {
        .init(context: context)
    }

    package static func fetchContext(
        _ reason: CKSyncEngine.SyncReason, _ options: CKSyncEngine.FetchChangesOptions
    ) -> CKSyncEngine.FetchChangesContext {
        .init(reason: reason, options: options)
    }

    package static func sendContext(
        _ reason: CKSyncEngine.SyncReason, _ options: CKSyncEngine.SendChangesOptions
    ) -> CKSyncEngine.SendChangesContext {
        .init(reason: reason, options: options)
    }
}
