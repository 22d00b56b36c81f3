extension Share {
    /// Changes the share as the owner or an administrator asks for, or not at all. In this order: the public
    /// permission, removals, participants, requests. Whoever else takes part may remove themselves and nothing else.
    ///
    /// - Parameters:
    ///   - editor: The user who saves the share.
    ///   - owner: The zone's owner, who always takes part and may do everything.
    ///   - newSecret: Makes a secret of ``secretByteCount`` random bytes, for a one-time URL.
    /// - Returns: Whether anything is different.
    /// - Throws: `permissionFailure` for anybody else, and for whoever would change the owner's part;
    ///   `tooManyParticipants`, `limitExceeded` and `invalidArguments` for what can't be.
    package mutating func apply(
        _ edit: ShareEdit, by editor: ShareVisitor, owner: String, nowMilliseconds: Int64, newSecret: () -> [UInt8]
    ) throws(ServiceError) -> Bool {
        if edit == ShareEdit() { return false }
        if edit.changeCount > Limits.shareChangesPerRequest { throw Self.tooManyChanges }
        // Before any is compared: what is not ASCII may take long.
        if let problem = edit.problem(owner: owner) { throw problem }
        guard isManaged(by: editor.user, owner: owner) else { return try leave(edit, editor) }
        var edited = self
        if let permission = edit.publicPermission { edited.setPublicPermission(permission) }
        if let allows = edit.allowsAccessRequests { edited.allowsAccessRequests = allows }
        edited.remove(Set(edit.removals))
        for put in edit.puts { try edited.apply(put, nowMilliseconds: nowMilliseconds, newSecret: newSecret) }
        edited.answer(Set(edit.puts.compactMap { if case .user(let user) = $0.invitee { user } else { nil } }))
        try edited.answerRequests(edit)
        if edited == self { return false }
        self = edited
        return true
    }

    /// What participants may do: `CKShare.removeParticipant(_:)` with themselves, or take all that they may do from
    /// themselves, and save. What stays as it is may come with it.
    private mutating func leave(_ edit: ShareEdit, _ editor: ShareVisitor) throws(ServiceError) -> Bool {
        var edit = edit
        if edit.publicPermission == publicPermission { edit.publicPermission = nil }
        if edit.allowsAccessRequests == allowsAccessRequests { edit.allowsAccessRequests = nil }
        if edit == ShareEdit() { return false }
        guard let own = participant(ofUser: editor.user) else { throw Self.notManager }
        var leaving = ShareEdit()
        if edit.puts.count == 1, edit.puts[0].id == own.id, edit.puts[0].permission == .none {
            leaving.puts = edit.puts
        } else {
            leaving.removals = [own.id]
        }
        guard edit == leaving else { throw Self.notManager }
        return leave(editor)
    }

    /// Invitations go with another public permission, and with none who came by the URL.
    private mutating func setPublicPermission(_ permission: Permission) {
        if permission == publicPermission { return }
        publicPermission = permission
        participants.removeAll { permission == .none ? $0.role == .publicUser : !$0.isAccepted }
        for index in participants.indices where participants[index].role == .publicUser {
            participants[index].permission = permission
        }
    }

    private mutating func remove(_ ids: Set<String>) {
        if !ids.isEmpty { participants.removeAll { ids.contains($0.id) } }
    }

    private mutating func apply(
        _ put: ShareEdit.Put, nowMilliseconds: Int64, newSecret: () -> [UInt8]
    ) throws(ServiceError) {
        guard let index = try index(of: put) else {
            return try add(put, nowMilliseconds: nowMilliseconds, newSecret: newSecret)
        }
        if put.permission == .none {
            participants.remove(at: index)
        } else if participants[index].role == .publicUser {
            guard put.role == .publicUser, put.permission == publicPermission else { throw Self.publicUserIsFixed }
        } else {
            if put.role == .publicUser { throw Self.unfitRole }
            participants[index].role = put.role
            participants[index].permission = put.permission
        }
    }

    /// The participant that is to be changed: the one of that id, or the one that is the same invitee.
    private func index(of put: ShareEdit.Put) throws(ServiceError) -> Int? {
        if let known = participants.firstIndex(where: { $0.id == put.id }) {
            if let invitee = put.invitee, !participants[known].wasMade(for: invitee) { throw Self.otherInvitee }
            return known
        }
        guard let invitee = put.invitee else { return nil }
        return participants.firstIndex { $0.isNow(invitee) }
    }

    private mutating func add(
        _ put: ShareEdit.Put, nowMilliseconds: Int64, newSecret: () -> [UInt8]
    ) throws(ServiceError) {
        // Gone meanwhile, or never saved: there is nothing to take away.
        if put.permission == .none { return }
        guard let invitee = put.invitee else { throw Self.unknownParticipant }
        if publicPermission != .none { throw Self.isPublic }
        if put.role == .publicUser { throw Self.unfitRole }
        guard participants.count < Limits.participantsPerShare else { throw Self.tooManyParticipants }
        let invited: ShareParticipant.Invitee
        var isApprovedRequester = false
        switch invitee {
        case .handle(let handle): invited = .handle(handle)
        case .user(let user):
            invited = .user(user)
            isApprovedRequester = requesters.contains { $0.user == user }
        case .oneTime:
            let secret = newSecret()
            precondition(secret.count == Self.secretByteCount, "a one-time URL's secret has another length")
            invited = .oneTime(secret: secret)
        }
        participants.append(
            ShareParticipant(
                id: put.id, invitees: [invited], role: put.role, permission: put.permission,
                addedMilliseconds: nowMilliseconds, isApprovedRequester: isApprovedRequester))
    }

    /// Takes users who were invited by name off the lists of who asked and of who is blocked: they are wanted.
    private mutating func answer(_ users: Set<String>) {
        if users.isEmpty { return }
        let invited = users.filter { user in participants.contains { $0.isNow(.user(user)) } }
        requesters.removeAll { invited.contains($0.user) }
        blockedUsers.removeAll { invited.contains($0) }
    }

    private mutating func answerRequests(_ edit: ShareEdit) throws(ServiceError) {
        let blocked = Set(edit.blocks)
        let answered = blocked.union(edit.denials)
        if !answered.isEmpty { requesters.removeAll { answered.contains($0.user) } }
        if !edit.unblocks.isEmpty {
            let unblocked = Set(edit.unblocks)
            blockedUsers.removeAll { unblocked.contains($0) }
        }
        if blocked.isEmpty { return }
        participants.removeAll { participant in
            blocked.contains(participant.user)
                || participant.invitees.contains {
                    if case .user(let user) = $0 { blocked.contains(user) } else { false }
                }
        }
        var known = Set(blockedUsers)
        for user in edit.blocks where known.insert(user).inserted {
            guard blockedUsers.count < Limits.blockedUsersPerShare else { throw Self.tooManyBlocked }
            blockedUsers.append(user)
        }
    }

    // MARK: Refusals

    package static let notManager = ServiceError(
        .permissionFailure,
        "only a share's owner and its administrators change it; participants may remove themselves alone")

    private static let isPublic = ServiceError(
        .invalidArguments,
        "a share with a public permission invites nobody: give them the URL, or set the public permission to none first"
    )

    private static let unknownParticipant = ServiceError(
        .invalidArguments, "the share has no such participant; fetch the share again")

    private static let otherInvitee = ServiceError(
        .invalidArguments, "a participant can't become another user; remove the one and add the other under a new id")

    private static let publicUserIsFixed = ServiceError(
        .invalidArguments,
        "a public user may do what the share's public permission says; change that, or remove the participant")

    private static let unfitRole = ServiceError(
        .invalidArguments, "who is invited becomes a private user or an administrator; public users come by the URL")

    private static let tooManyBlocked = ServiceError(
        .limitExceeded, "a share blocks \(Limits.blockedUsersPerShare) users at most; unblock some first")

    private static let tooManyChanges = ServiceError(
        .limitExceeded,
        "a request changes \(Limits.shareChangesPerRequest) participants and requests of shares at most; split it")

    static let tooManyParticipants = ServiceError(
        .tooManyParticipants,
        "a share has \(Limits.participantsPerShare) participants beside its owner at most, invited ones included")
}

