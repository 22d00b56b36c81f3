public import BrumeKit
internal import Foundation

extension CKNotification {
    /// The notification of a query subscription.
    ///
    /// - Parameters:
    ///   - subscriptionID: The subscription that it is of.
    ///   - recordID: The record that fired it.
    ///   - reason: What happened to the record.
    ///   - fields: Values of the subscription's desired keys; nil: it asks for none.
    ///   - scope: The scope of the record's database.
    ///   - isPruned: Whether it lacks something that would have been in it.
    public static func query(
        _ subscriptionID: CKSubscription.ID, recordID: CKRecord.ID, reason: CKQueryNotification.Reason,
        fields: [String: any CKRecordValueProtocol]? = nil, scope: CKDatabase.Scope = .private, isPruned: Bool = false
    ) -> CKQueryNotification {
        var change: [String: Any] = [
            "sid": subscriptionID, "rid": recordID.recordName, "zid": recordID.zoneID.zoneName,
            "zoid": recordID.zoneID.ownerName, "fo": reason.rawValue, "dbs": scope.rawValue,
        ]
        change["af"] = fields
        return CKQueryNotification(fromRemoteNotificationDictionary: payload("qry", change, isPruned))!
    }

    /// The notification of a zone subscription.
    ///
    /// - Parameters:
    ///   - subscriptionID: The subscription that it is of.
    ///   - zoneID: The zone in which something changed.
    public static func recordZone(
        _ subscriptionID: CKSubscription.ID, zoneID: CKRecordZone.ID
    ) -> CKRecordZoneNotification {
        let change: [String: Any] = [
            "sid": subscriptionID, "zid": zoneID.zoneName, "zoid": zoneID.ownerName,
            "dbs": CKDatabase.Scope.private.rawValue,
        ]
        return CKRecordZoneNotification(fromRemoteNotificationDictionary: payload("fet", change, false))!
    }

    /// The notification of a database subscription.
    ///
    /// - Parameters:
    ///   - subscriptionID: The subscription that it is of; nil: of none, which with `isPruned` says that others were
    ///     dropped.
    ///   - scope: The scope of the database in which something changed.
    ///   - isPruned: Whether it lacks something that would have been in it.
    public static func database(
        _ subscriptionID: CKSubscription.ID?, scope: CKDatabase.Scope = .private, isPruned: Bool = false
    ) -> CKDatabaseNotification {
        var change: [String: Any] = ["dbs": scope.rawValue]
        change["sid"] = subscriptionID
        return CKDatabaseNotification(fromRemoteNotificationDictionary: payload("met", change, isPruned))!
    }

    /// The push payload that the SDK makes such a notification of.
    private static func payload(_ kind: String, _ change: [String: Any], _ isPruned: Bool) -> [AnyHashable: Any] {
        var content: [String: Any] = ["ce": 2, kind: change]
        if isPruned { content["p"] = 1 }
        return ["aps": [String: Any](), "ck": content]
    }
}
