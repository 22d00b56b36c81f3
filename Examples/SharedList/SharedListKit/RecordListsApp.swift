public import CloudKit

/// Shopping lists as ``ListsApp`` has them, but all lists of a user are records of one zone, and each is shared by
/// itself.
///
/// An item has its list as its parent, and so is shared with it. The lists of one owner in which a user takes part are
/// in one zone of the user's shared database; when a share ends its records go, with the last one the zone.
public final class RecordListsApp: Sendable {
    private static let listType = "List"
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")

    private let container: CKContainer
    private let sync = ListSync()
    private let privateEngine: CKSyncEngine
    private let sharedEngine: CKSyncEngine

    /// The app of the container's user. It syncs when it is told to: see ``syncNow()``.
    public init(container: CKContainer) {
        self.container = container
        privateEngine = sync.engine(of: container.privateCloudDatabase)
        sharedEngine = sync.engine(of: container.sharedCloudDatabase)
    }

    // MARK: Lists

    /// The user's own lists and those of others, by name.
    public var lists: [CKRecord.ID] {
        sync.records { $0.recordType == Self.listType }
            .sorted { ($0["name"] ?? "") < ($1["name"] ?? "") }
            .map(\.recordID)
    }

    /// The name of a list that is here.
    public func name(of list: CKRecord.ID) -> String? { record(of: list)?["name"] }

    /// Makes a list of the user's own.
    public func makeList(_ name: String) async throws -> CKRecord.ID {
        // A zone that exists stays as it is.
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        let list = CKRecord(recordType: Self.listType, recordID: CKRecord.ID(zoneID: Self.zoneID))
        list["name"] = name
        sync.keep(try await container.privateCloudDatabase.save(list))
        return list.recordID
    }

    /// Shares one of the user's own lists, which is not shared yet, with everybody who has the URL.
    public func share(
        _ list: CKRecord.ID, permission: CKShare.ParticipantPermission = .readWrite
    ) async throws -> URL {
        let record = try await container.privateCloudDatabase.record(for: list)
        let share = CKShare(rootRecord: record)
        share[CKShare.SystemFieldKey.title] = record["name"]
        share.publicPermission = permission
        // A new share is saved together with its root, which it changes.
        let results = try await container.privateCloudDatabase.modifyRecords(saving: [record, share], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        sync.keep(record)
        guard let url = share.url else { throw CKError(.internalError) }
        return url
    }

    /// Takes part in the list of another user, whose URL this is. The next sync fetches it.
    public func join(_ url: URL) async throws -> CKRecord.ID {
        let metadata = try await container.shareMetadata(for: url)
        try await container.accept(metadata)
        guard let list = metadata.hierarchicalRootRecordID else { throw CKError(.invalidArguments) }
        return list
    }

    /// Takes no part in another user's list any more; the list stays with its owner, and the owner's other lists stay
    /// here.
    public func leave(_ list: CKRecord.ID) async throws {
        guard let share = record(of: list)?.share else { return }
        try await container.sharedCloudDatabase.deleteRecord(withID: share.recordID)
        sync.forget([list] + items(below: list).map(\.recordID))
    }

    private func record(of list: CKRecord.ID) -> CKRecord? { sync.records { $0.recordID == list }.first }

    // MARK: Items

    private func items(below list: CKRecord.ID) -> [CKRecord] { sync.records { $0.parent?.recordID == list } }

    /// What is on a list, oldest first; an item that was not sent yet stands last.
    public func items(of list: CKRecord.ID) -> [String] { items(below: list).compactMap { $0["name"] } }

    /// Adds an item, which the next sync sends.
    public func add(_ item: String, to list: CKRecord.ID) {
        let record = CKRecord(recordType: ListsApp.itemType, recordID: CKRecord.ID(zoneID: list.zoneID))
        record["name"] = item
        // Without it the item would be in no share, and a user who is not its owner could not save it.
        record.parent = CKRecord.Reference(recordID: list, action: .none)
        sync.keep(record)
        let engine = list.zoneID.ownerName == CKCurrentUserDefaultName ? privateEngine : sharedEngine
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
    }

    /// What could not be sent and won't be by itself, for the user to read.
    public var problems: [String] { sync.problems }

    /// Sends and fetches now, in both databases.
    ///
    /// - Throws: The `CKError` that ended it: without a network, for example.
    public func syncNow() async throws {
        for engine in [privateEngine, sharedEngine] {
            try await engine.sendChanges()
            try await engine.fetchChanges()
        }
    }
}
