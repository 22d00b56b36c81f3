/// The calls for many items, with completion handlers. Each is called once, on a thread of its own; what fails for one
/// item is in the item's result.
extension CKDatabase {
    /// ``records(for:desiredKeys:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
    }

    /// ``modifyRecords(saving:deleting:savePolicy:atomically:)`` with a completion handler. What the records hold now
    /// is saved.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        let prepared = Result { () throws(CKError) in
            try modification(
                saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
        }
        complete(completionHandler) { try await self.send(prepared.get(), self.callOptions) }
    }

    /// ``recordZones(for:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.recordZones(for: recordZoneIDs) }
    }

    /// ``modifyRecordZones(saving:deleting:)`` with a completion handler.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
        }
    }

    /// ``subscriptions(for:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
    }

    /// ``modifySubscriptions(saving:deleting:)`` with a completion handler. The subscriptions are saved as they are
    /// now.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        let prepared = Result { () throws(CKError) in
            try modification(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        }
        complete(completionHandler) { try await self.send(prepared.get(), self.callOptions) }
    }

    /// ``databaseChanges(since:resultsLimit:)`` with a completion handler.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.databaseChanges(since: changeToken, resultsLimit: resultsLimit)
        }
    }

    /// ``recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)`` with a completion handler.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
                        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.recordZoneChanges(
                inZoneWith: zoneID, since: changeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        }
    }
}
