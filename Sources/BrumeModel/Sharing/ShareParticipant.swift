/// A user's part in a share, or an invitation that nobody has accepted yet.
package struct ShareParticipant: Equatable, Sendable {
    /// What a participant is in a share. Raw values are CloudKit's `CKShare.ParticipantRole`; the owner, 1, is none of
    /// the participants that a share keeps.
    package enum Role: UInt8, Sendable {
        case administrator = 2
        case privateUser = 3
        /// Came by the URL of a share with a public permission.
        case publicUser = 4
    }

    /// The user whom an invitation is for.
    package enum Invitee: Equatable, Sendable {
        /// Whoever has the handle when they accept.
        case handle(Handle)
        /// A user, by record name.
        case user(String)
        /// Whoever comes first with the URL that holds the secret.
        case oneTime(secret: [UInt8])
    }

    /// The name of the participant in the share: 1 to 255 characters of printable ASCII, by the client that invited
    /// them, or by the server for a public user.
    package let id: String

    /// The invitees that it was made for: one while the invitation is pending, those of all invitations that the user
    /// has accepted, and none for a public user, whom nobody invited.
    package internal(set) var invitees: [Invitee]

    /// The record name of the user who has accepted; empty as long as nobody has.
    package internal(set) var user: String

    package internal(set) var role: Role

    /// What they may do; of a public user always what the share's public permission says.
    package internal(set) var permission: Share.Permission

    /// The position of the acceptance in the owner's database; nil while the invitation is pending.
    package internal(set) var acceptance: ChangePosition?

    /// When the participant came to the share, by the server's clock, since 1970.
    package let addedMilliseconds: Int64

    /// Whether the invitation answers the user's own request.
    package internal(set) var isApprovedRequester: Bool

    package init(
        id: String, invitees: [Invitee], user: String = "", role: Role, permission: Share.Permission,
        acceptance: ChangePosition? = nil, addedMilliseconds: Int64, isApprovedRequester: Bool = false
    ) {
        self.id = id
        self.invitees = invitees
        self.user = user
        self.role = role
        self.permission = permission
        self.acceptance = acceptance
        self.addedMilliseconds = addedMilliseconds
        self.isApprovedRequester = isApprovedRequester
    }

    package var isAccepted: Bool { acceptance != nil }

    /// Whether it is a pending invitation of a user, by their name or by a handle of theirs.
    func invites(_ visitor: ShareVisitor) -> Bool {
        !isAccepted
            && invitees.contains { invitee in
                switch invitee {
                case .handle(let handle): visitor.handles.contains(handle)
                case .user(let user): user == visitor.user
                // Its secret says whom it is for.
                case .oneTime: false
                }
            }
    }

    /// Whether it was made for whoever comes first with a secret, which may have been used since.
    func isOpened(by secret: [UInt8]) -> Bool {
        invitees.contains { invitee in
            guard case .oneTime(let own) = invitee else { return false }
            return Share.isEqual(secret, own)
        }
    }

    /// The participant as others who take part see it.
    var withoutInvitation: ShareParticipant {
        var seen = self
        seen.invitees = []
        seen.isApprovedRequester = false
        return seen
    }

    /// Takes over what another invitation of the same user grants beyond this one, and whom it was made for.
    mutating func merge(_ other: ShareParticipant) {
        invitees += other.invitees.filter { !invitees.contains($0) }
        if other.role == .administrator || role == .publicUser { role = other.role }
        if other.permission.rawValue > permission.rawValue { permission = other.permission }
        if other.isApprovedRequester { isApprovedRequester = true }
    }
}

/// A user who asked to take part in a share.
package struct ShareRequester: Equatable, Sendable {
    /// The user's record name.
    package let user: String
    /// When they asked, by the server's clock, since 1970.
    package let requestedMilliseconds: Int64

    package init(user: String, requestedMilliseconds: Int64) {
        self.user = user
        self.requestedMilliseconds = requestedMilliseconds
    }
}

/// A user who comes with a share's URL: their record name, and the handles that their account has now.
package struct ShareVisitor: Equatable, Sendable {
    package let user: String
    package let handles: [Handle]

    package init(user: String, handles: [Handle]) {
        self.user = user
        self.handles = handles
    }
}
