internal import BrumeModel
internal import BrumeStore
internal import BrumeWire

/// Events as messages.
extension NotificationHub {
    /// What a zone or database subscription tells.
    func kind(of hint: KeptSubscription) -> NotificationEvent.Kind {
        switch hint.subscription.kind {
        case .zone(let zone, _): .zoneChanged(zone)
        case .database: .databaseChanged(database.id.scope)
        case .query: preconditionFailure("a query subscription is told of records")
        }
    }

    /// What a match tells its user, made for them alone.
    func recordChange(of match: SubscriptionMatch) -> RecordChange {
        var change = RecordChange(
            database: database.id.scope, zone: match.record.zone, recordName: match.record.name,
            reason: match.record.reason)
        let keys = match.subscription.subscription.notificationInfo?.desiredKeys ?? []
        if keys.isEmpty || match.record.reason == .deleted { return change }
        do throws(ServiceError) {
            (change.fields, change.isPruned) = try coder.notificationFields(of: match.record.bytes, keys: keys)
        } catch {
            preconditionFailure("a stored record can't be read: \(error.message)")
        }
        return change
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

    /// An event without its position.
    static func encode(
        _ kind: NotificationEvent.Kind, at place: NotificationPosition.Place, in scope: DatabaseScope,
        coder: MessageCoder, subscription: Subscription? = nil, committedMilliseconds: Int64 = 0
    ) -> [UInt8] {
        coder.encodeNotificationEvent(
            NotificationEvent(
                position: [],
                notificationID: (scope == .public ? "p-" : "") + String(place.epoch, radix: 36) + "-"
                    + String(place.position.rawValue, radix: 36),
                subscriptionID: subscription?.id ?? "", notificationInfo: subscription?.notificationInfo, kind: kind,
                committedMilliseconds: committedMilliseconds))
    }
}
