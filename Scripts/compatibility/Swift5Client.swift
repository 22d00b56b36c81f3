// Compiled by check-compatibility.sh in the Swift 5 language mode: an app's code must bring neither errors nor
// warnings.

import CloudKit
import Foundation

final class NotesStore {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    private let container: CKContainer
    private var database: CKDatabase { container.privateCloudDatabase }
    var token: CKServerChangeToken?
    var names: [String] = []

    init(container: CKContainer = .default()) { self.container = container }

    func prepare() async throws {
        guard try await container.accountStatus() == .available else { return }
        _ = try await container.userRecordID()
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        let subscription = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "notes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        _ = try await database.save(subscription)
    }

    func add(_ text: String, at place: CLLocation?) async throws -> CKRecord {
        let record = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: Self.zoneID))
        record["text"] = text
        record["count"] = 1
        record["edited"] = Date()
        record["tags"] = ["a", "b"]
        record["place"] = place
        record.encryptedValues["secret"] = "x"
        record["folder"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "f", zoneID: Self.zoneID), action: .deleteSelf)
        return try await database.save(record)
    }

    func rename(_ id: CKRecord.ID, to text: String) async throws {
        do {
            let record = try await database.record(for: id)
            record["text"] = text
            let (saves, deletions) = try await database.modifyRecords(
                saving: [record], deleting: [], savePolicy: .changedKeys, atomically: true)
            for (_, result) in saves { _ = try result.get() }
            for (_, result) in deletions { try result.get() }
        } catch let error as CKError where error.code == .serverRecordChanged {
            print(error.serverRecord?.recordChangeTag ?? "", error.retryAfterSeconds ?? 0)
        } catch let error as CKError where error.code == .partialFailure {
            print(error.partialErrorsByItemID?.count ?? 0)
        }
    }

    func find(_ text: String) async throws -> [String] {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text BEGINSWITH %@", text))
        query.sortDescriptors = [NSSortDescriptor(key: "edited", ascending: false)]
        var (results, cursor) = try await database.records(
            matching: query, inZoneWith: Self.zoneID, desiredKeys: ["text"], resultsLimit: 20)
        while let next = cursor {
            let page = try await database.records(continuingMatchFrom: next)
            results += page.matchResults
            cursor = page.queryCursor
        }
        return results.compactMap { try? $0.1.get()["text"] as? String }
    }

    func fetch() async throws {
        let changes = try await database.recordZoneChanges(inZoneWith: Self.zoneID, since: token)
        for (id, result) in changes.modificationResultsByID {
            if case .success(let modification) = result { names.append(modification.record.recordID.recordName) }
            _ = id
        }
        for deletion in changes.deletions { names.removeAll { $0 == deletion.recordID.recordName } }
        token = changes.changeToken
    }

    // Operations and completion handlers, as code from before `async` has them: they change what is captured.
    func fetchAll(completion: @escaping (Error?) -> Void) {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = token
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [Self.zoneID], configurationsByRecordZoneID: [Self.zoneID: configuration])
        operation.recordWasChangedBlock = { _, result in
            if case .success(let record) = result { self.names.append(record.recordID.recordName) }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            if case .success(let (token, _, _)) = result { self.token = token }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    func remove(_ id: CKRecord.ID, completion: @escaping (Error?) -> Void) {
        database.delete(withRecordID: id) { _, error in
            self.names.removeAll { $0 == id.recordName }
            completion(error)
        }
        let operation = CKModifyRecordsOperation(recordsToSave: nil, recordIDsToDelete: [id])
        operation.savePolicy = .allKeys
        operation.modifyRecordsResultBlock = { [weak self] result in
            self?.names = []
            _ = result
        }
        database.add(operation)
        container.accountStatus { status, error in completion(status == .available ? nil : error) }
    }
}

// A delegate of the sync engine that is a class with a state of its own.
final class Syncing: CKSyncEngineDelegate, @unchecked Sendable {
    private var engine: CKSyncEngine?
    private var state: CKSyncEngine.State.Serialization?

    func start(_ database: CKDatabase) {
        engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self))
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "a"))])
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update): state = update.stateSerialization
        case .fetchedRecordZoneChanges(let changes): print(changes.modifications.count, changes.deletions.count)
        case .sentRecordZoneChanges(let sent): print(sent.savedRecords.count, sent.failedRecordSaves.count)
        case .accountChange, .fetchedDatabaseChanges, .sentDatabaseChanges: break
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            CKRecord(recordType: "Note", recordID: id)
        }
    }
}
