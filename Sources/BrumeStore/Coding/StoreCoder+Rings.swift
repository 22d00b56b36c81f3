internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Entries of rings, and what is beside them of other users, in journal entries and snapshots.
extension StoreCoder {
    static func ringEntry(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingEntry>
    ) throws(StoreCodingError) -> SnapshotRingEntry {
        SnapshotRingEntry(
            zone: message.pointee.zone, root: try root(message.pointee.root),
            entry: SharedBytes(message.pointee.entry.array))
    }

    static func ringStatement(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingStatement>
    ) throws(StoreCodingError) -> SnapshotRingStatement {
        SnapshotRingStatement(
            zone: message.pointee.zone, user: try text(message.pointee.user, "a user record name"),
            chain: message.pointee.chain, statement: SharedBytes(message.pointee.statement.array))
    }

    static func ringChain(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingChain>
    ) throws(StoreCodingError) -> SnapshotRingChain {
        SnapshotRingChain(
            zone: message.pointee.zone, user: try text(message.pointee.user, "a user record name"),
            chain: message.pointee.chain)
    }

    static func ringGuest(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingGuest>
    ) throws(StoreCodingError) -> SnapshotRingGuest {
        SnapshotRingGuest(
            zone: message.pointee.zone, root: try root(message.pointee.root),
            guest: RingGuest(
                user: try text(message.pointee.user, "a user record name"),
                statementHash: message.pointee.statement_hash.array,
                invitationID: message.pointee.invitation_id.array, proof: message.pointee.proof.array))
    }

    static func ringUsers(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingUsers>
    ) throws(StoreCodingError) -> SnapshotRingUsers {
        var users: [String] = []
        for index in 0..<message.pointee.n_users {
            users.append(try text(message.pointee.users[index], "a user record name"))
        }
        return SnapshotRingUsers(zone: message.pointee.zone, users: users)
    }

    private static func root(_ data: ProtobufCBinaryData) throws(StoreCodingError) -> String {
        if data.len == 0 { return "" }
        let root = try text(data, "a record name")
        if let problem = Names.problemWithRecordName(root) { throw StoreCodingError(problem) }
        return root
    }
}

extension MessageArena {
    func ringEntry(_ entry: SnapshotRingEntry, number: UInt32) -> Pointer<Brume__Store__V1__RingEntry> {
        let message = make(brume__store__v1__ring_entry__init)
        message.pointee.zone = entry.zone
        message.pointee.root = data(entry.root)
        message.pointee.number = number
        message.pointee.entry = data(entry.entry.array)
        return message
    }

    func ringEntry(_ entry: SnapshotRingEntry) -> Pointer<Brume__Store__V1__RingEntry> { ringEntry(entry, number: 0) }

    func ringStatement(
        _ statement: SnapshotRingStatement, number: UInt32
    ) -> Pointer<Brume__Store__V1__RingStatement> {
        let message = make(brume__store__v1__ring_statement__init)
        message.pointee.zone = statement.zone
        message.pointee.user = data(statement.user)
        message.pointee.number = number
        message.pointee.chain = statement.chain
        message.pointee.statement = data(statement.statement.array)
        return message
    }

    func ringStatement(_ statement: SnapshotRingStatement) -> Pointer<Brume__Store__V1__RingStatement> {
        ringStatement(statement, number: 0)
    }

    func ringChain(_ chain: SnapshotRingChain) -> Pointer<Brume__Store__V1__RingChain> {
        let message = make(brume__store__v1__ring_chain__init)
        message.pointee.zone = chain.zone
        message.pointee.user = data(chain.user)
        message.pointee.chain = chain.chain
        return message
    }

    func ringUsers(_ users: SnapshotRingUsers) -> Pointer<Brume__Store__V1__RingUsers> {
        let message = make(brume__store__v1__ring_users__init)
        message.pointee.zone = users.zone
        message.pointee.n_users = users.users.count
        message.pointee.users = list(users.users)
        return message
    }

    func ringGuest(_ guest: SnapshotRingGuest) -> Pointer<Brume__Store__V1__RingGuest> {
        let message = make(brume__store__v1__ring_guest__init)
        message.pointee.zone = guest.zone
        message.pointee.root = data(guest.root)
        message.pointee.user = data(guest.guest.user)
        message.pointee.statement_hash = data(guest.guest.statementHash)
        message.pointee.invitation_id = data(guest.guest.invitationID)
        message.pointee.proof = data(guest.guest.proof)
        return message
    }
}
