import BrumeTestKit
import CloudKit
import Testing

// Written as for Apple's systems: CloudKit's own names alone. That it compiles is a half of the test.

/// A store of notes as apps had it before async calls: operations, dependencies, blocks that capture variables.
private final class NoteStore {
    let container: CKContainer
    let database: CKDatabase
    let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    let queue = OperationQueue()

    init(container: CKContainer) {
        self.container = container
        database = container.privateCloudDatabase
    }

    func prepare(completion: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        let makeZone = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneID: zoneID)], recordZoneIDsToDelete: nil)
        makeZone.qualityOfService = .userInitiated
        let subscription = CKDatabaseSubscription(subscriptionID: "all-changes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        let subscribe = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        subscribe.modifySubscriptionsResultBlock = { result in completion(result) }
        subscribe.addDependency(makeZone)
        makeZone.database = database
        subscribe.database = database
        queue.addOperations([makeZone, subscribe], waitUntilFinished: false)
    }

    func save(_ records: [CKRecord], completion: @escaping (Result<Int, any Error>) -> Void) {
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 30
        configuration.qualityOfService = .utility
        operation.configuration = configuration
        operation.group = CKOperationGroup()
        operation.group?.name = "save notes"
        operation.savePolicy = .changedKeys
        operation.isAtomic = true
        var count = 0
        operation.perRecordSaveBlock = { recordID, result in
            switch result {
            case .success(let record):
                if record.recordID == recordID { count += 1 }
            case .failure(let error as CKError) where error.code == .batchRequestFailed: break
            case .failure(let error): print(error.localizedDescription)
            }
        }
        operation.modifyRecordsResultBlock = { result in
            completion(result.map { count })
        }
        database.add(operation)
    }

    func changes(
        since token: CKServerChangeToken?, completion: @escaping ([String], [String], CKServerChangeToken?) -> Void
    ) {
        let options = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        options.previousServerChangeToken = token
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: options])
        var changed: [String] = [], deleted: [String] = []
        var newToken = token
        operation.recordWasChangedBlock = { recordID, result in
            guard case .success = result else { return }
            changed.append(recordID.recordName)
        }
        operation.recordWithIDWasDeletedBlock = { recordID, _ in deleted.append(recordID.recordName) }
        operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in newToken = token }
        operation.recordZoneFetchResultBlock = { _, result in
            if case .success((let serverChangeToken, _, let moreComing)) = result, !moreComing {
                newToken = serverChangeToken
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { _ in completion(changed, deleted, newToken) }
        database.add(operation)
    }

    func find(
        _ format: String, _ argument: String, completion: @escaping ([CKRecord], CKQueryOperation.Cursor?) -> Void
    ) {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argument))
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        let operation = CKQueryOperation(query: query)
        operation.zoneID = zoneID
        operation.resultsLimit = 2
        operation.desiredKeys = ["title"]
        var found: [CKRecord] = []
        operation.recordMatchedBlock = { _, result in if let record = try? result.get() { found.append(record) } }
        operation.queryResultBlock = { result in completion(found, (try? result.get()) ?? nil) }
        database.add(operation)
    }
}

@Suite("A file written for Apple's systems with operations", .timeLimit(.minutes(1)))
struct AppleOperationsFile {
    let server: RunningServer
    let container: CKContainer

    init() throws {
        server = try RunningServer()
        container = server.device(token: try server.addAccount("ada"))
    }

    private func note(_ name: String, _ zoneID: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["title"] = "title of \(name)"
        return record
    }

    @Test("saves, follows changes, deletes and queries")
    func store() async throws {
        let store = NoteStore(container: container)
        try await withCheckedThrowingContinuation { continuation in
            store.prepare { continuation.resume(with: $0) }
        }
        let names = ["a", "b", "c"]
        let saved = try await withCheckedThrowingContinuation { continuation in
            store.save(names.map { note($0, store.zoneID) }) { continuation.resume(with: $0) }
        }
        #expect(saved == 3)
        let first = await withCheckedContinuation { continuation in
            store.changes(since: nil) { continuation.resume(returning: ($0, $1, $2)) }
        }
        #expect(first.0.sorted() == names)
        try await store.database.deleteRecord(withID: CKRecord.ID(recordName: "b", zoneID: store.zoneID))
        let second = await withCheckedContinuation { continuation in
            store.changes(since: first.2) { continuation.resume(returning: ($0, $1, $2)) }
        }
        #expect(second.0.isEmpty)
        #expect(second.1 == ["b"])
        let (found, cursor) = await withCheckedContinuation { continuation in
            store.find("title BEGINSWITH %@", "title") { continuation.resume(returning: ($0, $1)) }
        }
        #expect(found.map(\.recordID.recordName) == ["a", "c"])
        #expect(cursor == nil)
    }

