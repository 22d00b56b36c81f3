internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore

/// Events as messages.
extension NotificationHub {
    /// The kind of event that a zone or database subscription makes.
    func kind(of hint: KeptSubscription) -> NotificationEvent.Kind {
        switch hint.subscription.kind {
        case .zone(let zone, _): .zoneChanged(zone)
        case .database: .databaseChanged(database.id.scope)
        case .query: preconditionFailure("a query subscription is told of records")
        }
    }

    /// The change that a match reports to its user, made for them alone.
    func recordChange(of match: SubscriptionMatch) -> RecordChange {
        var change = RecordChange(
            database: database.id.scope, zone: match.record.zone, recordName: match.record.name,
            reason: match.record.reason)
        let keys = match.subscription.subscription.notificationInfo?.desiredKeys ?? []
        if keys.isEmpty || match.record.reason == .deleted { return change }
        let fields = match.record.bytes.withUnsafeBytes { NotificationFields(of: $0, keys: keys) }
        (change.fields, change.isPruned) = (fields.values, fields.isPruned)
        return change
    }

    /// What decides whether the user may read the record of a match; nil in a private database, whose owner reads all.
    func subject(of match: SubscriptionMatch) -> NotificationSubject? {
        if database.id.scope == .private { return nil }
        // The subscription's own text, which takes no memory for each event.
        guard case .query(let query) = match.subscription.subscription.kind else { return nil }
        return NotificationSubject(recordType: query.recordType, isOwn: match.isOwn)
    }

    func encode(_ hint: NotificationRing.Hint, at position: ChangePosition) -> [UInt8] {
        encode(
            kind(of: hint.subscription), at: position, subscription: hint.subscription.subscription,
            committedMilliseconds: hint.committedMilliseconds)
    }

    func encode(
        _ kind: NotificationEvent.Kind, at position: ChangePosition, subscription: Subscription? = nil,
        committedMilliseconds: Int64 = 0
    ) -> [UInt8] {
        NotificationHub.encode(
            kind, at: place(position), in: database.id.scope, coder: coder, subscription: subscription,
            committedMilliseconds: committedMilliseconds)
    }

    /// Encodes an event without its position.
    static func encode(
        _ kind: NotificationEvent.Kind, at place: StreamPosition.Place, in scope: DatabaseScope,
        coder: EventCoder, subscription: Subscription? = nil, committedMilliseconds: Int64 = 0
    ) -> [UInt8] {
        coder.encode(
            NotificationEvent(
                position: [],
                notificationID: prefix(scope) + String(place.run, radix: 36) + "-"
                    + String(place.position.rawValue, radix: 36),
                subscriptionID: subscription?.id ?? "", notificationInfo: subscription?.notificationInfo, kind: kind,
                committedMilliseconds: committedMilliseconds))
    }

    /// What tells the notifications of databases apart.
    private static func prefix(_ scope: DatabaseScope) -> String {
        switch scope {
        case .public: "p-"
        case .private: ""
        case .shared: "s-"
        }
    }
}
