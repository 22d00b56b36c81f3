package import BrumeModel
internal import CBrumeProto

/// Events as they are kept for devices, and sent to them: encoded `brume.v1.NotificationEvent`s.
///
/// A coder belongs to one loop: it reuses its memory.
package final class EventCoder {
    private let arena = MessageArena(bytesLimit: .max)

    package init() {}

    package func encode(_ event: NotificationEvent) -> [UInt8] {
        arena.reset()
        return packed(arena.event(event))
    }
}

extension MessageArena {
    fileprivate func event(_ event: NotificationEvent) -> Pointer<Brume__V1__NotificationEvent> {
        let message = make(brume__v1__notification_event__init)
        message.pointee.position = data(event.position)
        message.pointee.notification_id = data(event.notificationID)
        message.pointee.subscription_id = data(event.subscriptionID)
        message.pointee.notification_info = notificationInfo(event.notificationInfo)
        message.pointee.committed_milliseconds = event.committedMilliseconds
        switch event.kind {
        case .ready(let resumed):
            let kind = make(brume__v1__stream_ready__init)
            kind.pointee.resumed = resumed ? 1 : 0
            message.pointee.kind_case = BRUME__V1__NOTIFICATION_EVENT__KIND_READY
            message.pointee.ready = kind
        case .zoneChanged(let zone):
            let kind = make(brume__v1__zone_changed__init)
            kind.pointee.zone = zoneID(zone)
            message.pointee.kind_case = BRUME__V1__NOTIFICATION_EVENT__KIND_ZONE_CHANGED
            message.pointee.zone_changed = kind
        case .databaseChanged(let database):
            let kind = make(brume__v1__database_changed__init)
            kind.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            message.pointee.kind_case = BRUME__V1__NOTIFICATION_EVENT__KIND_DATABASE_CHANGED
            message.pointee.database_changed = kind
        case .fetchFromToken(let database):
            let kind = make(brume__v1__fetch_from_token__init)
            kind.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            message.pointee.kind_case = BRUME__V1__NOTIFICATION_EVENT__KIND_FETCH_FROM_TOKEN
            message.pointee.fetch_from_token = kind
        case .recordChanged(let change):
            message.pointee.kind_case = BRUME__V1__NOTIFICATION_EVENT__KIND_RECORD_CHANGED
            message.pointee.record_changed = recordChanged(change)
        case .unknown: break
        }
        return message
    }

    fileprivate func recordChanged(_ change: RecordChange) -> Pointer<Brume__V1__RecordChanged> {
        let message = make(brume__v1__record_changed__init)
        message.pointee.database = Brume__V1__DatabaseScope(UInt32(change.database.rawValue))
        message.pointee.zone = zoneID(change.zone)
        message.pointee.record_name = data(change.recordName)
        message.pointee.reason = Brume__V1__RecordChangeReason(UInt32(change.reason.rawValue))
        let fields = change.fields.sorted { $0.key < $1.key }
        message.pointee.n_fields = fields.count
        message.pointee.fields = messages(fields) { field($0.key, $0.value) }
        message.pointee.pruned = change.isPruned ? 1 : 0
        return message
    }
}
