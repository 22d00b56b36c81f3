internal import BrumeModel
public import Foundation

/// What the notification shows its user: what the subscription's ``CKSubscription/NotificationInfo`` held when the
/// change was made.
///
/// Differs from CloudKit: nothing is shown by itself, since no system stands between; the arguments of localised texts
/// are the names of the fields, not their values. Ask for the values by the subscription's `desiredKeys`.
extension CKNotification {
    /// The text of the alert.
    public var alertBody: String? { Self.present(content.alert.info.alertBody) }

    /// The key of the alert's text in the app's localised strings.
    public var alertLocalizationKey: String? { Self.present(content.alert.info.alertLocalizationKey) }

    /// What the text of ``alertLocalizationKey`` is filled with.
    public var alertLocalizationArgs: [String]? { Self.present(content.alert.info.alertLocalizationArgs) }

    /// The title of the alert.
    public var title: String? { Self.present(content.alert.info.title) }

    /// The key of the title in the app's localised strings.
    public var titleLocalizationKey: String? { Self.present(content.alert.info.titleLocalizationKey) }

    /// What the text of ``titleLocalizationKey`` is filled with.
    public var titleLocalizationArgs: [String]? { Self.present(content.alert.info.titleLocalizationArgs) }

    /// The subtitle of the alert.
    public var subtitle: String? { Self.present(content.alert.info.subtitle) }

    /// The key of the subtitle in the app's localised strings.
    public var subtitleLocalizationKey: String? { Self.present(content.alert.info.subtitleLocalizationKey) }

    /// What the text of ``subtitleLocalizationKey`` is filled with.
    public var subtitleLocalizationArgs: [String]? { Self.present(content.alert.info.subtitleLocalizationArgs) }

    /// The key of the action button's text in the app's localised strings.
    public var alertActionLocalizationKey: String? { Self.present(content.alert.info.alertActionLocalizationKey) }

    /// The image to show while the app is launched from the alert.
    public var alertLaunchImage: String? { Self.present(content.alert.info.alertLaunchImage) }

    /// The number for the app's icon. Nil but in a push payload that has one.
    public var badge: NSNumber? { content.alert.badge.map { NSNumber(value: $0) } }

    /// The sound to play.
    public var soundName: String? { Self.present(content.alert.info.soundName) }

    /// The name of the notification's category.
    public var category: String? { Self.present(content.alert.info.category) }

    private static func present(_ text: String) -> String? { text.isEmpty ? nil : text }
    private static func present(_ texts: [String]) -> [String]? { texts.isEmpty ? nil : texts }
}
