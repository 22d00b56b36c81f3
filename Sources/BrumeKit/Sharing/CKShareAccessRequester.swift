public import Foundation

/// A user who asked to take part in a share: used as `CKShare.AccessRequester`.
///
/// Immutable, so it may be passed between threads. To let the user in, look the participant up by
/// ``participantLookupInfo`` with ``CKFetchShareParticipantsOperation``, add it to the share and save that.
///
/// Differs from CloudKit: there is no `contact`.
public class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// Who asked.
    public let userIdentity: CKUserIdentity

    /// What the user is looked up by to become a participant.
    public let participantLookupInfo: CKUserIdentity.LookupInfo

    init(userIdentity: CKUserIdentity, participantLookupInfo: CKUserIdentity.LookupInfo) {
        self.userIdentity = userIdentity
        self.participantLookupInfo = participantLookupInfo
    }

    /// The user record name as the server knows it, or nil.
    var userName: String? { participantLookupInfo.userRecordID?.recordName ?? userIdentity.userName }

    func isSameUser(as other: CKShareAccessRequester) -> Bool {
        userIdentity.isSameUser(as: other.userIdentity) || participantLookupInfo == other.participantLookupInfo
    }

    /// Whether both are one user's, and say the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareAccessRequester else { return false }
        return userIdentity == other.userIdentity && participantLookupInfo == other.participantLookupInfo
    }

    /// Equal for equal requesters.
    public override var hash: Int { userIdentity.hash }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the requester into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareAccessRequester.self)
        coder.encode(userIdentity, forKey: "UserIdentity")
        coder.encode(participantLookupInfo, forKey: "ParticipantLookupInfo")
    }

    /// Reads an archived requester; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareAccessRequester.self)
        guard let identity = coder.objectIfPresent(of: CKUserIdentity.self, forKey: "UserIdentity"),
            let info = coder.objectIfPresent(of: CKUserIdentityLookupInfo.self, forKey: "ParticipantLookupInfo")
        else { return nil }
        userIdentity = identity
        participantLookupInfo = info
    }
}
