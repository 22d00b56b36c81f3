package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The notification stream: the device sends positions, the server sends events.
extension MessageCoder {
    /// The position that a device gives: where to resume, or what it has handled. Empty where it gives none.
    package func decodeNotificationsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> [UInt8] {
        try request(brume__v1__notifications_request__unpack, bytes).pointee.position.array
    }

    package func encodeNotificationsRequest(position: [UInt8]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__notifications_request__init)
            message.pointee.position = arena.data(position)
            return message
        }
    }

    /// The field with an event's position, to be put before an event that was encoded without one: so devices at
    /// different positions share the rest. A message's fields may come in any order.
    package static func positionField(_ position: [UInt8]) -> [UInt8] {
        var field: [UInt8] = []
        field.append(byteCount: WireSize.message(position.count)) { $0.message(1, position) }
        return field
    }

    /// Reads an event. An event whose kind, database or reason this version doesn't know gets the kind
    /// ``NotificationEvent/Kind/unknown``; its position counts like any other.
    package func decodeNotificationEvent(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> NotificationEvent {
        let message = try answer(brume__v1__notification_event__unpack, bytes)
        let kind: NotificationEvent.Kind
        switch message.pointee.kind_case {
        case BRUME__V1__NOTIFICATION_EVENT__KIND_READY:
            kind = .ready(resumed: message.pointee.ready.pointee.resumed != 0)
        case BRUME__V1__NOTIFICATION_EVENT__KIND_ZONE_CHANGED:
            guard let zone = message.pointee.zone_changed.pointee.zone else {
                throw Self.unreadableAnswer("an event names no zone")
            }
            kind = .zoneChanged(ZoneCoder.lossy(zone))
        case BRUME__V1__NOTIFICATION_EVENT__KIND_DATABASE_CHANGED:
            let scope = Self.scope(message.pointee.database_changed.pointee.database)
            kind = scope.map { .databaseChanged($0) } ?? .unknown
        case BRUME__V1__NOTIFICATION_EVENT__KIND_FETCH_FROM_TOKEN:
            let scope = Self.scope(message.pointee.fetch_from_token.pointee.database)
            kind = scope.map { .fetchFromToken($0) } ?? .unknown
        case BRUME__V1__NOTIFICATION_EVENT__KIND_RECORD_CHANGED:
            kind = try Self.recordChange(message.pointee.record_changed).map { .recordChanged($0) } ?? .unknown
        default: kind = .unknown
        }
        return NotificationEvent(
            position: message.pointee.position.array, notificationID: message.pointee.notification_id.lossyText,
            subscriptionID: message.pointee.subscription_id.lossyText,
            notificationInfo: try NotificationInfo(message.pointee.notification_info), kind: kind,
            committedMilliseconds: message.pointee.committed_milliseconds)
    }

    /// The database that an event names. Returns nil when this version doesn't know it.
    private static func scope(_ scope: Brume__V1__DatabaseScope) -> DatabaseScope? {
        UInt8(exactly: scope.rawValue).flatMap(DatabaseScope.init)
    }

    /// The change that an event reports. Returns nil when this version doesn't know its database or its reason.
    private static func recordChange(
        _ message: UnsafeMutablePointer<Brume__V1__RecordChanged>
    ) throws(ServiceError) -> RecordChange? {
        guard let zone = message.pointee.zone else { throw unreadableAnswer("an event names no zone") }
        guard let database = scope(message.pointee.database),
            let reason = UInt8(exactly: message.pointee.reason.rawValue).flatMap(RecordChangeReason.init)
        else { return nil }
        var fields: [String: FieldValue] = [:]
        for index in 0..<message.pointee.n_fields {
            let field = message.pointee.fields[index]!
            // A value of a kind that this version doesn't know is left out.
            guard let value = field.pointee.value.flatMap({ FieldValue($0) }) else { continue }
            fields[field.pointee.key.lossyText] = value
        }
        return RecordChange(
            database: database, zone: ZoneCoder.lossy(zone),
            recordName: message.pointee.record_name.lossyText, reason: reason, fields: fields,
            isPruned: message.pointee.pruned != 0)
    }
}