    @Test("fetches zones, subscriptions and the user's record")
    func others() async throws {
        let database = container.privateCloudDatabase
        let zones = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let names = await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
            var names: [String] = []
            zones.perRecordZoneResultBlock = { id, _ in names.append(id.zoneName) }
            zones.fetchRecordZonesResultBlock = { _ in continuation.resume(returning: names) }
            database.add(zones)
        }
        #expect(names == [CKRecordZone.ID.defaultZoneName])
        try await database.save(CKDatabaseSubscription(subscriptionID: "s"))
        let subscriptions = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        let ids = await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
            var ids: [String] = []
            subscriptions.perSubscriptionResultBlock = { id, _ in ids.append(id) }
            subscriptions.fetchSubscriptionsResultBlock = { _ in continuation.resume(returning: ids) }
            database.add(subscriptions)
        }
        #expect(ids == ["s"])
        for database in [database, container.publicCloudDatabase] {
            let user = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            let record = await withCheckedContinuation { (continuation: CheckedContinuation<CKRecord?, Never>) in
                var record: CKRecord?
                user.perRecordResultBlock = { _, result in record = try? result.get() }
                user.fetchRecordsResultBlock = { _ in continuation.resume(returning: record) }
                database.add(user)
            }
            #expect(record?.recordType == CKRecord.SystemType.userRecord)
            #expect(try await container.userRecordID() == record?.recordID)
            let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
            #expect(try await database.record(for: me).recordID == record?.recordID)
        }
    }

    @Test("uses completion handlers")
    func handlers() async throws {
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        let record = note("n", zone.zoneID)
        let events = AsyncStream<String>.makeStream()
        @Sendable func tell(_ what: String, _ error: (any Error)?) {
            events.continuation.yield(error.map { "\(what): \($0)" } ?? what)
        }
        var iterator = events.stream.makeAsyncIterator()
        func expect(_ what: String) async { #expect(await iterator.next() == what) }

        container.accountStatus { status, error in tell("account \(status.rawValue)", error) }
        await expect("account 1")
        container.fetchUserRecordID { id, error in tell("user \(id?.recordName.first == "_")", error) }
        await expect("user true")
        database.save(zone) { zone, error in tell("zone \(zone?.zoneID.zoneName ?? "")", error) }
        await expect("zone Notes")
        database.save(record) { saved, error in tell("saved \(saved?.recordChangeTag != nil)", error) }
        record["title"] = "changed meanwhile"
        await expect("saved true")
        #expect(record.changedKeys() == ["title"])
        database.fetch(withRecordID: record.recordID) { record, error in tell("\(record?["title"] ?? "")", error) }
        await expect("title of n")
        database.fetch(withRecordIDs: [record.recordID]) { result in tell("\((try? result.get())?.count ?? 0)", nil) }
        await expect("1")
        database.modifyRecords(saving: [note("m", zone.zoneID)], deleting: [record.recordID]) { result in
            let results = try? result.get()
            tell("\(results?.saveResults.count ?? 0) \(results?.deleteResults.count ?? 0)", nil)
        }
        await expect("1 1")
        database.fetchRecordZoneChanges(inZoneWith: zone.zoneID, since: nil) { result in
            let page = try? result.get()
            tell("\(page?.modificationResultsByID.count ?? 0) \(page?.moreComing ?? true)", nil)
        }
        await expect("1 false")
        database.fetchDatabaseChanges(since: nil) { result in
            tell("\((try? result.get())?.modifications.map(\.zoneID.zoneName) ?? [])", nil)
        }
        await expect("[\"Notes\"]")
        database.delete(withRecordID: record.recordID) { id, error in tell("deleted \(id?.recordName ?? "")", error) }
        await expect("deleted n")
        database.fetchAllRecordZones { zones, error in tell("\(zones?.count ?? 0) zones", error) }
        await expect("2 zones")
        database.fetch(withRecordZoneID: zone.zoneID) { zone, error in tell(zone?.zoneID.zoneName ?? "", error) }
        await expect("Notes")
        database.fetch(withRecordZoneIDs: [zone.zoneID]) { tell("\((try? $0.get())?.count ?? 0) fetched", nil) }
        await expect("1 fetched")
        database.save(CKDatabaseSubscription(subscriptionID: "s")) { saved, error in
            tell("saved \(saved?.subscriptionID ?? "")", error)
        }
        await expect("saved s")
        database.fetch(withSubscriptionID: "s") { tell($0?.subscriptionID ?? "", $1) }
        await expect("s")
        database.fetch(withSubscriptionIDs: ["s"]) { tell("\((try? $0.get())?.count ?? 0) subscription", nil) }
        await expect("1 subscription")
        database.fetchAllSubscriptions { tell("\($0?.count ?? 0) subscriptions", $1) }
        await expect("1 subscriptions")
        database.modifySubscriptions(saving: [CKDatabaseSubscription(subscriptionID: "t")], deleting: ["s"]) { result in
            tell("\((try? result.get())?.saveResults.count ?? 0) saved", nil)
        }
        await expect("1 saved")
        database.delete(withSubscriptionID: "t") { id, error in tell("deleted \(id ?? "")", error) }
        await expect("deleted t")
        database.modifyRecordZones(saving: [CKRecordZone(zoneName: "Other")], deleting: [zone.zoneID]) { result in
            tell("\((try? result.get())?.saveResults.count ?? 0) zone", nil)
        }
        await expect("1 zone")
        database.delete(withRecordZoneID: CKRecordZone.ID(zoneName: "Other")) { id, error in
            tell("deleted \(id?.zoneName ?? "")", error)
        }
        await expect("deleted Other")
        database.fetch(withRecordID: record.recordID) { record, error in
            tell("\(record == nil) \((error as? CKError)?.code == .zoneNotFound)", nil)
        }
        await expect("true true")
        container.fetchAllLongLivedOperationIDs { ids, error in tell("\(ids ?? ["?"])", error) }
        await expect("[]")
        container.fetchLongLivedOperation(withID: "none") { operation, error in tell("\(operation == nil)", error) }
        await expect("true")
    }
}
