internal import BrumeModel
internal import Foundation

/// What a notification says, as a value: from a push payload or from the notification stream.
struct CKNotificationContent: Sendable {
    enum Kind: Sendable {
        case recordZone(CKRecordZone.ID?, CKDatabaseScope)
        case database(CKDatabaseScope)
        case query(Query)
    }

    struct Query: Sendable {
        var recordID: CKRecord.ID?
        var reason: CKQueryNotification.Reason
        var fields: [String: FieldValue]?
        var scope: CKDatabaseScope
    }

    var kind: Kind
    var notificationID: CKNotificationID?
    var containerIdentifier: String?
    var subscriptionOwnerUserRecordID: CKRecord.ID?
    var subscriptionID: CKSubscription.ID?
    var isPruned = false
    var alert: CKNotificationAlert

    /// Reads the `ck` dictionary of a push payload (Documentation/CloudKit.md, Notification payloads); nil when there
    /// is none of a kind that is built.
    ///
    /// The payload is hostile until checked: values of wrong types count as absent, and names that nothing can have
    /// too.
    init?(payload: [AnyHashable: Any]) {
        guard let content = payload["ck"] as? [AnyHashable: Any] else { return nil }
        if let zoneChange = content["fet"] as? [AnyHashable: Any] {
            kind = .recordZone(Self.zoneID(zoneChange), Self.scope(zoneChange))
            subscriptionID = zoneChange["sid"] as? String
        } else if let databaseChange = content["met"] as? [AnyHashable: Any] {
            kind = .database(Self.scope(databaseChange))
            subscriptionID = databaseChange["sid"] as? String
        } else if let recordChange = content["qry"] as? [AnyHashable: Any], let query = Query(payload: recordChange) {
            kind = .query(query)
            subscriptionID = recordChange["sid"] as? String
        } else {
            return nil
        }
        alert = CKNotificationAlert(payload: payload)
        isPruned = (content["p"] as? Int ?? 0) != 0
        notificationID = (content["nid"] as? String).map(CKNotificationID.init)
        containerIdentifier = content["cid"] as? String
        if let user = content["ckuserid"] as? String, CKRecord.ID.problem(withName: user) == nil {
            subscriptionOwnerUserRecordID = CKRecord.ID(recordName: user)
        }
    }

    /// The push payload that ``init(payload:)`` reads the same from.
    var payload: [AnyHashable: Any] {
        var content: [String: Any] = ["ce": 2]
        var change: [String: Any] = [:]
        if let subscriptionID { change["sid"] = subscriptionID }
        func place(_ zoneID: CKRecordZone.ID?, _ scope: CKDatabaseScope) {
            change["dbs"] = scope.rawValue
            change["zid"] = zoneID?.zoneName
            change["zoid"] = zoneID?.ownerName
        }
        switch kind {
        case .recordZone(let zoneID, let scope):
            place(zoneID, scope)
            content["fet"] = change
        case .database(let scope):
            place(nil, scope)
            content["met"] = change
        case .query(let query):
            place(query.recordID?.zoneID, query.scope)
            change["rid"] = query.recordID?.recordName
            change["fo"] = query.reason.rawValue
            change["af"] = query.fields?.mapValues(\.payload)
            content["qry"] = change
        }
        content["cid"] = containerIdentifier
        content["nid"] = notificationID?.text
        content["ckuserid"] = subscriptionOwnerUserRecordID?.recordName
        if isPruned { content["p"] = 1 }
        return ["aps": alert.payload, "ck": content]
    }

    /// Reads an event of the notification stream; nil for one that tells the stream's own state.
    init?(_ event: NotificationEvent, containerIdentifier: String?, currentUser: String?) {
        switch event.kind {
        case .ready, .unknown: return nil
        case .zoneChanged(let zone):
            guard let zoneID = CKRecordZone.ID(zone, currentUser: currentUser) else { return nil }
            // Zone subscriptions exist in private databases alone.
            kind = .recordZone(zoneID, .private)
        case .databaseChanged(let scope): kind = .database(CKDatabaseScope(scope))
        case .fetchFromToken(let scope):
            kind = .database(CKDatabaseScope(scope))
            isPruned = true
        case .recordChanged(let change):
            guard let zoneID = CKRecordZone.ID(change.zone, currentUser: currentUser),
                CKRecord.ID.problem(withName: change.recordName) == nil,
                let reason = CKQueryNotification.Reason(rawValue: Int(change.reason.rawValue))
            else { return nil }
            let asksForFields = event.notificationInfo?.desiredKeys.isEmpty == false && reason != .recordDeleted
            kind = .query(
                Query(
                    recordID: CKRecord.ID(recordName: change.recordName, zoneID: zoneID), reason: reason,
                    // An encrypted value comes from no server of ours, and no app could be shown it.
                    fields: asksForFields ? change.fields.filter { !FieldKind($0.value).isEncrypted } : nil,
                    scope: CKDatabaseScope(change.database)))
            isPruned = change.isPruned
        }
        alert = CKNotificationAlert(event.notificationInfo)
        notificationID = event.notificationID.isEmpty ? nil : CKNotificationID(event.notificationID)
        subscriptionID = event.subscriptionID.isEmpty ? nil : event.subscriptionID
        self.containerIdentifier = containerIdentifier
        if let currentUser, CKRecord.ID.problem(withName: currentUser) == nil {
            subscriptionOwnerUserRecordID = CKRecord.ID(recordName: currentUser)
        }
    }

    fileprivate static func scope(_ change: [AnyHashable: Any]) -> CKDatabaseScope {
        (change["dbs"] as? Int).flatMap(CKDatabaseScope.init(rawValue:)) ?? .private
    }

    fileprivate static func zoneID(_ change: [AnyHashable: Any]) -> CKRecordZone.ID? {
        guard let name = change["zid"] as? String else { return nil }
        return CKRecordZone.ID(ZoneID(name: name, owner: change["zoid"] as? String ?? ""), currentUser: nil)
    }
}

extension CKNotificationContent.Query {
    /// Reads the `qry` dictionary of a push payload; nil without a known reason.
    fileprivate init?(payload: [AnyHashable: Any]) {
        guard let reason = (payload["fo"] as? Int).flatMap(CKQueryNotification.Reason.init(rawValue:)) else {
            return nil
        }
        self.reason = reason
        scope = CKNotificationContent.scope(payload)
        let zoneID = payload["zid"] == nil ? .default : CKNotificationContent.zoneID(payload)
        if let zoneID, let name = payload["rid"] as? String, CKRecord.ID.problem(withName: name) == nil {
            recordID = CKRecord.ID(recordName: name, zoneID: zoneID)
        }
        guard let values = payload["af"] as? [String: Any] else { return }
        fields = values.compactMapValues { FieldValue(payload: $0, in: zoneID ?? .default) }
    }
}

extension CKDatabaseScope {
    /// The scope in an answer.
    init(_ scope: DatabaseScope) {
        self =
            switch scope {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
    }
}
