package import BrumeModel
public import Foundation

/// Tells that something changed on the server: the base of ``CKQueryNotification``, ``CKRecordZoneNotification`` and
/// ``CKDatabaseNotification``.
///
/// A notification is a hint to fetch changes, not a list of them. Immutable, so it may be passed between threads.
///
/// Differs from CloudKit: a ``CKDatabaseNotification`` that is pruned and has no subscription says that earlier ones
/// were dropped: fetch changes from the last token, or in the public database, which has no changes to fetch, query
/// again.
public class CKNotification: NSObject, @unchecked Sendable {
    // Sendable: holds a constant, and subclasses add none.

    /// The kinds of notifications. Raw values are CloudKit's.
    public enum NotificationType: Int, Sendable {
        /// Of a query subscription.
        case query = 1
        /// Of a zone subscription.
        case recordZone = 2
        /// Of a notification that was read on another device. Never made.
        case readNotification = 3
        /// Of a database subscription.
        case database = 4
    }

    let content: CKNotificationContent

    init(content: CKNotificationContent) {
        self.content = content
    }

    /// The kind of the notification.
    public var notificationType: NotificationType {
        switch content.kind {
        case .recordZone: .recordZone
        case .database: .database
        case .query: .query
        }
    }

    /// The notification's name.
    public var notificationID: CKNotification.ID? { content.notificationID }

    /// The container where the change was made.
    public var containerIdentifier: String? { content.containerIdentifier }

    /// The user whose subscription made the notification.
    public var subscriptionOwnerUserRecordID: CKRecord.ID? { content.subscriptionOwnerUserRecordID }

    /// Whether the notification lacks something that would have been in it.
    public var isPruned: Bool { content.isPruned }

    /// The subscription that made the notification.
    public var subscriptionID: CKSubscription.ID? { content.subscriptionID }

    /// Brume's addition: the push payload that says the same, for code that takes notifications as the app delegate
    /// gets them, and as JSON. What ``init(fromRemoteNotificationDictionary:)`` makes of it equals this notification.
    public var userInfo: [AnyHashable: Any] { content.payload }

    /// Whether both say the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKNotification else { return false }
        return self === other || NSDictionary(dictionary: userInfo).isEqual(to: other.userInfo)
    }

    /// Equal for equal notifications.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(notificationType)
        hasher.combine(subscriptionID)
        hasher.combine(content.notificationID?.text)
        return hasher.finalize()
    }

    /// Kind and subscription.
    public override var description: String {
        "<\(type(of: self)): subscriptionID=\(subscriptionID ?? "nil")>"
    }

    /// The notification in a push payload: an object of the subclass for its kind.
    ///
    /// Nil when the payload has no `ck` dictionary of a known kind, or one of another kind than the subclass that is
    /// asked.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let content = CKNotificationContent(payload: notificationDictionary) else { return nil }
        self.init(content)
    }

    /// The notification of an event of the notification stream: an object of the subclass for its kind.
    ///
    /// Nil for an event that tells the stream's own state.
    package convenience init?(_ event: NotificationEvent, containerIdentifier: String?, currentUser: String?) {
        guard
            let content = CKNotificationContent(
                event, containerIdentifier: containerIdentifier, currentUser: currentUser)
        else { return nil }
        self.init(content)
    }
}

/// Initialisers of a protocol may assign `self`, which lets an initialiser of the base class give a subclass's object.
protocol NotificationMaking {}

extension CKNotification: NotificationMaking {}

extension NotificationMaking where Self: CKNotification {
    /// Nil when the content is of another kind than `Self`.
    init?(_ content: CKNotificationContent) {
        let notification: CKNotification =
            switch content.kind {
            case .recordZone: CKRecordZoneNotification(content: content)
            case .database: CKDatabaseNotification(content: content)
            case .query: CKQueryNotification(content: content)
            }
        guard let object = notification as? Self else { return nil }
        self = object
    }
}
