/// Tells that records of a zone changed: fetch the zone's changes.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // Sendable: adds nothing.

    /// The zone.
    public var recordZoneID: CKRecordZone.ID? {
        guard case .recordZone(let zoneID, _) = content.kind else { return nil }
        return zoneID
    }

    /// The scope of the zone's database.
    public var databaseScope: CKDatabaseScope {
        switch content.kind {
        case .recordZone(_, let scope), .database(let scope): scope
        case .query(let query): query.scope
        }
    }
}
