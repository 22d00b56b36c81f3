import BrumeKit
import BrumeLock
import BrumeTestKit
import Foundation

/// A server with a zone of lists in a folder, each of which its owner may share by itself, and users who take part.
final class RecordShareDesk: Sendable {
    let desk: ShareLinkDesk

    var owner: CKContainer { desk.owner }
    var ownDatabase: CKDatabase { desk.owner.privateCloudDatabase }

    init(loopCount: Int = 2) async throws {
        desk = try await ShareLinkDesk(loopCount: loopCount)
        try await ownDatabase.save(CKRecord(recordType: "Folder", recordID: id("folder")))
    }

    // MARK: The owner

    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: ShareLinkDesk.zoneID) }

    func make(_ type: String, _ name: String, below parent: String) -> CKRecord {
        let record = CKRecord(recordType: type, recordID: id(name))
        record["text"] = "\(name) of the owner"
        record.parent = CKRecord.Reference(recordID: id(parent), action: .none)
        return record
    }

    /// Saves a list in the folder, and items below it, without sharing it.
    func saveList(_ name: String, items: [String]) async throws {
        let records = [make("List", name, below: "folder")] + items.map { make("Item", $0, below: name) }
        _ = try await save(records)
    }

    func save(_ records: [CKRecord]) async throws -> [CKRecord] {
        let results = try await ownDatabase.modifyRecords(saving: records, deleting: []).saveResults
        return try records.compactMap { try results[$0.recordID]?.get() }
    }

    /// Moves a record of the owner's below another one.
    func move(_ name: String, below parent: String) async throws {
        let record = try await ownDatabase.record(for: id(name))
        record.parent = CKRecord.Reference(recordID: id(parent), action: .none)
        try await ownDatabase.save(record)
    }

    /// Shares a list that is saved already.
    func share(
        _ name: String, _ change: (CKShare) async throws -> Void = { $0.publicPermission = .readWrite }
    ) async throws -> CKShare {
        let list = try await ownDatabase.record(for: id(name))
        let share = CKShare(rootRecord: list, shareID: id("share of \(name)"))
        share[CKShare.SystemFieldKey.title] = name
        try await change(share)
        guard let saved = try await save([list, share]).last as? CKShare else {
            throw TestFailure("the share was not saved as one")
        }
        return saved
    }

    // MARK: Users who take part

    func accept(_ share: CKShare, by user: CKContainer) async throws -> CKShare {
        guard let url = share.url else { throw TestFailure("the share has no URL") }
        return try await user.accept(user.shareMetadata(for: url))
    }

    /// The zone as those who take part name it.
    var sharedZoneID: CKRecordZone.ID {
        get async throws {
            CKRecordZone.ID(
                zoneName: ShareLinkDesk.zoneID.zoneName, ownerName: try await owner.userRecordID().recordName)
        }
    }
}

/// A user's view of a zone in their shared database.
struct SharedZoneView {
    let database: CKDatabase
    let zoneID: CKRecordZone.ID

    init(_ user: CKContainer, _ zoneID: CKRecordZone.ID) {
        (database, self.zoneID) = (user.sharedCloudDatabase, zoneID)
    }

    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    func reference(_ name: String) -> CKRecord.Reference { CKRecord.Reference(recordID: id(name), action: .none) }

    func record(_ name: String) async throws -> CKRecord { try await database.record(for: id(name)) }

    func make(_ name: String, below parent: String?) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record["text"] = "\(name) of the guest"
        record.parent = parent.map { reference($0) }
        return record
    }

    struct Changes {
        var saved: Set<String> = []
        var deleted: Set<String> = []
        var token: CKServerChangeToken?
    }

    /// All pages of the zone's changes.
    func changes(since token: CKServerChangeToken? = nil) async throws -> Changes {
        var changes = Changes(token: token)
        var isMoreComing = true
        while isMoreComing {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: changes.token, resultsLimit: 3)
            for (id, result) in page.modificationResultsByID {
                changes.saved.insert(try result.get().record.recordID.recordName)
                if id.zoneID != zoneID { throw TestFailure("\(id) is of another zone") }
            }
            changes.deleted.formUnion(page.deletions.map(\.recordID.recordName))
            (changes.token, isMoreComing) = (page.changeToken, page.moreComing)
        }
        return changes
    }

    /// The names of what queries of the types find.
    func found(_ types: String...) async throws -> Set<String> {
        var names: Set<String> = []
        for type in types {
            let query = CKQuery(recordType: type, predicate: NSPredicate(value: true))
            let results = try await database.records(matching: query, inZoneWith: zoneID).matchResults
            names.formUnion(results.map(\.0.recordName))
        }
        return names
    }
}

/// A device whose sync engine follows the shared database by itself: what it was told, and what it sends.
final class SharedRecordDevice: CKSyncEngineDelegate {
    struct Told: Sendable {
        var records: [String: String] = [:]
        var deletions: Set<String> = []
        var zones: Set<CKRecordZone.ID> = []
        var zoneDeletions: [CKRecordZone.ID] = []
        var failures: [String: CKError.Code] = [:]
        /// How often a zone's records came from the beginning.
        var restartCount = 0
    }

    private struct Held: Sendable {
        var told = Told()
        var outgoing: [CKRecord.ID: CKRecord] = [:]
        var engine: CKSyncEngine?
    }

    private let held = Lock(Held())

    init(_ user: CKContainer) {
        let configuration = CKSyncEngine.Configuration(
            database: user.sharedCloudDatabase, stateSerialization: nil, delegate: self)
        let engine = CKSyncEngine(configuration)
        held.withLock { $0.engine = engine }
    }

    var told: Told { held.withLock { $0.told } }

    func send(_ record: CKRecord) {
        let engine = held.withLock { held in
            held.outgoing[record.recordID] = record
            return held.engine
        }
        engine?.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
    }

    func delete(_ id: CKRecord.ID) {
        held.withLock { $0.engine }?.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
    }

    /// Waits until the engine has told so much; fails after half a minute.
    func wait(_ what: String, _ isMet: (Told) -> Bool) async throws {
        do {
            try await waitUntil(what, seconds: 30) { isMet(told) }
        } catch {
            throw TestFailure("\(error), but \(told)")
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        held.withLock { held in
            switch event {
            case .fetchedDatabaseChanges(let changes):
                held.told.zones.formUnion(changes.modifications.map(\.zoneID))
                held.told.zoneDeletions += changes.deletions.map(\.zoneID)
            case .willFetchRecordZoneChanges(let fetch):
                if fetch.startsOver { held.told.restartCount += 1 }
            case .fetchedRecordZoneChanges(let changes):
                for modification in changes.modifications {
                    let record = modification.record
                    held.told.records[record.recordID.recordName] = record["text"] ?? ""
                }
                for deletion in changes.deletions {
                    held.told.records[deletion.recordID.recordName] = nil
                    held.told.deletions.insert(deletion.recordID.recordName)
                }
            case .sentRecordZoneChanges(let sent):
                for record in sent.savedRecords { held.told.records[record.recordID.recordName] = record["text"] ?? "" }
                for failure in sent.failedRecordSaves {
                    held.told.failures[failure.record.recordID.recordName] = failure.error.code
                }
            default: break
            }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let outgoing = held.withLock { $0.outgoing }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { outgoing[$0] }
    }
}
