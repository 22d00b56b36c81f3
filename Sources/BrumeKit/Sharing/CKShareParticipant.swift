internal import BrumeModel
public import Foundation

/// A user's part in a share: used as `CKShare.Participant`. May be used from several threads.
///
/// A participant is made by ``CKContainer/shareParticipant(forEmailAddress:)`` and its like, or by
/// ``oneTimeURLParticipant()``. Set its ``role`` and ``permission``, add it to a share, and save the share. The
/// instance then shows what the server has stored.
public class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: what is not immutable is behind the lock.

    /// The name of a participant, unique in its share.
    public typealias ID = String

    struct Values: Sendable {
        var userIdentity: CKUserIdentity
        var role = CKShare.ParticipantRole.privateUser
        var permission = CKShare.ParticipantPermission.readOnly
        var acceptanceStatus = CKShare.ParticipantAcceptanceStatus.pending
        var isApprovedRequester = false
        var dateAddedToShare: Date?
    }

    let values: Guarded<Values>

    /// The participant's user, as far as the current user may know.
    ///
    /// `userRecordID` is set once somebody has accepted, or when the invitation was by record id. `lookupInfo` is what
    /// the user was invited by; the server shows it only to the owner, to administrators and to the participant.
    public var userIdentity: CKUserIdentity { values.userIdentity }

    /// The participant's name in the share.
    public let participantID: ID

    /// Whether the invitation answers the participant's own request.
    public var isApprovedRequester: Bool { values.isApprovedRequester }

    /// When the participant was added to the share, by the server's clock; nil until then, and for the owner.
    public var dateAddedToShare: Date? { values.dateAddedToShare }

    init(values: Values, participantID: ID = UUID().uuidString) {
        self.participantID = participantID
        self.values = Guarded(values)
    }

    /// A participant who is not known yet: the first user to accept with the URL that the server makes when the share
    /// is saved. ``CKShare/oneTimeURL(for:)`` returns that URL.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        CKShareParticipant(
            values: Values(userIdentity: CKUserIdentity(userRecordID: nil, hasiCloudAccount: true)))
    }

    /// What the participant is in the share: `privateUser` unless set. An administrator may change the share as its
    /// owner may.
    ///
    /// Saving the share fails with `invalidArguments` when a participant's role was set to `owner` or `unknown`.
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

    /// What the participant may do: `readOnly` unless set. Set to `none`, the participant is removed when the share is
    /// saved.
    ///
    /// A public user has the share's ``CKShare/publicPermission``; saving another one fails with `invalidArguments`.
    public var permission: CKShare.ParticipantPermission {
        get { values.permission }
        set { values.permission = newValue }
    }

    /// Whether the participant has accepted.
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
        CKShareParticipant(copyOf: self)
    }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the participant into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareParticipant.self)
        let values = values.current
        coder.encode(participantID as NSString, forKey: "ParticipantID")
        coder.encode(values.userIdentity, forKey: "UserIdentity")
        coder.encode(Int64(values.role.rawValue), forKey: "Role")
        coder.encode(Int64(values.permission.rawValue), forKey: "Permission")
        coder.encode(Int64(values.acceptanceStatus.rawValue), forKey: "AcceptanceStatus")
        coder.encode(values.isApprovedRequester, forKey: "IsApprovedRequester")
        coder.encodeIfPresent(values.dateAddedToShare, forKey: "DateAddedToShare")
    }

    /// Reads an archived participant; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareParticipant.self)
        guard let id = coder.stringIfPresent(forKey: "ParticipantID"),
            let identity = coder.objectIfPresent(of: CKUserIdentity.self, forKey: "UserIdentity"),
            let role = coder.valueIfPresent(of: CKShare.ParticipantRole.self, forKey: "Role"),
            let permission = coder.valueIfPresent(of: CKShare.ParticipantPermission.self, forKey: "Permission"),
            let status = coder.valueIfPresent(
                of: CKShare.ParticipantAcceptanceStatus.self, forKey: "AcceptanceStatus")
        else { return nil }
        participantID = id
        values = Guarded(
            Values(
                userIdentity: identity, role: role, permission: permission, acceptanceStatus: status,
                isApprovedRequester: coder.boolIfPresent(forKey: "IsApprovedRequester") ?? false,
                dateAddedToShare: coder.dateIfPresent(forKey: "DateAddedToShare")))
    }
}

// MARK: What the server shows

extension CKShareParticipant {
    /// The owner of a share that is made here.
    static func newOwner() -> CKShareParticipant {
        let identity = CKUserIdentity(
            userRecordID: CKRecord.ID(recordName: CKCurrentUserDefaultName), hasiCloudAccount: true)
        return CKShareParticipant(
            values: Values(
                userIdentity: identity, role: .owner, permission: .readWrite, acceptanceStatus: .accepted))
    }

    /// A participant to be added to a share.
    convenience init(lookupInfo: CKUserIdentity.LookupInfo) {
        self.init(
            values: Values(
                userIdentity: CKUserIdentity(
                    userRecordID: lookupInfo.userRecordID, lookupInfo: lookupInfo, hasiCloudAccount: true)))
    }

    convenience init(copyOf other: CKShareParticipant) {
        self.init(values: other.values.current, participantID: other.participantID)
    }

    /// A participant as the server shows it.
    convenience init(_ view: ShareView.Participant, _ context: AnswerContext) {
        self.init(values: Values(view, context), participantID: view.id)
    }

    /// Takes over what the server shows; a role or a permission that was set since `sent` stays.
    ///
    /// - Parameters:
    ///   - sent: What the change is counted from; nil where the participant is new.
    ///   - serverWins: Whether a change of the server's goes before one of the app's.
    func saved(
        as view: ShareView.Participant, _ context: AnswerContext, sent: ShareContents.Participant?, serverWins: Bool
    ) {
        let server = Values(view, context)
        values.withLock { values in
            let now = values
            values = server
            if server.role == .owner { return }
            if now.role != sent?.role, !serverWins || server.role == sent?.role { values.role = now.role }
            if now.permission != sent?.permission, !serverWins || server.permission == sent?.permission {
                values.permission = now.permission
            }
        }
    }

    /// Takes over the role and the permission of another participant who is the same user.
    func take(_ other: CKShareParticipant) {
        let (role, permission) = (other.role, other.permission)
        values.withLock { values in
            values.role = role
            values.permission = permission
        }
    }
}

extension CKShareParticipant.Values {
    fileprivate init(_ view: ShareView.Participant, _ context: AnswerContext) {
        let lookupInfo: CKUserIdentityLookupInfo? =
            switch view.handle {
            case .email(let address): CKUserIdentityLookupInfo(emailAddress: address)
            case .phone(let number): CKUserIdentityLookupInfo(phoneNumber: number)
            case nil: nil
            }
        self.init(
            userIdentity: CKUserIdentity(
                userRecordID: view.user.isEmpty ? nil : CKRecord.ID(recordName: context.shown(view.user)),
                lookupInfo: lookupInfo, hasiCloudAccount: true),
            role: CKShare.ParticipantRole(view.role),
            permission: CKShare.ParticipantPermission(view.permission),
            acceptanceStatus: view.isAccepted ? .accepted : .pending,
            isApprovedRequester: view.isApprovedRequester,
            dateAddedToShare: view.addedMilliseconds == 0
                ? nil : Date(timeIntervalSince1970: Double(view.addedMilliseconds) / 1000))
    }
}
