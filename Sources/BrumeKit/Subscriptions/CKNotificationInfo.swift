internal import BrumeLock
internal import BrumeModel
public import Foundation

/// How a subscription's notifications are shown. Used as `CKSubscription.NotificationInfo`.
///
/// The arguments of the localised texts name fields of the record. May be used from several threads.
///
/// Differs from CloudKit: the class stands at top level under its Objective-C name, because Foundation on Linux
/// archives top-level classes alone. Empty texts and lists come back from the server as nil.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let values: Lock<NotificationInfo>

    /// Notifications with the given look; without any, silent ones.
    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [], title: String? = nil, titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [], subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil, subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil, alertLaunchImage: String? = nil, soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [], shouldBadge: Bool = false, shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false, category: String? = nil, collapseIDKey: String? = nil
    ) {
        var values = NotificationInfo()
        values.alertBody = alertBody ?? ""
        values.alertLocalizationKey = alertLocalizationKey ?? ""
        values.alertLocalizationArgs = alertLocalizationArgs
        values.title = title ?? ""
        values.titleLocalizationKey = titleLocalizationKey ?? ""
        values.titleLocalizationArgs = titleLocalizationArgs
        values.subtitle = subtitle ?? ""
        values.subtitleLocalizationKey = subtitleLocalizationKey ?? ""
        values.subtitleLocalizationArgs = subtitleLocalizationArgs
        values.alertActionLocalizationKey = alertActionLocalizationKey ?? ""
        values.alertLaunchImage = alertLaunchImage ?? ""
        values.soundName = soundName ?? ""
        values.desiredKeys = desiredKeys
        values.shouldBadge = shouldBadge
        values.shouldSendContentAvailable = shouldSendContentAvailable
        values.shouldSendMutableContent = shouldSendMutableContent
        values.category = category ?? ""
        values.collapseIDKey = collapseIDKey ?? ""
        self.init(values)
    }

    init(_ values: NotificationInfo) {
        self.values = Lock(values)
    }

    /// The values as the protocol carries them.
    var modelInfo: NotificationInfo { values.withLock { $0 } }

    /// The text of the alert.
    public var alertBody: String? {
        get { text(\.alertBody) }
        set { set(\.alertBody, newValue ?? "") }
    }

    /// The key of the alert's localised text.
    public var alertLocalizationKey: String? {
        get { text(\.alertLocalizationKey) }
        set { set(\.alertLocalizationKey, newValue ?? "") }
    }

    /// The fields that fill the alert's localised text.
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { list(\.alertLocalizationArgs) }
        set { set(\.alertLocalizationArgs, newValue ?? []) }
    }

    /// The title of the alert.
    public var title: String? {
        get { text(\.title) }
        set { set(\.title, newValue ?? "") }
    }

    /// The key of the localised title.
    public var titleLocalizationKey: String? {
        get { text(\.titleLocalizationKey) }
        set { set(\.titleLocalizationKey, newValue ?? "") }
    }

    /// The fields that fill the localised title.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { list(\.titleLocalizationArgs) }
        set { set(\.titleLocalizationArgs, newValue ?? []) }
    }

    /// The subtitle of the alert.
    public var subtitle: String? {
        get { text(\.subtitle) }
        set { set(\.subtitle, newValue ?? "") }
    }

    /// The key of the localised subtitle.
    public var subtitleLocalizationKey: String? {
        get { text(\.subtitleLocalizationKey) }
        set { set(\.subtitleLocalizationKey, newValue ?? "") }
    }

    /// The fields that fill the localised subtitle.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { list(\.subtitleLocalizationArgs) }
        set { set(\.subtitleLocalizationArgs, newValue ?? []) }
    }

    /// The key of the localised title of the alert's button.
    public var alertActionLocalizationKey: String? {
        get { text(\.alertActionLocalizationKey) }
        set { set(\.alertActionLocalizationKey, newValue ?? "") }
    }

    /// The name of the image that is shown while the app starts.
    public var alertLaunchImage: String? {
        get { text(\.alertLaunchImage) }
        set { set(\.alertLaunchImage, newValue ?? "") }
    }

    /// The name of the sound.
    public var soundName: String? {
        get { text(\.soundName) }
        set { set(\.soundName, newValue ?? "") }
    }

    /// Fields whose values the notification carries, 3 at most: the server refuses more.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { list(\.desiredKeys) }
        set { set(\.desiredKeys, newValue ?? []) }
    }

    /// Whether the app's badge counts the notification.
    public var shouldBadge: Bool {
        get { modelInfo.shouldBadge }
        set { set(\.shouldBadge, newValue) }
    }

    /// Whether the app is woken to fetch.
    public var shouldSendContentAvailable: Bool {
        get { modelInfo.shouldSendContentAvailable }
        set { set(\.shouldSendContentAvailable, newValue) }
    }

    /// Whether the app may change the notification before it is shown.
    public var shouldSendMutableContent: Bool {
        get { modelInfo.shouldSendMutableContent }
        set { set(\.shouldSendMutableContent, newValue) }
    }

    /// The category of actions that the notification offers.
    public var category: String? {
        get { text(\.category) }
        set { set(\.category, newValue ?? "") }
    }

    /// The field whose value joins notifications into one.
    public var collapseIDKey: String? {
        get { text(\.collapseIDKey) }
        set { set(\.collapseIDKey, newValue ?? "") }
    }

    /// Whether all values of both are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKNotificationInfo else { return false }
        return self === other || modelInfo == other.modelInfo
    }

    /// Equal for equal objects.
    public override var hash: Int {
        let values = modelInfo
        var hasher = Hasher()
        hasher.combine(values.alertBody)
        hasher.combine(values.title)
        hasher.combine(values.desiredKeys)
        return hasher.finalize()
    }

    /// An object of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKNotificationInfo(modelInfo)
    }

    private func text(_ path: any KeyPath<NotificationInfo, String> & Sendable) -> String? {
        let text = modelInfo[keyPath: path]
        return text.isEmpty ? nil : text
    }

    private func list(_ path: any KeyPath<NotificationInfo, [String]> & Sendable) -> [String]? {
        let list = modelInfo[keyPath: path]
        return list.isEmpty ? nil : list
    }

    private func set<Value: Sendable>(_ path: any WritableKeyPath<NotificationInfo, Value> & Sendable, _ value: Value) {
        values.withLock { $0[keyPath: path] = value }
    }

    // MARK: Archiving

    private typealias Field<Value> = (key: String, path: any WritableKeyPath<NotificationInfo, Value> & Sendable)

    private static let texts: [Field<String>] = [
        ("AlertBody", \.alertBody), ("AlertLocalizationKey", \.alertLocalizationKey), ("Title", \.title),
        ("TitleLocalizationKey", \.titleLocalizationKey), ("Subtitle", \.subtitle),
        ("SubtitleLocalizationKey", \.subtitleLocalizationKey),
        ("AlertActionLocalizationKey", \.alertActionLocalizationKey), ("AlertLaunchImage", \.alertLaunchImage),
        ("SoundName", \.soundName), ("Category", \.category), ("CollapseIDKey", \.collapseIDKey),
    ]

    private static let lists: [Field<[String]>] = [
        ("AlertLocalizationArgs", \.alertLocalizationArgs), ("TitleLocalizationArgs", \.titleLocalizationArgs),
        ("SubtitleLocalizationArgs", \.subtitleLocalizationArgs), ("DesiredKeys", \.desiredKeys),
    ]

    private static let flags: [Field<Bool>] = [
        ("ShouldBadge", \.shouldBadge), ("ShouldSendContentAvailable", \.shouldSendContentAvailable),
        ("ShouldSendMutableContent", \.shouldSendMutableContent),
    ]

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes what is set into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKNotificationInfo.self)
        for field in Self.texts { coder.encodeIfPresent(text(field.path), forKey: field.key) }
        for field in Self.lists { coder.encodeIfPresent(list(field.path), forKey: field.key) }
        for field in Self.flags { coder.encode(modelInfo[keyPath: field.path], forKey: field.key) }
    }

    /// Reads archived values; what the archive lacks is not set.
    public convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKNotificationInfo.self)
        var values = NotificationInfo()
        for field in Self.texts { values[keyPath: field.path] = coder.stringIfPresent(forKey: field.key) ?? "" }
        for field in Self.lists { values[keyPath: field.path] = coder.stringsIfPresent(forKey: field.key) ?? [] }
        for field in Self.flags where coder.containsValue(forKey: field.key) {
            values[keyPath: field.path] = coder.decodeBool(forKey: field.key)
        }
        self.init(values)
    }
}

extension CKSubscription {
    /// How a subscription's notifications are shown.
    public typealias NotificationInfo = CKNotificationInfo
}
