package import BrumeModel
internal import CBrumeProto

/// A share as it stands in the bytes of its record: an encoded `brume.store.v1.StoredShare`.
package enum ShareCoder {
    /// A share in memory takes at most this many times its bytes: the worst is a list of empty messages.
    private static let arenaBytesPerByte = 128

    package static func encode(_ share: Share) -> [UInt8] {
        let arena = MessageArena(bytesLimit: .max)
        return withExtendedLifetime(arena) {
            let message = arena.make(brume__store__v1__stored_share__init)
            message.pointee.secret = arena.data(share.secret)
            message.pointee.public_permission = UInt32(share.publicPermission.rawValue)
            message.pointee.allows_access_requests = share.allowsAccessRequests ? 1 : 0
            message.pointee.n_participants = share.participants.count
            message.pointee.participants = arena.messages(share.participants) { arena.participant($0) }
            message.pointee.n_requesters = share.requesters.count
            message.pointee.requesters = arena.messages(share.requesters) { requester in
                let message = arena.make(brume__store__v1__stored_requester__init)
                message.pointee.user = arena.data(requester.user)
                message.pointee.requested_milliseconds = requester.requestedMilliseconds
                return message
            }
            message.pointee.n_blocked_users = share.blockedUsers.count
            message.pointee.blocked_users = arena.list(share.blockedUsers)
            if let shown = share.shown { message.pointee.shown = arena.shownChange(shown) }
            return packed(message)
        }
    }

    /// Throws `internalError` for bytes that are no share that the server could have made.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Share {
        let arena = MessageArena(bytesLimit: 64 * 1024 + bytes.count * arenaBytesPerByte)
        defer { withExtendedLifetime(arena) {} }
        guard let message = arena.unpack(brume__store__v1__stored_share__unpack, bytes) else {
            throw damaged("it is no protobuf message")
        }
        try check(message)
        let share = Share(
            secret: message.pointee.secret.array,
            publicPermission: try permission(message.pointee.public_permission),
            allowsAccessRequests: message.pointee.allows_access_requests != 0,
            participants: try values(message.pointee.participants, message.pointee.n_participants) {
                (message) throws(ServiceError) in
                try check(message)
                return try participant(message.pointee)
            },
            requesters: try values(message.pointee.requesters, message.pointee.n_requesters) {
                (message) throws(ServiceError) in
                try check(message)
                return ShareRequester(
                    user: try user(message.pointee.user), requestedMilliseconds: message.pointee.requested_milliseconds)
            },
            blockedUsers: try UnsafeBufferPointer(
                start: message.pointee.blocked_users, count: message.pointee.n_blocked_users
            ).map { (data) throws(ServiceError) in try user(data) },
            shown: try message.pointee.shown.map { (message) throws(ServiceError) in try shownChange(message) })
        if let problem = share.problem { throw damaged(problem) }
        return share
    }

    /// What of a share those are shown who take part and don't manage it: without the invitations that nobody has
    /// accepted, requests and blocks. They are passed over as bytes, so that what is hidden takes next to no time, and
    /// none of it tells how much there is.
    package static func decodeFront(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Share {
        var front: [UInt8] = []
        var reader = WireReader(bytes)
        while true {
            let element: WireReader.Element?
            do throws(WireReader.Damage) {
                element = try reader.next()
            } catch {
                throw damaged("it is no protobuf message")
            }
            guard let element else { break }
            if element.number == Numbers.requesters || element.number == Numbers.blockedUsers { continue }
            if element.number == Numbers.participants, !isAccepted(element.content) { continue }
            front.append(contentsOf: bytes[element.range])
        }
        return try front.withUnsafeBytes { bytes in Result { () throws(ServiceError) in try decode(bytes) } }.get()
    }

    private static func isAccepted(_ participant: UnsafeRawBufferPointer) -> Bool {
        var reader = WireReader(participant)
        while let element = try? reader.next() {
            if element.number == Numbers.acceptance { return element.scalar != 0 }
        }
        return false
    }

    /// Fields of `StoredShare`, and of `StoredParticipant`.
    private enum Numbers {
        static let participants: UInt64 = 4
        static let requesters: UInt64 = 5
        static let blockedUsers: UInt64 = 6
        static let acceptance: UInt64 = 6
    }

    private static func shownChange(
        _ message: MessageArena.Pointer<Brume__Store__V1__StoredShownChange>
    ) throws(ServiceError) -> ShownChange {
        try check(message)
        let change = ShownChange(
            position: ChangePosition(rawValue: message.pointee.position),
            changeTag: try text(message.pointee.change_tag, "a change tag"),
            modifier: try user(message.pointee.modifier), modifiedMilliseconds: message.pointee.modified_milliseconds)
        if change.position == .start || change.changeTag.isEmpty { throw damaged("a change of it is none") }
        return change
    }

    private static func participant(
        _ message: Brume__Store__V1__StoredParticipant
    ) throws(ServiceError) -> ShareParticipant {
        guard let role = UInt8(exactly: message.role).flatMap(ShareParticipant.Role.init) else {
            throw damaged("a participant has a role that this version doesn't know")
        }
        return ShareParticipant(
            id: try text(message.id, "a participant's id"),
            invitees: try values(message.invitees, message.n_invitees) { (message) throws(ServiceError) in
                try check(message)
                return try invitee(message.pointee)
            },
            user: message.user.len == 0 ? "" : try user(message.user), role: role,
            permission: try permission(message.permission),
            acceptance: message.acceptance == 0 ? nil : ChangePosition(rawValue: message.acceptance),
            addedMilliseconds: message.added_milliseconds, isApprovedRequester: message.is_approved_requester != 0)
    }

    private static func invitee(
        _ message: Brume__Store__V1__StoredInvitee
    ) throws(ServiceError) -> ShareParticipant.Invitee {
        switch message.kind_case {
        case BRUME__STORE__V1__STORED_INVITEE__KIND_EMAIL:
            return .handle(.email(try text(message.email, "an e-mail address")))
        case BRUME__STORE__V1__STORED_INVITEE__KIND_PHONE:
            return .handle(.phone(try text(message.phone, "a phone number")))
        case BRUME__STORE__V1__STORED_INVITEE__KIND_USER:
            return .user(try user(message.user))
        case BRUME__STORE__V1__STORED_INVITEE__KIND_ONE_TIME_SECRET:
            guard message.one_time_secret.len == Share.secretByteCount else {
                throw damaged("the secret of a one-time URL has another length")
            }
            return .oneTime(secret: message.one_time_secret.array)
        default: throw damaged("somebody was invited in a way that this version doesn't know")
        }
    }

    private static func user(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        let user = try text(data, "a user record name")
        guard Names.isUserRecordName(user) else { throw damaged("a user's record name is none") }
        return user
    }

    private static func permission(_ raw: UInt32) throws(ServiceError) -> Share.Permission {
        guard let permission = UInt8(exactly: raw).flatMap(Share.Permission.init) else {
            throw damaged("it grants something that this version doesn't know")
        }
        return permission
    }

    /// What a later version writes and this one does not know would be lost with the next save, and may have been a
    /// limit to what is granted.
    private static func check<Message>(_ message: UnsafeMutablePointer<Message>) throws(ServiceError) {
        let base = UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self)
        if base.pointee.n_unknown_fields > 0 { throw damaged("it says something that this version doesn't know") }
    }

    private static func text(_ data: ProtobufCBinaryData, _ kind: StaticString) throws(ServiceError) -> String {
        guard let text = data.text else { throw damaged("\(kind) is not valid UTF-8") }
        return text
    }

    private static func damaged(_ reason: String) -> ServiceError {
        ServiceError(.internalError, "a share can't be read: \(reason)")
    }
}

