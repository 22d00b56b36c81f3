/// With whom the owner of a zone shares a record and its descendants, or the whole zone: what a `cloudkit.share` record
/// holds beside its fields (Documentation/CloudKit.md, Sharing).
///
/// Pure: the owner's database applies edits (``apply(_:by:owner:nowMilliseconds:newSecret:)``), acceptances and
/// departures to it and keeps the result; whoever is shown a share gets a part of it (``seen(by:)``).
package struct Share: Equatable, Sendable {
    /// Bytes of a secret, which nobody guesses: 160 bits.
    package static let secretByteCount = 20

    /// What a participant may do with the shared records. Raw values are CloudKit's
    /// `CKShare.ParticipantPermission`.
    package enum Permission: UInt8, Sendable {
        case none = 1
        case readOnly = 2
        case readWrite = 3
    }

    /// What the share's URL holds: random, and the same however often the root is shared again.
    package internal(set) var secret: [UInt8]

    /// What whoever has the URL may do; with `none` only who was invited may take part.
    package internal(set) var publicPermission = Permission.none

    /// Whether users who do not take part may ask to.
    package internal(set) var allowsAccessRequests = false

    /// The users who take part and the invitations, without the owner, in the order in which they came: at most
    /// ``Limits/participantsPerShare``.
    package internal(set) var participants: [ShareParticipant] = []

    /// The users who asked to take part and were not answered yet, each once: at most ``Limits/requestersPerShare``.
    package internal(set) var requesters: [ShareRequester] = []

    /// The user record names of those whose requests are not heard any more: at most
    /// ``Limits/blockedUsersPerShare``.
    package internal(set) var blockedUsers: [String] = []

    /// What participants are told is the last change; nil where it is the record's own.
    package internal(set) var shown: ShownChange?

    /// A share in which nobody but the owner takes part.
    package init(secret: [UInt8]) {
        precondition(secret.count == Self.secretByteCount, "a share's secret has another length")
        self.secret = secret
    }

    /// A share as it was kept; ``problem`` says whether it can be.
    package init(
        secret: [UInt8], publicPermission: Permission, allowsAccessRequests: Bool, participants: [ShareParticipant],
        requesters: [ShareRequester], blockedUsers: [String], shown: ShownChange? = nil
    ) {
        self.secret = secret
        self.publicPermission = publicPermission
        self.allowsAccessRequests = allowsAccessRequests
        self.participants = participants
        self.requesters = requesters
        self.blockedUsers = blockedUsers
        self.shown = shown
    }

    // MARK: Who takes part

    /// The participant that a user is, if they have accepted.
    package func participant(ofUser user: String) -> ShareParticipant? {
        participants.first { $0.isAccepted && $0.user == user }
    }

    /// What a user may do who is not the owner.
    package func permission(ofUser user: String) -> Permission {
        participant(ofUser: user)?.permission ?? .none
    }

    func isBlocked(_ user: String) -> Bool { blockedUsers.contains(user) }

    // MARK: Who sees what

    /// The kind of user who is shown a share.
    package enum Viewer: Sendable {
        /// The owner, or an administrator.
        case manager
        /// A user who takes part, by record name.
        case participant(String)
        /// A user who has a URL and does not take part, and what the URL holds.
        case linkHolder(ShareVisitor, secret: [UInt8])
    }

    /// What a user is who takes part, as long as they do; nil for anybody else.
    package func viewer(_ user: String, owner: String) -> Viewer? {
        if user == owner { return .manager }
        guard let participant = participant(ofUser: user) else { return nil }
        return participant.role == .administrator ? .manager : .participant(user)
    }

    /// Whether a user may change the share: its owner and administrators.
    package func isManaged(by user: String, owner: String) -> Bool {
        if case .manager = viewer(user, owner: owner) { true } else { false }
    }

    /// What of the share a viewer is shown: managers see all of it; participants those who have accepted, without what
    /// these were invited by; and who has a URL sees that URL's secret and their own invitation.
    ///
    /// Nobody is shown the positions of acceptances, which tell how often the owner writes: those that are there are
    /// ``ChangePosition/start``.
    package func seen(by viewer: Viewer) -> Share {
        var seen = self
        switch viewer {
        case .manager: break
        case .participant(let user):
            seen.participants = participants.compactMap { participant in
                guard participant.isAccepted else { return nil }
                return participant.user == user ? participant : participant.withoutInvitation
            }
        case .linkHolder(let visitor, let secret):
            seen.secret = secret
            seen.participants = invitation(of: visitor, through: secret).map { [$0.merged] } ?? []
        }
        if case .manager = viewer {} else { (seen.requesters, seen.blockedUsers) = ([], []) }
        seen.shown = nil
        for index in seen.participants.indices where seen.participants[index].isAccepted {
            seen.participants[index].acceptance = .start
        }
        return seen
    }
}
