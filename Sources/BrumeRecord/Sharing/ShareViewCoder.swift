package import BrumeModel
internal import CBrumeProto

/// What a client is shown of a share: a `brume.v1.Share`.
package enum ShareViewCoder {
    package static func encode(_ view: ShareView) -> [UInt8] {
        let arena = MessageArena(bytesLimit: .max)
        return withExtendedLifetime(arena) {
            let message = arena.make(brume__v1__share__init)
            message.pointee.url = arena.data(view.url)
            message.pointee.public_permission = UInt32(view.publicPermission.rawValue)
            message.pointee.allows_access_requests = view.allowsAccessRequests ? 1 : 0
            message.pointee.n_participants = view.participants.count
            message.pointee.participants = arena.messages(view.participants) { arena.participant($0) }
            message.pointee.n_requesters = view.requesters.count
            message.pointee.requesters = arena.messages(view.requesters) { requester in
                let message = arena.make(brume__v1__share_requester__init)
                message.pointee.user = arena.data(requester.user)
                message.pointee.requested_milliseconds = requester.requestedMilliseconds
                return message
            }
            message.pointee.n_blocked_users = view.blockedUsers.count
            message.pointee.blocked_users = arena.list(view.blockedUsers)
            return packed(message)
        }
    }

    /// Throws `internalError` for bytes that are no share, and for roles and permissions that this version does not
    /// know: what is not understood must not be taken for something else.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, arena: MessageArena
    ) throws(ServiceError) -> ShareView {
        guard let message = arena.unpack(brume__v1__share__unpack, bytes) else {
            throw StoredRecord.damaged("its share is no protobuf message, or too large to decode")
        }
        let view = ShareView(
            url: try text(message.pointee.url), publicPermission: try permission(message.pointee.public_permission),
            allowsAccessRequests: message.pointee.allows_access_requests != 0,
            participants: try values(message.pointee.participants, message.pointee.n_participants) {
                (participant) throws(ServiceError) in try self.participant(participant.pointee)
            },
            requesters: try values(message.pointee.requesters, message.pointee.n_requesters) {
                (requester) throws(ServiceError) in
                ShareRequester(
                    user: try user(requester.pointee.user),
                    requestedMilliseconds: requester.pointee.requested_milliseconds)
            },
            blockedUsers: try UnsafeBufferPointer(
                start: message.pointee.blocked_users, count: message.pointee.n_blocked_users
            ).map { (data) throws(ServiceError) in try user(data) })
        guard view.participants.first?.role == .owner else {
            throw StoredRecord.damaged("its share does not begin with its owner")
        }
        return view
    }

    private static func participant(
        _ message: Brume__V1__ShareParticipant
    ) throws(ServiceError) -> ShareView.Participant {
        guard let role = UInt8(exactly: message.role).flatMap(ShareView.Role.init) else {
            throw StoredRecord.damaged("a participant has a role that this version does not know")
        }
        let id = try text(message.id)
        guard Names.isParticipantID(id) else { throw StoredRecord.damaged("a participant has no id") }
        var handle: Handle?
        if message.email.len > 0 { handle = .email(try text(message.email)) }
        if message.phone.len > 0 { handle = .phone(try text(message.phone)) }
        return ShareView.Participant(
            id: id, role: role, permission: try permission(message.permission),
            isAccepted: message.is_accepted != 0, user: message.user.len == 0 ? "" : try user(message.user),
            handle: handle, addedMilliseconds: message.added_milliseconds,
            isApprovedRequester: message.is_approved_requester != 0, oneTimeURL: try text(message.one_time_url))
    }

    private static func permission(_ raw: UInt32) throws(ServiceError) -> Share.Permission {
        guard let permission = UInt8(exactly: raw).flatMap(Share.Permission.init) else {
            throw StoredRecord.damaged("its share grants something that this version does not know")
        }
        return permission
    }

    private static func user(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        let name = try text(data)
        guard Names.isUserRecordName(name) else {
            throw StoredRecord.damaged("a user of its share has no user record name")
        }
        return name
    }

    private static func text(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        guard let text = data.text else { throw StoredRecord.damaged("a text of its share is not valid UTF-8") }
        return text
    }
}

extension MessageArena {
    fileprivate func participant(_ participant: ShareView.Participant) -> Pointer<Brume__V1__ShareParticipant> {
        let message = make(brume__v1__share_participant__init)
        message.pointee.id = data(participant.id)
        message.pointee.role = UInt32(participant.role.rawValue)
        message.pointee.permission = UInt32(participant.permission.rawValue)
        message.pointee.is_accepted = participant.isAccepted ? 1 : 0
        message.pointee.user = data(participant.user)
        switch participant.handle {
        case .email(let address): message.pointee.email = data(address)
        case .phone(let number): message.pointee.phone = data(number)
        case nil: break
        }
        message.pointee.added_milliseconds = participant.addedMilliseconds
        message.pointee.is_approved_requester = participant.isApprovedRequester ? 1 : 0
        message.pointee.one_time_url = data(participant.oneTimeURL)
        return message
    }
}
