/// What a user is to a share whose URL they have.
package enum ShareStanding: Equatable, Sendable {
    case owner
    /// They take part.
    case accepted(ShareParticipant)
    /// They were invited, and have not accepted.
    case invited(ShareParticipant)
    /// Nobody invited them, and the URL is enough.
    case welcome
    /// Somebody was invited by a handle, which may be a handle of theirs that the server does not know.
    case mayNeedVerification
    /// The share does not exist for them.
    case stranger
}

extension Share {
    /// Whether the secret of a URL leads to this share: its own, or that of an invitation for whoever comes first, for
    /// whom it goes on to do so.
    package func isOpened(by secret: [UInt8]) -> Bool {
        Self.isEqual(secret, self.secret) || participants.contains { $0.isOpened(by: secret) }
    }

    /// What a user is to the share who comes with a URL of it.
    ///
    /// - Parameter secret: What the URL holds.
    package func standing(of visitor: ShareVisitor, through secret: [UInt8], owner: String) -> ShareStanding {
        if visitor.user == owner { return .owner }
        guard isOpened(by: secret) else { return .stranger }
        if let participant = participant(ofUser: visitor.user) { return .accepted(participant) }
        if let invitation = invitation(of: visitor, through: secret) { return .invited(invitation.merged) }
        // A one-time URL leads nowhere else; who has it and comes too late is told nothing.
        guard Self.isEqual(secret, self.secret) else { return .stranger }
        // A blocked user is told what any other is who was not invited, and so not that they are blocked.
        if publicPermission != .none, !isBlocked(visitor.user) { return .welcome }
        let isAnybodyInvited = participants.contains { participant in
            !participant.isAccepted
                && participant.invitees.contains { if case .handle = $0 { true } else { false } }
        }
        return isAnybodyInvited ? .mayNeedVerification : .stranger
    }

    /// A user comes to take part.
    ///
    /// - Parameters:
    ///   - secret: What the URL holds that they came by.
    ///   - position: Of the commit that makes the acceptance durable.
    ///   - newID: Makes a participant's id, for somebody whom nobody invited.
    /// - Returns: Whether anything is different: accepting twice is no change, unless there is another invitation.
    /// - Throws: `invalidArguments` for the owner; `participantMayNeedVerification`, or `unknownItem` as for a URL that
    ///   never was, for whoever may not take part; `tooManyParticipants`.
    package mutating func accept(
        _ visitor: ShareVisitor, through secret: [UInt8], owner: String, at position: ChangePosition,
        nowMilliseconds: Int64, newID: () -> String
    ) throws(ServiceError) -> Bool {
        switch standing(of: visitor, through: secret, owner: owner) {
        case .owner: throw Self.isOwn
        case .stranger: throw Self.unknownURL
        case .mayNeedVerification: throw Self.mayNeedVerification
        case .accepted(var participant):
            // Not by a secret: whoever takes part leaves one-time URLs to others.
            guard let invitation = invitation(of: visitor, through: self.secret) else { return false }
            participant.merge(invitation.merged)
            replace(invitation.ids.union([participant.id]), by: participant)
        case .welcome:
            guard participants.count < Limits.participantsPerShare else { throw Self.tooManyParticipants }
            participants.append(
                ShareParticipant(
                    id: newID(), invitees: [], user: visitor.user, role: .publicUser, permission: publicPermission,
                    acceptance: position, addedMilliseconds: nowMilliseconds))
        case .invited(var participant):
            guard let invitation = invitation(of: visitor, through: secret) else {
                preconditionFailure("an invitation went while it was accepted")
            }
            participant.user = visitor.user
            participant.acceptance = position
            replace(invitation.ids, by: participant)
        }
        requesters.removeAll { $0.user == visitor.user }
        return true
    }

    /// A user takes part no longer, by their own wish, and gives back the invitations that they have not accepted.
    /// Returns whether they took part.
    package mutating func leave(_ visitor: ShareVisitor) -> Bool {
        guard let participant = participant(ofUser: visitor.user) else { return false }
        participants.removeAll { $0.id == participant.id || $0.invites(visitor) }
        return true
    }

    /// What came of a user's wish to take part. Only the owner and administrators learn which of the first two it was.
    package enum AccessRequestOutcome: Equatable, Sendable {
        case noted
        case ignored
        case alreadyInvited
    }

    /// A user asks to take part.
    package mutating func requestAccess(
        _ visitor: ShareVisitor, through secret: [UInt8], owner: String, nowMilliseconds: Int64
    ) -> AccessRequestOutcome {
        switch standing(of: visitor, through: secret, owner: owner) {
        case .owner, .accepted, .invited: return .alreadyInvited
        case .welcome: return .ignored
        case .mayNeedVerification, .stranger:
            guard allowsAccessRequests, Self.isEqual(secret, self.secret), !isBlocked(visitor.user),
                requesters.count < Limits.requestersPerShare,
                !requesters.contains(where: { $0.user == visitor.user })
            else { return .ignored }
            requesters.append(ShareRequester(user: visitor.user, requestedMilliseconds: nowMilliseconds))
            return .noted
        }
    }

    // MARK: Invitations

    /// All pending invitations of a user as one, which grants the most that any of them does and has the id of the
    /// first, and the ids of all: what they accept is then what a removal takes. Nil for a blocked user.
    ///
    /// - Parameter secret: That of the URL that they come with: an invitation for whoever comes first is theirs.
    func invitation(
        of visitor: ShareVisitor, through secret: [UInt8]
    ) -> (merged: ShareParticipant, ids: Set<String>)? {
        let theirs = participants.filter { !$0.isAccepted && ($0.invites(visitor) || $0.isOpened(by: secret)) }
        guard var merged = theirs.first, !isBlocked(visitor.user) else { return nil }
        for other in theirs.dropFirst() { merged.merge(other) }
        return (merged, Set(theirs.map(\.id)))
    }

    /// Puts a participant in the place of itself and others.
    private mutating func replace(_ ids: Set<String>, by participant: ShareParticipant) {
        participants.removeAll { $0.id != participant.id && ids.contains($0.id) }
        guard let index = participants.firstIndex(where: { $0.id == participant.id }) else {
            preconditionFailure("a participant went while it was changed")
        }
        participants[index] = participant
    }

    /// In a time that does not tell how much of a guess was right.
    package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    // MARK: Refusals

    private static let isOwn = ServiceError(
        .invalidArguments, "the share is the user's own; its zone is in their private database")

    /// What every URL that opens nothing is answered with, whatever the reason.
    package static let unknownURL = ServiceError(
        .unknownItem, "there is no share at this URL for this user; ask its owner for an invitation")

    package static let mayNeedVerification = ServiceError(
        .participantMayNeedVerification,
        "the share is for those who were invited: have the server's operator enter the e-mail address or phone number"
            + " that the invitation names for this account, or ask its owner for an invitation of another kind")
}
