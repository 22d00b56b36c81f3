/// What the engine's values say of themselves in logs: names and ids, and no record's fields.
extension CKSyncEngine.Configuration: CustomStringConvertible {
    /// The database, and whether the engine syncs by itself.
    public var description: String {
        "<CKSyncEngine.Configuration: database=\(database), automaticallySync=\(automaticallySync)>"
    }
}

extension CKSyncEngine.State: CustomStringConvertible {
    /// How much waits to be sent and to be fetched.
    public var description: String {
        "<CKSyncEngine.State: pendingRecordZoneChanges=\(pendingRecordZoneChanges.count), "
            + "pendingDatabaseChanges=\(pendingDatabaseChanges.count), "
            + "zoneIDsWithUnfetchedServerChanges=\(zoneIDsWithUnfetchedServerChanges)>"
    }
}

extension CKSyncEngine.RecordZoneChangeBatch: CustomStringConvertible {
    /// The records' names.
    public var description: String {
        "<CKSyncEngine.RecordZoneChangeBatch: recordsToSave=\(recordsToSave.map(\.recordID.recordName)), "
            + "recordIDsToDelete=\(recordIDsToDelete.map(\.recordName)), atomicByZone=\(atomicByZone)>"
    }
}

extension CKSyncEngine.PendingRecordZoneChange: CustomStringConvertible {
    /// What is to be done, with the record's name.
    public var description: String {
        switch self {
        case .saveRecord(let id): "saveRecord(\(id.recordName))"
        case .deleteRecord(let id): "deleteRecord(\(id.recordName))"
        }
    }
}

extension CKSyncEngine.PendingDatabaseChange: CustomStringConvertible {
    /// What is to be done, with the zone's name.
    public var description: String {
        switch self {
        case .saveZone(let zone): "saveZone(\(zone.zoneID.zoneName))"
        case .deleteZone(let id): "deleteZone(\(id.zoneName))"
        }
    }
}

extension CKSyncEngine.SyncReason: CustomStringConvertible {
    /// The case's name.
    public var description: String {
        switch self {
        case .scheduled: "scheduled"
        case .manual: "manual"
        }
    }
}

extension CKSyncEngine.FetchChangesOptions.Scope: CustomStringConvertible {
    /// The case's name, with the zones' names.
    public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let ids): "allExcluding(\(ids.map(\.zoneName)))"
        case .zoneIDs(let ids): "zoneIDs(\(ids.map(\.zoneName)))"
        }
    }
}

extension CKSyncEngine.SendChangesOptions.Scope: CustomStringConvertible {
    /// The case's name, with the names of zones or records.
    public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let ids): "allExcluding(\(ids.map(\.zoneName)))"
        case .zoneIDs(let ids): "zoneIDs(\(ids.map(\.zoneName)))"
        case .recordIDs(let ids): "recordIDs(\(ids.map(\.recordName)))"
        }
    }
}

extension CKSyncEngine.FetchChangesOptions: CustomStringConvertible {
    /// Scope and priorities.
    public var description: String {
        "<CKSyncEngine.FetchChangesOptions: scope=\(scope), prioritizedZoneIDs=\(prioritizedZoneIDs.map(\.zoneName))>"
    }
}

extension CKSyncEngine.SendChangesOptions: CustomStringConvertible {
    /// The scope.
    public var description: String { "<CKSyncEngine.SendChangesOptions: scope=\(scope)>" }
}

extension CKSyncEngine.FetchChangesContext: CustomStringConvertible {
    /// Reason and options.
    public var description: String { "<CKSyncEngine.FetchChangesContext: reason=\(reason), options=\(options)>" }
}

extension CKSyncEngine.SendChangesContext: CustomStringConvertible {
    /// Reason and options.
    public var description: String { "<CKSyncEngine.SendChangesContext: reason=\(reason), options=\(options)>" }
}

extension CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave: CustomStringConvertible {
    /// The zone's name, and why it failed.
    public var description: String { "\(zone.zoneID.zoneName): \(error)" }
}

extension CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave: CustomStringConvertible {
    /// The record's name, and why it failed.
    public var description: String { "\(record.recordID.recordName): \(error)" }
}

extension CKSyncEngine.Event.StateUpdate: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.stateUpdate(self))" }
}

extension CKSyncEngine.Event.AccountChange: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.accountChange(self))" }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.fetchedDatabaseChanges(self))" }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.fetchedRecordZoneChanges(self))" }
}

extension CKSyncEngine.Event.SentDatabaseChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.sentDatabaseChanges(self))" }
}

extension CKSyncEngine.Event.SentRecordZoneChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.sentRecordZoneChanges(self))" }
}

extension CKSyncEngine.Event.WillFetchChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.willFetchChanges(self))" }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.willFetchRecordZoneChanges(self))" }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.didFetchRecordZoneChanges(self))" }
}

extension CKSyncEngine.Event.DidFetchChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.didFetchChanges(self))" }
}

extension CKSyncEngine.Event.WillSendChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.willSendChanges(self))" }
}

extension CKSyncEngine.Event.DidSendChanges: CustomStringConvertible {
    /// The description of its event.
    public var description: String { "\(CKSyncEngine.Event.didSendChanges(self))" }
}