extension ShareParticipant {
    /// Whether the participant was made for somebody, maybe among others.
    fileprivate func wasMade(for other: ShareEdit.Put.Invitee) -> Bool {
        invitees.contains { invitee in
            switch (other, invitee) {
            case (.handle(let handle), .handle(let own)): handle.hasBytes(of: own)
            case (.user(let user), .user(let own)): user == own
            case (.oneTime, .oneTime): true
            default: false
            }
        } || other == .user(user)
    }

    /// Whether the participant is somebody now: an invitation by handle is that until it has been accepted, since the
    /// handle may be another user's then; and of several invitations for whoever comes first none is the other.
    fileprivate func isNow(_ other: ShareEdit.Put.Invitee) -> Bool {
        switch other {
        case .handle: !isAccepted && wasMade(for: other)
        case .user: wasMade(for: other)
        case .oneTime: false
        }
    }
}

extension Handle {
    /// Whether both are the same bytes, which every save asks for each participant. Two spellings of one letter are
    /// two invitations, which become one when their user accepts.
    func hasBytes(of other: Handle) -> Bool {
        switch (self, other) {
        case (.email(let one), .email(let other)), (.phone(let one), .phone(let other)):
            one.withUTF8Bytes { one in other.withUTF8Bytes { ByteOrder.isEqual(one, $0) } }
        default: false
        }
    }
}
