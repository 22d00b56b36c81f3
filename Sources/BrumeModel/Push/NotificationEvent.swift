/// One event of a device's notification stream.
package struct NotificationEvent: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The stream is open: the first event, before those that were kept for the device. `resumed` is true when the
        /// stream goes on after a position that the client gave or had acknowledged.
        case ready(resumed: Bool)
        case zoneChanged(ZoneID)
        case databaseChanged(DatabaseScope)
        /// A record fired a query subscription.
        case recordChanged(RecordChange)
        /// Events were dropped: fetch changes from your tokens; in the public database, which has none, query again.
        case fetchFromToken(DatabaseScope)
        /// An event that only a newer server knows: it is acknowledged and otherwise ignored.
        case unknown
    }

    /// The opaque position of the event, to acknowledge it and to resume after it.
    package var position: [UInt8]
    package var notificationID: String
    /// Empty for events that no subscription caused.
    package var subscriptionID: String
    package var notificationInfo: NotificationInfo?
    package var kind: Kind
    /// The time of the commit in milliseconds since 1970, by the server's clock.
    package var committedMilliseconds: Int64

    package init(
        position: [UInt8], notificationID: String, subscriptionID: String, notificationInfo: NotificationInfo?,
        kind: Kind,
        committedMilliseconds: Int64
    ) {
        self.position = position
        self.notificationID = notificationID
        self.subscriptionID = subscriptionID
        self.notificationInfo = notificationInfo
        self.kind = kind
        self.committedMilliseconds = committedMilliseconds
    }
}

/// What happened to a record. Raw values are CloudKit's.
package enum RecordChangeReason: UInt8, Hashable, Sendable {
    case created = 1
    case updated = 2
    case deleted = 3
}

/// A record that fired a query subscription.
package struct RecordChange: Equatable, Sendable {
    package var database: DatabaseScope
    package var zone: ZoneID
    package var recordName: String
    package var reason: RecordChangeReason
    /// Values of the subscription's desired keys as of the change; none for a deletion.
    package var fields: [String: FieldValue]
    /// Whether a text was cut, or a value left out because notifications don't carry its kind.
    package var isPruned: Bool

    package init(
        database: DatabaseScope, zone: ZoneID, recordName: String, reason: RecordChangeReason,
        fields: [String: FieldValue] = [:], isPruned: Bool = false
    ) {
        self.database = database
        self.zone = zone
        self.recordName = recordName
        self.reason = reason
        self.fields = fields
        self.isPruned = isPruned
    }
}
