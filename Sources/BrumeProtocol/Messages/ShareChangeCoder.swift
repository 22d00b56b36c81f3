internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// What a save says of a share beside its record's fields: a `brume.v1.ShareChange`.
extension MessageCoder {
    /// Reads it. Throws why the save of the share fails; whether names and ids can be is checked by ``Share``.
    func shareSave(
        _ change: UnsafeMutablePointer<Brume__V1__ShareChange>
    ) throws(ServiceError) -> ShareSave {
        var edit = ShareEdit()
        if change.pointee.public_permission != 0 {
            edit.publicPermission = try permission(change.pointee.public_permission)
        }
        switch change.pointee.access_requests {
        case BRUME__V1__ACCESS_REQUESTS__ACCESS_REQUESTS_UNCHANGED: break
        case BRUME__V1__ACCESS_REQUESTS__ACCESS_REQUESTS_REFUSED: edit.allowsAccessRequests = false
        case BRUME__V1__ACCESS_REQUESTS__ACCESS_REQUESTS_ALLOWED: edit.allowsAccessRequests = true
        default: throw ServiceError(.invalidArguments, "a share's access requests are 0, 1 or 2")
        }
        edit.removals = try texts(
            change.pointee.removals, change.pointee.n_removals, "the id of a participant to remove")
        edit.puts = try values(change.pointee.participants, change.pointee.n_participants) {
            (participant) throws(ServiceError) in try self.put(participant.pointee)
        }
        edit.denials = try texts(change.pointee.denials, change.pointee.n_denials, "a user to deny")
        edit.blocks = try texts(change.pointee.blocks, change.pointee.n_blocks, "a user to block")
        edit.unblocks = try texts(change.pointee.unblocks, change.pointee.n_unblocks, "a user to unblock")
        return ShareSave(root: try text(change.pointee.root, "the root of a share"), edit: edit)
    }

    private func put(_ message: Brume__V1__ParticipantChange) throws(ServiceError) -> ShareEdit.Put {
        var invitee: ShareEdit.Put.Invitee?
        switch message.invitee_case {
        case BRUME__V1__PARTICIPANT_CHANGE__INVITEE_EMAIL:
            guard let handle = Handle(email: try text(message.email, "a participant's e-mail address")) else {
                throw ServiceError(.invalidArguments, Handle.emailForm)
            }
            invitee = .handle(handle)
        case BRUME__V1__PARTICIPANT_CHANGE__INVITEE_PHONE:
            guard let handle = Handle(phone: try text(message.phone, "a participant's phone number")) else {
                throw ServiceError(.invalidArguments, Handle.phoneForm)
            }
            invitee = .handle(handle)
        case BRUME__V1__PARTICIPANT_CHANGE__INVITEE_USER:
            invitee = .user(try text(message.user, "a participant's user record name"))
        case BRUME__V1__PARTICIPANT_CHANGE__INVITEE_ONE_TIME where message.one_time != 0: invitee = .oneTime
        default: break
        }
        guard let role = UInt8(exactly: message.role).flatMap(ShareParticipant.Role.init) else {
            throw ServiceError(
                .invalidArguments, "a participant's role is \(message.role); use 2, 3 or 4, the owner's stays")
        }
        return ShareEdit.Put(
            id: try text(message.id, "a participant's id"), invitee: invitee, role: role,
            permission: try permission(message.permission))
    }

    private func permission(_ raw: UInt32) throws(ServiceError) -> Share.Permission {
        guard let permission = UInt8(exactly: raw).flatMap(Share.Permission.init) else {
            throw ServiceError(
                .invalidArguments,
                "a share grants \(raw); use 1 for nothing, 2 to let others read, 3 to let them write, too")
        }
        return permission
    }
}

extension MessageArena {
    /// Writes it.
    func shareChange(_ save: ShareSave) -> Pointer<Brume__V1__ShareChange> {
        let edit = save.edit
        let message = make(brume__v1__share_change__init)
        message.pointee.root = data(save.root)
        message.pointee.public_permission = edit.publicPermission.map { UInt32($0.rawValue) } ?? 0
        switch edit.allowsAccessRequests {
        case nil: break
        case false?: message.pointee.access_requests = BRUME__V1__ACCESS_REQUESTS__ACCESS_REQUESTS_REFUSED
        case true?: message.pointee.access_requests = BRUME__V1__ACCESS_REQUESTS__ACCESS_REQUESTS_ALLOWED
        }
        message.pointee.n_removals = edit.removals.count
        message.pointee.removals = list(edit.removals)
        message.pointee.n_participants = edit.puts.count
        message.pointee.participants = messages(edit.puts) { put($0) }
        message.pointee.n_denials = edit.denials.count
        message.pointee.denials = list(edit.denials)
        message.pointee.n_blocks = edit.blocks.count
        message.pointee.blocks = list(edit.blocks)
        message.pointee.n_unblocks = edit.unblocks.count
        message.pointee.unblocks = list(edit.unblocks)
        return message
    }

    private func put(_ put: ShareEdit.Put) -> Pointer<Brume__V1__ParticipantChange> {
        let message = make(brume__v1__participant_change__init)
        message.pointee.id = data(put.id)
        switch put.invitee {
        case .handle(.email(let address)):
            message.pointee.invitee_case = BRUME__V1__PARTICIPANT_CHANGE__INVITEE_EMAIL
            message.pointee.email = data(address)
        case .handle(.phone(let number)):
            message.pointee.invitee_case = BRUME__V1__PARTICIPANT_CHANGE__INVITEE_PHONE
            message.pointee.phone = data(number)
        case .user(let user):
            message.pointee.invitee_case = BRUME__V1__PARTICIPANT_CHANGE__INVITEE_USER
            message.pointee.user = data(user)
        case .oneTime:
            message.pointee.invitee_case = BRUME__V1__PARTICIPANT_CHANGE__INVITEE_ONE_TIME
            message.pointee.one_time = 1
        case nil: break
        }
        message.pointee.role = UInt32(put.role.rawValue)
        message.pointee.permission = UInt32(put.permission.rawValue)
        return message
    }
}
