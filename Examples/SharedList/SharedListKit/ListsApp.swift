public import CloudKit

/// Shopping lists that several users write to, without windows. A list is a zone, which its owner shares as a whole; in
/// ``RecordListsApp`` it is a record.
///
/// A user's own lists are in the private database, and those of other users, once their shares were accepted, in the
/// shared one: each database has a sync engine, and a list's owner tells which one is meant. Nothing is kept on the
/// disk here; Examples/Notes shows how an app does that.
public final class ListsApp: Sendable {
    static let itemType = "Item"

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

    private func engine(for list: CKRecordZone.ID) -> CKSyncEngine {
        list.ownerName == CKCurrentUserDefaultName ? privateEngine : sharedEngine
    }

    // MARK: Lists

    /// The user's own lists and those of others, by name.
    public var lists: [CKRecordZone.ID] { sync.zones.sorted { $0.zoneName < $1.zoneName } }

    /// Makes a list of the user's own.
    public func makeList(_ name: String) async throws -> CKRecordZone.ID {
        let list = try await container.privateCloudDatabase.save(CKRecordZone(zoneName: name)).zoneID
        sync.keep(list)
        return list
    }

    /// Shares one of the user's own lists, which is not shared yet, with everybody who has the URL.
    public func share(
        _ list: CKRecordZone.ID, permission: CKShare.ParticipantPermission = .readWrite
    ) async throws -> URL {
        let share = CKShare(recordZoneID: list)
        share[CKShare.SystemFieldKey.title] = list.zoneName
        share.publicPermission = permission
        try await container.privateCloudDatabase.save(share)
        guard let url = share.url else { throw CKError(.internalError) }
        return url
    }

    /// Takes part in the list of another user, whose URL this is.
    public func join(_ url: URL) async throws -> CKRecordZone.ID {
        // What it leads to, and who shares it, is what an app asks its user about before it accepts.
        let metadata = try await container.shareMetadata(for: url)
        let list = try await container.accept(metadata).recordID.zoneID
        sync.keep(list)
        return list
    }

    /// Takes no part in another user's list any more; the list stays with its owner.
    public func leave(_ list: CKRecordZone.ID) async throws {
        try await container.sharedCloudDatabase.deleteRecordZone(withID: list)
        sync.forget(list)
    }

    // MARK: Items

    /// What is on a list, oldest first; an item that was not sent yet stands last.
    public func items(of list: CKRecordZone.ID) -> [String] {
        sync.records { $0.recordID.zoneID == list && $0.recordType == Self.itemType }.compactMap { $0["name"] }
    }

    /// Adds an item, which the next sync sends.
    public func add(_ item: String, to list: CKRecordZone.ID) {
        let record = CKRecord(recordType: Self.itemType, recordID: CKRecord.ID(zoneID: list))
        record["name"] = item
        sync.keep(record)
        engine(for: list).state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
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
