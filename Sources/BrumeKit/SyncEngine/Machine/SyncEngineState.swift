/// What a sync engine knows beyond the running process: how far it has come, and what is to be sent.
package struct SyncEngineState: Sendable {
    /// What is known of the account.
    package enum Account: Hashable, Sendable {
        /// Nobody asked yet.
        case undetermined
        case none
        case user(String)
    }

    package var account = Account.undetermined

    /// Up to here the changes to zones were fetched and handled.
    package var databaseToken: CKServerChangeToken?
    /// Up to here the changes of each zone were.
    package var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    /// Zones that have changes on the server beyond their token, in the order in which they came up.
    package var unfetchedZones = UniqueZones()

    /// Zones that the device knows and that a fetch of the database's changes from their start has not come across yet.
    /// Those that are left at its end were deleted.
    package var unconfirmedZones = UniqueZones()

    /// Zones that this device deleted and whose deletion has yet to come back with the database's changes.
    package var ownDeletedZones = UniqueZones()

    package var zoneChanges = ChangeQueue<CKRecordZone.ID, CKSyncEngine.PendingDatabaseChange>()
    package var recordChanges = ChangeQueue<CKRecord.ID, CKSyncEngine.PendingRecordZoneChange>()
    package var hasUntrackedChanges = false
    /// Records whose changes were added behind a deletion of their zone that is still to be sent or under way. They are
    /// for the zone that takes its place; all others go with the zone.
    package var recordsForNextZone: Set<CKRecord.ID> = []

    /// What was sent, and whose outcome the delegate has not handled.
    package var sentZoneChanges: [CKSyncEngine.PendingDatabaseChange] = []
    package var sentRecordChanges: [CKSyncEngine.PendingRecordZoneChange] = []

    package init() {}

    /// The zone's changes that are to be sent, those in flight first.
    package var unsentZoneChanges: [CKSyncEngine.PendingDatabaseChange] {
        sentZoneChanges.filter { !zoneChanges.contains($0.zoneID) } + zoneChanges.changes
    }

    /// The records' changes that are to be sent, those in flight first.
    package var unsentRecordChanges: [CKSyncEngine.PendingRecordZoneChange] {
        sentRecordChanges.filter { !recordChanges.contains($0.recordID) } + recordChanges.changes
    }

    /// Whether the zone's deletion is to be sent or under way.
    func isDeleting(_ zoneID: CKRecordZone.ID) -> Bool {
        zoneChanges[zoneID] == .deleteZone(zoneID) || sentZoneChanges.contains(.deleteZone(zoneID))
    }

    /// Forgets everything but the account.
    mutating func reset() {
        let account = account
        self = SyncEngineState()
        self.account = account
    }
}

/// Zones, each once, in the order in which they were added.
package struct UniqueZones: Hashable, Sendable {
    private(set) var list: [CKRecordZone.ID] = []
    private var members: Set<CKRecordZone.ID> = []

    package init() {}

    package var isEmpty: Bool { list.isEmpty }

    package func contains(_ id: CKRecordZone.ID) -> Bool { members.contains(id) }

    package mutating func insert(_ id: CKRecordZone.ID) {
        if members.insert(id).inserted { list.append(id) }
    }

    package mutating func remove(_ id: CKRecordZone.ID) {
        if members.remove(id) != nil { list.removeAll { $0 == id } }
    }
}
