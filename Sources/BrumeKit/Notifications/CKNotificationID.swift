public import Foundation

/// Names a notification. Used as `CKNotification.ID`. Opaque and immutable.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Whether both name one notification.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text == text
    }

    /// Equal for equal ids.
    public override var hash: Int { text.hashValue }

    /// The id's text.
    public override var description: String { "<CKNotificationID: \(text)>" }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the id into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKNotificationID.self)
        coder.encode(text as NSString, forKey: "NotificationID")
    }

    /// Reads an archived id; nil when the archive holds none.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKNotificationID.self)
        guard let text = coder.stringIfPresent(forKey: "NotificationID") else { return nil }
        self.text = text
    }
}

extension CKNotification {
    /// Names a notification.
    public typealias ID = CKNotificationID
}