extension MessageArena {
    fileprivate func participant(_ participant: ShareParticipant) -> Pointer<Brume__Store__V1__StoredParticipant> {
        let message = make(brume__store__v1__stored_participant__init)
        message.pointee.id = data(participant.id)
        message.pointee.n_invitees = participant.invitees.count
        message.pointee.invitees = messages(participant.invitees) { invitee($0) }
        message.pointee.user = data(participant.user)
        message.pointee.role = UInt32(participant.role.rawValue)
        message.pointee.permission = UInt32(participant.permission.rawValue)
        message.pointee.acceptance = participant.acceptance?.rawValue ?? 0
        message.pointee.added_milliseconds = participant.addedMilliseconds
        message.pointee.is_approved_requester = participant.isApprovedRequester ? 1 : 0
        return message
    }

    fileprivate func shownChange(_ change: ShownChange) -> Pointer<Brume__Store__V1__StoredShownChange> {
        let message = make(brume__store__v1__stored_shown_change__init)
        message.pointee.position = change.position.rawValue
        message.pointee.change_tag = data(change.changeTag)
        message.pointee.modifier = data(change.modifier)
        message.pointee.modified_milliseconds = change.modifiedMilliseconds
        return message
    }

    private func invitee(_ invitee: ShareParticipant.Invitee) -> Pointer<Brume__Store__V1__StoredInvitee> {
        let message = make(brume__store__v1__stored_invitee__init)
        switch invitee {
        case .handle(.email(let address)):
            message.pointee.kind_case = BRUME__STORE__V1__STORED_INVITEE__KIND_EMAIL
            message.pointee.email = data(address)
        case .handle(.phone(let number)):
            message.pointee.kind_case = BRUME__STORE__V1__STORED_INVITEE__KIND_PHONE
            message.pointee.phone = data(number)
        case .user(let user):
            message.pointee.kind_case = BRUME__STORE__V1__STORED_INVITEE__KIND_USER
            message.pointee.user = data(user)
        case .oneTime(let secret):
            message.pointee.kind_case = BRUME__STORE__V1__STORED_INVITEE__KIND_ONE_TIME_SECRET
            message.pointee.one_time_secret = data(secret)
        }
        return message
    }
}
