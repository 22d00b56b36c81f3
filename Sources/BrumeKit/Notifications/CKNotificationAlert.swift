internal import BrumeModel
internal import Foundation

/// What a notification shows its user, as its subscription's ``CKSubscription/NotificationInfo`` says; empty text is
/// absent.
struct CKNotificationAlert: Sendable {
    var info = NotificationInfo()
    /// The number for the app's icon: in push payloads alone.
    var badge: Int?

    /// The alert of an event of the notification stream.
    init(_ info: NotificationInfo?) {
        self.info = info ?? NotificationInfo()
    }

    /// Reads the `aps` dictionary of a push payload, whose keys are those of Apple's push service.
    ///
    /// The payload is hostile until checked: values of wrong types count as absent.
    init(payload: [AnyHashable: Any]) {
        guard let content = payload["aps"] as? [AnyHashable: Any] else { return }
        badge = content["badge"] as? Int
        info.soundName = content["sound"] as? String ?? ""
        info.category = content["category"] as? String ?? ""
        info.shouldSendContentAvailable = (content["content-available"] as? Int ?? 0) != 0
        info.shouldSendMutableContent = (content["mutable-content"] as? Int ?? 0) != 0
        if let body = content["alert"] as? String { info.alertBody = body }
        guard let alert = content["alert"] as? [AnyHashable: Any] else { return }
        func text(_ key: String) -> String { alert[key] as? String ?? "" }
        info.alertBody = text("body")
        info.alertLocalizationKey = text("loc-key")
        info.alertLocalizationArgs = alert["loc-args"] as? [String] ?? []
        info.title = text("title")
        info.titleLocalizationKey = text("title-loc-key")
        info.titleLocalizationArgs = alert["title-loc-args"] as? [String] ?? []
        info.subtitle = text("subtitle")
        info.subtitleLocalizationKey = text("subtitle-loc-key")
        info.subtitleLocalizationArgs = alert["subtitle-loc-args"] as? [String] ?? []
        info.alertActionLocalizationKey = text("action-loc-key")
        info.alertLaunchImage = text("launch-image")
    }

    /// The `aps` dictionary that ``init(payload:)`` reads the same from.
    var payload: [String: Any] {
        var alert: [String: Any] = [:]
        for (key, text) in [
            ("body", info.alertBody), ("loc-key", info.alertLocalizationKey), ("title", info.title),
            ("title-loc-key", info.titleLocalizationKey), ("subtitle", info.subtitle),
            ("subtitle-loc-key", info.subtitleLocalizationKey), ("action-loc-key", info.alertActionLocalizationKey),
            ("launch-image", info.alertLaunchImage),
        ] where !text.isEmpty {
            alert[key] = text
        }
        for (key, arguments) in [
            ("loc-args", info.alertLocalizationArgs), ("title-loc-args", info.titleLocalizationArgs),
            ("subtitle-loc-args", info.subtitleLocalizationArgs),
        ] where !arguments.isEmpty {
            alert[key] = arguments
        }
        var content: [String: Any] = [:]
        if !alert.isEmpty { content["alert"] = alert }
        if !info.soundName.isEmpty { content["sound"] = info.soundName }
        if !info.category.isEmpty { content["category"] = info.category }
        if info.shouldSendContentAvailable { content["content-available"] = 1 }
        if info.shouldSendMutableContent { content["mutable-content"] = 1 }
        content["badge"] = badge
        return content
    }
}
