public import Foundation

/// A user's part in a share: used as `CKShare.Participant`. May be used from several threads.
///
/// Differs from CloudKit: there is no server yet that looks users up, so participants come from
/// ``oneTimeURLParticipant()`` and from a new share's owner alone.
public class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: what is not immutable is behind the lock.

    /// The name of a participant, unique in its share.
    public typealias ID = String

    struct Values: Sendable {
        var role = CKShare.ParticipantRole.privateUser
        var permission = CKShare.ParticipantPermission.readOnly
        var acceptanceStatus = CKShare.ParticipantAcceptanceStatus.pending
    }

    let values: Guarded<Values>

    /// Who it is.
    public let userIdentity: CKUserIdentity

    /// The participant's name in the share.
    public let participantID: ID

    /// Whether the owner approved the participant's own request.
    public let isApprovedRequester = false

    /// When the participant came to the share; nil for one that was not saved.
    public let dateAddedToShare: Date? = nil

    init(userIdentity: CKUserIdentity, participantID: ID = UUID().uuidString, values: Values = Values()) {
        self.userIdentity = userIdentity
        self.participantID = participantID
        self.values = Guarded(values)
    }

    /// A participant whom nobody knows yet: the first who accepts with the URL that is made for it.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        CKShareParticipant(userIdentity: CKUserIdentity(userRecordID: nil, hasiCloudAccount: false))
    }

    /// What the participant is in the share.
    public var role: CKShare.ParticipantRole {
        get { values.role }
        set { values.role = newValue }
    }

    /// The earlier name of ``role``.
    @available(*, deprecated, renamed: "role")
    public var type: CKShare.ParticipantType {
        get { CKShare.ParticipantType(values.role) }
        set { values.role = newValue.role }
    }

    /// What the participant may do.
    public var permission: CKShare.ParticipantPermission {
        get { values.permission }
        set { values.permission = newValue }
    }

    /// Whether the participant has taken part yet.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus { values.acceptanceStatus }

    /// Whether both are one participant with the same values.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareParticipant else { return false }
        return self === other
            || participantID == other.participantID && userIdentity == other.userIdentity && role == other.role
                && permission == other.permission && acceptanceStatus == other.acceptanceStatus
    }

    /// Equal for equal participants.
    public override var hash: Int { participantID.hash }

    /// A participant of its own with the same values.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKShareParticipant(userIdentity: userIdentity, participantID: participantID, values: values.current)
    }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the participant into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareParticipant.self)
        let values = values.current
        coder.encode(participantID as NSString, forKey: "ParticipantID")
        coder.encode(userIdentity, forKey: "UserIdentity")
        coder.encode(Int64(values.role.rawValue), forKey: "Role")
        coder.encode(Int64(values.permission.rawValue), forKey: "Permission")
        coder.encode(Int64(values.acceptanceStatus.rawValue), forKey: "AcceptanceStatus")
    }

    /// Reads an archived participant; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareParticipant.self)
        func number(_ key: String) -> Int {
            coder.containsValue(forKey: key) ? Int(truncatingIfNeeded: coder.decodeInt64(forKey: key)) : 0
        }
        guard let id = coder.stringIfPresent(forKey: "ParticipantID"),
            let identity = coder.objectIfPresent(of: CKUserIdentity.self, forKey: "UserIdentity"),
            let role = CKShare.ParticipantRole(rawValue: number("Role")),
            let permission = CKShare.ParticipantPermission(rawValue: number("Permission")),
            let status = CKShare.ParticipantAcceptanceStatus(rawValue: number("AcceptanceStatus"))
        else { return nil }
        participantID = id
        userIdentity = identity
        values = Guarded(Values(role: role, permission: permission, acceptanceStatus: status))
    }
}
