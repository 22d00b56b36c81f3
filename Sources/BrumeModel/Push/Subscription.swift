/// What a user wants to be told about in one database (cloudkit.md 1.8, 2.8).
package struct Subscription: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Any change in one custom zone; an empty record type stands for any.
        case zone(ZoneID, recordType: String)
        /// Any change in a custom zone of the database; an empty record type stands for any.
        case database(recordType: String)
    }

    package var id: String
    package var kind: Kind
    package var notificationInfo: NotificationInfo?

    package init(id: String, kind: Kind, notificationInfo: NotificationInfo? = nil) {
        self.id = id
        self.kind = kind
        self.notificationInfo = notificationInfo
    }
}

extension Subscription {
    /// Bytes of its texts: about what it costs in memory, and what each of its events carries.
    package var textByteCount: Int {
        var texts = [id]
        switch kind {
        case .zone(let zone, let recordType): texts += [zone.name, recordType]
        case .database(let recordType): texts.append(recordType)
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
