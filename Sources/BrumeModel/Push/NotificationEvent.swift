/// One event of a device's notification stream.
package struct NotificationEvent: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The stream is open and what was kept for the device has been delivered.
        case ready(resumed: Bool)
        case zoneChanged(ZoneID)
        case databaseChanged(DatabaseScope)
        /// Events were dropped: fetch changes from your tokens.
        case fetchFromToken(DatabaseScope)
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
