/// The calls for single items, with completion handlers. Each is called once, on a thread of its own, with a value or
/// an error.
extension CKDatabase {
    /// ``record(for:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.record(for: recordID) }
    }

    /// ``save(_:)-(CKRecord)`` with a completion handler. What the record holds now is saved.
    @preconcurrency
    public func save(
        _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        let prepared = Result { () throws(CKError) in
            try modification(
                saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
        }
        complete(completionHandler) {
            try await self.single(record.recordID, self.send(prepared.get(), self.callOptions).saveResults)
        }
    }

    /// ``deleteRecord(withID:)`` with a completion handler.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteRecord(withID: recordID) }
    }

    /// ``allRecordZones()`` with a completion handler.
    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allRecordZones() }
    }

    /// ``recordZone(for:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.recordZone(for: zoneID) }
    }

    /// ``save(_:)-(CKRecordZone)`` with a completion handler.
    @preconcurrency
    public func save(
        _ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.save(zone) }
    }

    /// ``deleteRecordZone(withID:)`` with a completion handler.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
    }

    /// ``allSubscriptions()`` with a completion handler.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allSubscriptions() }
    }

    /// ``subscription(for:)`` with a completion handler.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.subscription(for: subscriptionID) }
    }

    /// ``save(_:)-(CKSubscription)`` with a completion handler. The subscription is saved as it is now.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        let prepared = Result { () throws(CKError) in try modification(saving: [subscription], deleting: []) }
        complete(completionHandler) {
            try await self.single(
                subscription.subscriptionID, self.send(prepared.get(), self.callOptions).saveResults)
        }
    }

    /// ``deleteSubscription(withID:)`` with a completion handler.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
    }

    private func single<ID: Hashable, Value>(_ id: ID, _ results: [ID: Result<Value, any Error>]) throws -> Value {
        guard let result = results[id] else { throw CKError.malformedResponse("it holds no result for \(id)") }
        return try result.get()
    }
}
