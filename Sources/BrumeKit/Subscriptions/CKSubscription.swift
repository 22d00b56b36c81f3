internal import BrumeLock
internal import BrumeModel
public import Foundation

/// What a user wants to be told about in a database: the base of ``CKQuerySubscription``, ``CKRecordZoneSubscription``
/// and ``CKDatabaseSubscription``.
///
/// Saved for the user and the database. Saving one with an id that exists replaces that one. May be used from several
/// threads.
public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the id and what subclasses add as constants are immutable, the settings are behind the mutex.

    /// The name of a subscription: 1 to 255 bytes, unique for the user in the database. One of another name can't be
    /// saved.
    public typealias ID = String

    /// The kinds of subscriptions. Raw values are CloudKit's.
    public enum SubscriptionType: Int, Sendable {
        /// Records that match a query.
        case query = 1
        /// A zone.
        case recordZone = 2
        /// A database.
        case database = 3
    }

    struct Settings: Sendable {
        var notificationInfo: CKNotificationInfo?
        var recordType: CKRecord.RecordType?
        var zoneID: CKRecordZone.ID?
    }

    /// The subscription's name.
    public let subscriptionID: CKSubscription.ID

    /// The kind of the subscription.
    public let subscriptionType: SubscriptionType

    private let settings: Lock<Settings>

    /// How notifications are shown; with nil they are silent.
    ///
    /// The subscription keeps a copy of what it is given, and gives that copy: a change to it is one to the
    /// subscription.
    public var notificationInfo: NotificationInfo? {
        get { settings.withLock { $0.notificationInfo } }
        set {
            let copy = newValue.map { CKNotificationInfo($0.modelInfo) }
            settings.withLock { $0.notificationInfo = copy }
        }
    }

    init(subscriptionID: CKSubscription.ID, subscriptionType: SubscriptionType, settings: Settings = Settings()) {
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        self.settings = Lock(settings)
    }

    /// The settings for a copy, which shares nothing that can change.
    var copiedSettings: Settings {
        Settings(
            notificationInfo: notificationInfo.map { CKNotificationInfo($0.modelInfo) }, recordType: sharedRecordType,
            zoneID: sharedZoneID)
    }

    /// `zoneID` of the subclass that has it.
    var sharedZoneID: CKRecordZone.ID? {
        get { settings.withLock { $0.zoneID } }
        set { settings.withLock { $0.zoneID = newValue } }
    }

    /// `recordType` of the subclasses that have it.
    var sharedRecordType: CKRecord.RecordType? {
        get { settings.withLock { $0.recordType } }
        set { settings.withLock { $0.recordType = newValue } }
    }

    /// Whether both are subscriptions of one kind with the same name, options and notification info.
    ///
    /// Predicates are compared by their formats.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return self === other
            || type(of: self) == type(of: other) && subscriptionID == other.subscriptionID
                && sharedRecordType == other.sharedRecordType && sharedZoneID == other.sharedZoneID
                && notificationInfo == other.notificationInfo && details == other.details
    }

    /// Equal for equal subscriptions.
    public override var hash: Int { subscriptionID.hashValue }

    /// What subclasses add to what tells subscriptions apart.
    var details: [String] { [] }

    /// Kind and name.
    public override var description: String {
        "<\(type(of: self)): subscriptionID=\(subscriptionID), type=\(subscriptionType)>"
    }

    /// A subscription of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        preconditionFailure(
            "CKSubscription is abstract: make a CKQuerySubscription, a CKRecordZoneSubscription or a CKDatabaseSubscription"
        )
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the subscription into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKSubscription.self)
        coder.encode(subscriptionID as NSString, forKey: "SubscriptionID")
        coder.encode(Int64(subscriptionType.rawValue), forKey: "SubscriptionType")
        coder.encodeIfPresent(sharedRecordType, forKey: "RecordType")
        if let notificationInfo { coder.encode(notificationInfo, forKey: "NotificationInfo") }
    }

    /// Reads an archived subscription; nil when the archive holds no valid one of the class that is asked for.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKSubscription.self)
        guard let subscriptionID = coder.stringIfPresent(forKey: "SubscriptionID"),
            Names.problemWithSubscriptionID(subscriptionID) == nil,
            coder.containsValue(forKey: "SubscriptionType"),
            let subscriptionType = SubscriptionType(
                rawValue: Int(truncatingIfNeeded: coder.decodeInt64(forKey: "SubscriptionType")))
        else { return nil }
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        settings = Lock(
            Settings(
                notificationInfo: coder.objectIfPresent(of: CKNotificationInfo.self, forKey: "NotificationInfo"),
                recordType: coder.stringIfPresent(forKey: "RecordType")))
    }
}
