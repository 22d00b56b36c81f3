public import BrumeKit
internal import Foundation

// The events of a `CKSyncEngine`, made without one. An app's delegate is given them in a unit test:
//
//     await delegate.handleEvent(.fetchedRecordZoneChanges(.init(records: [note.asSaved()])), syncEngine: engine)
//
// where `engine` may be `CKSyncEngine.unconnected(delegate: delegate)`.

extension CKSyncEngine {
    /// An engine without a server: for a delegate's calls, which need one, and to see what the delegate adds to its
    /// ``state``. It does nothing by itself, and what it is asked to fetch or send fails with `networkUnavailable`.
    ///
    /// - Parameter stateSerialization: What is pending from the start; nil: nothing.
    public static func unconnected(
        delegate: any CKSyncEngineDelegate, stateSerialization: State.Serialization? = nil
    ) -> CKSyncEngine {
        var configuration = Configuration(
            database: CKContainer.unconnected().privateCloudDatabase, stateSerialization: stateSerialization,
            delegate: delegate)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }
}

/// For the device ids of containers without a server. It goes at the end of the process.
private let unconnectedFolder = try? TestFolder()

extension CKContainer {
    /// A container without a server, whose calls fail with `networkUnavailable`.
    ///
    /// - Parameter identifier: The container's name.
    public static func unconnected(identifier: String = "iCloud.test") -> CKContainer {
        let transport: Swift.Result<any ClientTransport, TransportFailure> = LoopTransport.shared.map { loop in
            let transport = DeviceTransport(loop: loop)
            transport.setOnline(false)
            return transport
        }
        let folder = unconnectedFolder.map { $0.path + "/state" } ?? NSTemporaryDirectory() + "brume-testing-state"
        return CKContainer(
            configuration: BrumeConfiguration(
                server: "127.0.0.1:1", token: "unconnected", container: identifier, stateFolder: folder),
            transport: transport, registry: SessionRegistry())
    }
}

extension CKSyncEngine.Event.StateUpdate {
    /// A state to keep; nil: that of an engine that has done nothing.
    public init(stateSerialization: CKSyncEngine.State.Serialization? = nil) {
        self = Making.stateUpdate(stateSerialization ?? .init(SyncEngineState()))
    }
}

extension CKSyncEngine.Event.AccountChange {
    /// A user who signed in or out.
    public init(_ changeType: ChangeType) { self = Making.accountChange(changeType) }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges {
    /// Zones that are new or changed, and zones that are gone.
    public init(
        zoneIDs: [CKRecordZone.ID] = [], deletions: [CKDatabase.DatabaseChange.Deletion] = []
    ) {
        self = Making.fetchedDatabaseChanges(zoneIDs.map { .init(zoneID: $0) }, deletions)
    }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges {
    /// Records that are new or changed (``BrumeKit/CKRecord/asSaved(changeTag:created:creator:modified:modifier:)``
    /// makes such), and records that are gone.
    public init(records: [CKRecord] = [], deletions: [CKDatabase.RecordZoneChange.Deletion] = []) {
        self = Making.fetchedRecordZoneChanges(records.map { .init(record: $0) }, deletions)
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges {
    /// The outcome of saves and deletions of zones.
    public init(
        savedZones: [CKRecordZone] = [], failedZoneSaves: [(zone: CKRecordZone, error: CKError)] = [],
        deletedZoneIDs: [CKRecordZone.ID] = [], failedZoneDeletes: [CKRecordZone.ID: CKError] = [:]
    ) {
        self = Making.sentDatabaseChanges(
            saved: savedZones, failedSaves: failedZoneSaves, deleted: deletedZoneIDs, failedDeletes: failedZoneDeletes)
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges {
    /// The outcome of saves and deletions of records. ``BrumeKit/CKError/conflict(client:server:ancestor:)`` makes the
    /// error of a conflict.
    public init(
        savedRecords: [CKRecord] = [], failedRecordSaves: [(record: CKRecord, error: CKError)] = [],
        deletedRecordIDs: [CKRecord.ID] = [], failedRecordDeletes: [CKRecord.ID: CKError] = [:]
    ) {
        self = Making.sentRecordZoneChanges(
            saved: savedRecords, failedSaves: failedRecordSaves, deleted: deletedRecordIDs,
            failedDeletes: failedRecordDeletes)
    }
}

extension CKSyncEngine.Event.WillFetchChanges {
    /// The beginning of a fetch.
    public init(context: CKSyncEngine.FetchChangesContext = .init()) { self = Making.willFetchChanges(context) }
}

extension CKSyncEngine.Event.DidFetchChanges {
    /// The end of a fetch.
    public init(context: CKSyncEngine.FetchChangesContext = .init()) { self = Making.didFetchChanges(context) }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges {
    /// The beginning of a zone's fetch; with `startsOver`, of all that the zone has.
    public init(zoneID: CKRecordZone.ID, startsOver: Bool = false) {
        self = Making.willFetchRecordZoneChanges(zoneID, startsOver)
    }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges {
    /// The end of a zone's fetch.
    public init(zoneID: CKRecordZone.ID, error: CKError? = nil) {
        self = Making.didFetchRecordZoneChanges(zoneID, error)
    }
}

extension CKSyncEngine.Event.WillSendChanges {
    /// The beginning of a send.
    public init(context: CKSyncEngine.SendChangesContext = .init()) { self = Making.willSendChanges(context) }
}

extension CKSyncEngine.Event.DidSendChanges {
    /// The end of a send.
    public init(context: CKSyncEngine.SendChangesContext = .init()) { self = Making.didSendChanges(context) }
}

extension CKSyncEngine.FetchChangesContext {
    /// What a delegate is told about a fetch.
    public init(reason: CKSyncEngine.SyncReason = .manual, options: CKSyncEngine.FetchChangesOptions = .init()) {
        self = Making.fetchContext(reason, options)
    }
}

extension CKSyncEngine.SendChangesContext {
    /// What a delegate is told about a send.
    public init(reason: CKSyncEngine.SyncReason = .manual, options: CKSyncEngine.SendChangesOptions = .init()) {
        self = Making.sendContext(reason, options)
    }
}
