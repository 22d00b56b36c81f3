/// One event of a device's notification stream.
package struct NotificationEvent: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The stream is open: the first event, before what was kept for the device. `resumed`: The stream goes on
        /// after a position that the client gave or had acknowledged.
        case ready(resumed: Bool)
        case zoneChanged(ZoneID)
        case databaseChanged(DatabaseScope)
        /// A record fired a query subscription.
        case recordChanged(RecordChange)
        /// Events were dropped: fetch changes from your tokens; in the public database, which has none, query again.
        case fetchFromToken(DatabaseScope)
        /// What a newer server reports: it is acknowledged and otherwise ignored.
        case unknown
    }

    /// Opaque: acknowledge and resume with it.
    package var position: [UInt8]
    package var notificationID: String
    /// Empty for events that no subscription caused.
    package var subscriptionID: String
    package var notificationInfo: NotificationInfo?
    package var kind: Kind
    /// The server's clock at the commit, since 1970.
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
    /// A text was cut, or a value of a kind that notifications don't carry was left out.
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
