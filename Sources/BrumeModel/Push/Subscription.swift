/// A user's request to be notified of changes in one database (Documentation/CloudKit.md, Subscriptions).
package struct Subscription: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Any change in one custom zone; an empty record type stands for any.
        case zone(ZoneID, recordType: String)
        /// Any change in a custom zone of the database; an empty record type stands for any.
        case database(recordType: String)
        /// Records that match a predicate.
        case query(QuerySubscription)
    }

    package var id: String
    package var kind: Kind
    package var notificationInfo: NotificationInfo?
    /// The user record name in the public database, which all users share. Empty in a private database, and on the
    /// wire: a client sees only its own subscriptions.
    package var owner: String

    package init(id: String, kind: Kind, notificationInfo: NotificationInfo? = nil, owner: String = "") {
        self.id = id
        self.kind = kind
        self.notificationInfo = notificationInfo
        self.owner = owner
    }
}

/// The changes that a query subscription reports (Documentation/CloudKit.md, Subscriptions).
///
/// A new record fires it when it matches; a changed one when its new version matches, whether or not the one before
/// did; a deleted one when its last version matched, even if it was deleted with another record or with its zone.
package struct QuerySubscription: Hashable, Sendable {
    /// Raw values are CloudKit's.
    package struct Options: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let creation = Options(rawValue: 1)
        package static let update = Options(rawValue: 2)
        package static let deletion = Options(rawValue: 4)
        /// The first event ends the subscription.
        package static let once = Options(rawValue: 8)

        package static let reasons: Options = [.creation, .update, .deletion]

        /// What is wrong with options that a client sent, or nil.
        package static func problem(withRawValue rawValue: UInt32) -> String? {
            guard rawValue <= 15 else {
                return
                    "a query subscription has unknown options (\(rawValue)); use creation (1), update (2), deletion (4), once (8)"
            }
            return rawValue & UInt32(reasons.rawValue) == 0
                ? "a query subscription fires on nothing; add creation (1), update (2) or deletion (4) to its options"
                : nil
        }
    }

    package var recordType: String
    package var predicate: Predicate
    package var options: Options
    /// The zone to watch; nil means all zones of the database.
    package var zone: ZoneID?

    package init(recordType: String, predicate: Predicate, options: Options, zone: ZoneID? = nil) {
        self.recordType = recordType
        self.predicate = predicate
        self.options = options
        self.zone = zone
    }
}

extension Subscription {
    /// The bytes of its texts, which each of its events carries. A predicate's texts don't count.
    package var textByteCount: Int {
        var texts = [id]
        switch kind {
        case .zone(let zone, let recordType): texts += [zone.name, recordType]
        case .database(let recordType): texts.append(recordType)
        case .query(let query): texts += [query.recordType, query.zone?.name ?? ""]
        }
        if let info = notificationInfo {
            texts += [
                info.alertBody, info.alertLocalizationKey, info.title, info.titleLocalizationKey, info.subtitle,
                info.subtitleLocalizationKey, info.alertActionLocalizationKey, info.alertLaunchImage, info.soundName,
                info.category, info.collapseIDKey,
            ]
            texts += info.alertLocalizationArgs + info.titleLocalizationArgs + info.subtitleLocalizationArgs
            texts += info.desiredKeys
        }
        return texts.reduce(0) { $0 + $1.utf8.count }
    }
}

/// How a notification is shown: `CKSubscription.NotificationInfo` as a value. Empty text stands for nil.
package struct NotificationInfo: Equatable, Sendable {
    package var alertBody = ""
    package var alertLocalizationKey = ""
    package var alertLocalizationArgs: [String] = []
    package var title = ""
    package var titleLocalizationKey = ""
    package var titleLocalizationArgs: [String] = []
    package var subtitle = ""
    package var subtitleLocalizationKey = ""
    package var subtitleLocalizationArgs: [String] = []
    package var alertActionLocalizationKey = ""
    package var alertLaunchImage = ""
    package var soundName = ""
    package var desiredKeys: [String] = []
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    package var category = ""
    package var collapseIDKey = ""

    package init() {}
}
