package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Rings.Join` and `Rings.FetchStatements`: who asks for a ring's keys, and what is known of their own.
extension MessageCoder {
    // MARK: The server's side

    package func decodeJoinRingRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> JoinRingRequest {
        let message = try request(brume__v1__join_ring_request__unpack, bytes)
        let (invitationID, proof) = (message.pointee.invitation_id.array, message.pointee.proof.array)
        guard
            invitationID.isEmpty && proof.isEmpty
                || invitationID.count == Limits.ringInvitationIDBytes && proof.count == Limits.ringProofBytes
        else {
            throw ServiceError(
                .invalidArguments,
                "a guest's invitation has \(Limits.ringInvitationIDBytes) bytes, and its proof"
                    + " \(Limits.ringProofBytes); or there is neither")
        }
        return JoinRingRequest(
            zone: try ZoneCoder.checked(message.pointee.zone), root: try ringRoot(message.pointee.root),
            statements: try guestStatements(message.pointee.statements, message.pointee.n_statements),
            invitationID: invitationID, proof: proof)
    }

    package func encodeJoinRingResponse() -> [UInt8] { [] }

    package func decodeFetchRingStatementsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> FetchRingStatementsRequest {
        let message = try request(brume__v1__fetch_ring_statements_request__unpack, bytes)
        let user = try text(message.pointee.user, "a user record name")
        guard Names.isUserRecordName(user) else {
            throw ServiceError(.invalidArguments, "the request names no user; a user record name belongs there")
        }
        return FetchRingStatementsRequest(
            zone: try ZoneCoder.checked(message.pointee.zone), user: user, after: message.pointee.after)
    }

    package func encodeFetchRingStatementsResponse(_ page: StatementsPage) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_ring_statements_response__init)
            message.pointee.n_statements = page.statements.count
            message.pointee.statements = arena.list(page.statements)
            message.pointee.last = page.last
            return message
        }
    }

    /// The record name of a tree's root; empty for the zone's own ring.
    func ringRoot(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        let root = try text(data, "a record name")
        if !root.isEmpty, let problem = Names.problemWithRecordName(root) {
            throw ServiceError(.invalidArguments, problem)
        }
        return root
    }

    /// Signed statements that come with what they are for.
    func guestStatements(
        _ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int
    ) throws(ServiceError) -> [SharedBytes] {
        guard let list, count > 0 else { return [] }
        guard count <= Limits.ringStatementsPerRequest else {
            throw ServiceError(
                .limitExceeded,
                "the request has \(count) statements; the limit is \(Limits.ringStatementsPerRequest): send the first"
                    + " ones before")
        }
        var statements: [SharedBytes] = []
        for place in 0..<count {
            let statement = list[place]
            guard statement.len > 0 else {
                throw ServiceError(.invalidArguments, "a statement of the request is empty; signed ones belong there")
            }
            guard statement.len <= Limits.statementBytes else {
                throw ServiceError(
                    .limitExceeded,
                    "a statement has \(statement.len) bytes; the limit is \(Limits.statementBytes)")
            }
            statements.append(SharedBytes(statement.array))
        }
        return statements
    }

    // MARK: The client's side

    package func encodeJoinRingRequest(_ request: JoinRingRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__join_ring_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.root = arena.data(request.root)
            message.pointee.n_statements = request.statements.count
            message.pointee.statements = arena.list(request.statements)
            message.pointee.invitation_id = arena.data(request.invitationID)
            message.pointee.proof = arena.data(request.proof)
            return message
        }
    }

    package func decodeJoinRingResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        _ = try answer(brume__v1__join_ring_response__unpack, bytes)
    }

    package func encodeFetchRingStatementsRequest(_ request: FetchRingStatementsRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_ring_statements_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.user = arena.data(request.user)
            message.pointee.after = request.after
            return message
        }
    }

    package func decodeFetchRingStatementsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> StatementsPage {
        let message = try answer(brume__v1__fetch_ring_statements_response__unpack, bytes)
        return StatementsPage(
            statements: (0..<message.pointee.n_statements).map { SharedBytes(message.pointee.statements[$0].array) },
            last: message.pointee.last)
    }

    func ringGuest(_ message: UnsafeMutablePointer<Brume__V1__RingGuest>) throws(ServiceError) -> RingGuest {
        RingGuest(
            user: try text(message.pointee.user, "a user record name"),
            statementHash: message.pointee.statement_hash.array, invitationID: message.pointee.invitation_id.array,
            proof: message.pointee.proof.array, mayWrite: message.pointee.may_write != 0)
    }

    func users(_ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int) throws(ServiceError) -> [String] {
        guard let list else { return [] }
        return try (0..<count).map { place throws(ServiceError) in try text(list[place], "a user record name") }
    }
}

extension MessageArena {
    func ringGuest(_ guest: RingGuest) -> Pointer<Brume__V1__RingGuest> {
        let message = make(brume__v1__ring_guest__init)
        message.pointee.user = data(guest.user)
        message.pointee.statement_hash = data(guest.statementHash)
        message.pointee.invitation_id = data(guest.invitationID)
        message.pointee.proof = data(guest.proof)
        message.pointee.may_write = guest.mayWrite ? 1 : 0
        return message
    }
}
