public import Foundation

/// A user whose requests to take part in a share are not heard: used as `CKShare.BlockedIdentity`.
///
/// Immutable, so it may be passed between threads. ``CKShare/unblockIdentities(_:)`` hears them again.
///
/// Differs from CloudKit: there is no `contact`.
public class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// Who is blocked.
    public let userIdentity: CKUserIdentity

    init(userIdentity: CKUserIdentity) {
        self.userIdentity = userIdentity
    }

    /// Whether both are of one user.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity)?.userIdentity == userIdentity
    }

    /// Equal for equal identities.
    public override var hash: Int { userIdentity.hash }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the identity into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareBlockedIdentity.self)
        coder.encode(userIdentity, forKey: "UserIdentity")
    }

    /// Reads an archived identity; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareBlockedIdentity.self)
        guard let identity = coder.objectIfPresent(of: CKUserIdentity.self, forKey: "UserIdentity") else { return nil }
        userIdentity = identity
    }
}
