package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

extension StoreCoder {
    /// Appends the body of a journal entry to `bytes`.
    ///
    /// Every save comes through here, so it is written in place, each record copied once; the bytes are those that
    /// protobuf-c makes of the message.
    package static func encodeJournalEntry(_ entry: JournalEntry, into bytes: inout [UInt8]) {
        // Changes other than saved records are packed first, in their order.
        var packedChanges: [[UInt8]] = []
        var packedToken: [UInt8]?
        let database = entry.database
        let databaseCount = byteCount(of: database)
        var count =
            WireSize.message(databaseCount) + WireSize.integer(entry.sequence)
            + WireSize.integer(UInt64(bitPattern: entry.committedMilliseconds))
        for change in entry.changes {
            if case .recordPut(let zone, let record) = change {
                count += WireSize.message(WireSize.message(putByteCount(zone: zone, record: record)))
            } else {
                let arena = MessageArena(bytesLimit: .max)
                withExtendedLifetime(arena) { packedChanges.append(packed(arena.change(change))) }
                count += WireSize.message(packedChanges.last!.count)
            }
        }
        count +=
            WireSize.data(entry.operationID.count) + WireSize.data(entry.operationOutcome.count)
            + WireSize.integer(UInt64(entry.run)) + WireSize.data(entry.operationUser.utf8.count)
            + (entry.operationDigest == nil ? 0 : WireSize.data(OperationDigest.byteCount))
        if let put = entry.clientToken {
            let arena = MessageArena(bytesLimit: .max)
            packedToken = withExtendedLifetime(arena) { packed(arena.clientTokenPut(put)) }
            count += WireSize.message(packedToken!.count)
        }

        bytes.append(byteCount: count) { filler in
            filler.messageHeader(1, count: databaseCount)
            filler.text(1, database.container)
            filler.integer(2, UInt64(database.environment.rawValue))
            filler.integer(3, UInt64(database.scope.rawValue))
            filler.text(4, database.owner)
            filler.integer(2, entry.sequence)
            filler.integer(3, UInt64(bitPattern: entry.committedMilliseconds))
            var nextPacked = 0
            for change in entry.changes {
                if case .recordPut(let zone, let record) = change {
                    let putCount = putByteCount(zone: zone, record: record)
                    filler.messageHeader(4, count: WireSize.message(putCount))
                    filler.messageHeader(1, count: putCount)
                    filler.integer(1, zone)
                    filler.data(2, record)
                } else {
                    filler.message(4, packedChanges[nextPacked])
                    nextPacked += 1
                }
            }
            filler.data(5, entry.operationID)
            filler.integer(7, UInt64(entry.run))
            if let packedToken { filler.message(8, packedToken) }
            entry.operationDigest?.withBytes { filler.message(9, $0) }
            filler.text(10, entry.operationUser)
            filler.data(11, entry.operationOutcome)
        }
    }

    private static func byteCount(of database: DatabaseID) -> Int {
        WireSize.data(database.container.utf8.count) + WireSize.integer(UInt64(database.environment.rawValue))
            + WireSize.integer(UInt64(database.scope.rawValue)) + WireSize.data(database.owner.utf8.count)
    }

    private static func putByteCount(zone: UInt64, record: SharedBytes) -> Int {
        WireSize.integer(zone) + WireSize.data(record.count)
    }

    /// Reads the body of a journal entry.
    package static func decodeJournalEntry(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> JournalEntry {
        try unpack(brume__store__v1__journal_entry__unpack, bytes, "a journal entry") {
            (message) throws(StoreCodingError) in
            let former = FormerOperation(
                key: message.pointee.operation_id.array, answer: message.pointee.operation_answer.array)
            return JournalEntry(
                database: try databaseID(message.pointee.database), sequence: message.pointee.sequence,
                committedMilliseconds: message.pointee.committed_milliseconds,
                changes: try values(message.pointee.changes, message.pointee.n_changes, change),
                operationID: former?.id ?? message.pointee.operation_id.array,
                operationOutcome: former?.outcome ?? message.pointee.operation_outcome.array,
                operationDigest: try digest(message.pointee.operation_digest),
                operationUser: try text(message.pointee.operation_user, "a user record name"),
                run: message.pointee.run,
                clientToken: message.pointee.client_token.map(clientTokenPut))
        }
    }

    /// The digest of an operation's request; nil when there is none.
    static func digest(_ data: ProtobufCBinaryData) throws(StoreCodingError) -> OperationDigest? {
        if data.len == 0 { return nil }
        guard let digest = OperationDigest(UnsafeRawBufferPointer(start: data.data, count: data.len)) else {
            throw StoreCodingError(
                "an operation's digest has \(data.len) bytes instead of \(OperationDigest.byteCount)")
        }
        return digest
    }

    private static func clientTokenPut(
        _ put: UnsafeMutablePointer<Brume__Store__V1__ClientTokenPut>
    ) -> ClientTokenPut {
        ClientTokenPut(
            token: ClientToken(device: put.pointee.device.array, bytes: put.pointee.token.array),
            zones: Array(UnsafeBufferPointer(start: put.pointee.zones, count: put.pointee.n_zones)))
    }

    private static func change(
        _ change: UnsafeMutablePointer<Brume__Store__V1__Change>
    ) throws(StoreCodingError) -> Change {
        switch change.pointee.kind_case {
        case BRUME__STORE__V1__CHANGE__KIND_RECORD_PUT:
            let put = change.pointee.record_put.pointee
            return .recordPut(zone: put.zone, record: SharedBytes(put.record.array))
        case BRUME__STORE__V1__CHANGE__KIND_RECORD_DELETION:
            let deletion = change.pointee.record_deletion.pointee
            return .recordDeletion(
                zone: deletion.zone, name: try text(deletion.name, "a record name"),
                type: try text(deletion.type, "a record type"))
        case BRUME__STORE__V1__CHANGE__KIND_ZONE_CREATION:
            let creation = change.pointee.zone_creation.pointee
            return .zoneCreation(zone: creation.zone, name: try text(creation.name, "a zone name"))
        case BRUME__STORE__V1__CHANGE__KIND_ZONE_DELETION:
            let deletion = change.pointee.zone_deletion.pointee
            return .zoneDeletion(
                zone: deletion.zone, name: try text(deletion.name, "a zone name"),
                reason: try deletionReason(deletion.reason))
        case BRUME__STORE__V1__CHANGE__KIND_SUBSCRIPTION_PUT:
            return .subscriptionPut(try subscription(change.pointee.subscription_put))
        case BRUME__STORE__V1__CHANGE__KIND_SUBSCRIPTION_DELETION:
            let deletion = change.pointee.subscription_deletion.pointee
            return .subscriptionDeletion(
                id: try text(deletion.id, "a subscription id"),
                owner: try text(deletion.owner, "a subscription's owner"))
        case BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_ASKED:
            return .sharedZoneAsked(try askedZone(change.pointee.shared_zone_asked))
        case BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_ANSWERED:
            return .sharedZoneAnswered(try askedZone(change.pointee.shared_zone_answered))
        case BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_PUT:
            return .sharedZonePut(try sharedZone(change.pointee.shared_zone_put))
        case BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_END:
            return .sharedZoneEnd(try sharedZone(change.pointee.shared_zone_end).id)
        case BRUME__STORE__V1__CHANGE__KIND_STATEMENT_PUT:
            let put = change.pointee.statement_put.pointee
            return .statement(number: put.number, SharedBytes(put.statement.array))
        case BRUME__STORE__V1__CHANGE__KIND_STATEMENTS_END:
            guard let replaced = change.pointee.statements_end.pointee.replaced else { return .statementsEnd }
            return .statementsReplaced(try replacedStatements(replaced))
        case BRUME__STORE__V1__CHANGE__KIND_RING_ENTRY:
            let entry = try ringEntry(change.pointee.ring_entry)
            return .ringEntry(
                zone: entry.zone, root: entry.root, number: change.pointee.ring_entry.pointee.number, entry.entry)
        case BRUME__STORE__V1__CHANGE__KIND_RINGS_END:
            return .ringsEnd(zone: change.pointee.rings_end.pointee.zone)
        case BRUME__STORE__V1__CHANGE__KIND_RING_STATEMENT:
            let kept = try ringStatement(change.pointee.ring_statement)
            return .ringStatement(
                zone: kept.zone, user: kept.user, number: change.pointee.ring_statement.pointee.number,
                chain: kept.chain, kept.statement)
        case BRUME__STORE__V1__CHANGE__KIND_RING_CHAIN:
            let selected = try ringChain(change.pointee.ring_chain)
            return .ringChain(zone: selected.zone, user: selected.user, chain: selected.chain)
        case BRUME__STORE__V1__CHANGE__KIND_RING_GUEST:
            let guest = try ringGuest(change.pointee.ring_guest)
            return .ringGuest(zone: guest.zone, root: guest.root, guest.guest)
        case BRUME__STORE__V1__CHANGE__KIND_RING_GUEST_END:
            let guest = try ringGuest(change.pointee.ring_guest_end)
            return .ringGuestEnd(zone: guest.zone, root: guest.root, user: guest.guest.user)
        case BRUME__STORE__V1__CHANGE__KIND_RING_USERS_UNNAMED:
            let users = try ringUsers(change.pointee.ring_users_unnamed)
            return .ringUsersUnnamed(zone: users.zone, users: users.users)
        case BRUME__STORE__V1__CHANGE__KIND_RING_USERS_NAMED:
            let users = try ringUsers(change.pointee.ring_users_named)
            return .ringUsersNamed(zone: users.zone, users: users.users)
        case BRUME__STORE__V1__CHANGE__KIND_RING_USERS_END:
            let users = try ringUsers(change.pointee.ring_users_end)
            return .ringUsersEnd(zone: users.zone, users: users.users)
        default:
            throw StoreCodingError("a journal entry holds a change of a kind that this version doesn't know")
        }
    }
}

extension MessageArena {
    fileprivate func clientTokenPut(_ put: ClientTokenPut) -> Pointer<Brume__Store__V1__ClientTokenPut> {
        let message = make(brume__store__v1__client_token_put__init)
        message.pointee.device = data(put.token.device)
        message.pointee.token = data(put.token.bytes)
        message.pointee.n_zones = put.zones.count
        message.pointee.zones = numbers(put.zones)
        return message
    }

    fileprivate func change(_ change: Change) -> Pointer<Brume__Store__V1__Change> {
        let message = make(brume__store__v1__change__init)
        switch change {
        case .recordPut: preconditionFailure("records are written in place")
        case .recordDeletion(let zone, let name, let type):
            let deletion = make(brume__store__v1__record_deletion__init)
            deletion.pointee.zone = zone
            deletion.pointee.name = data(name)
            deletion.pointee.type = data(type)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RECORD_DELETION
            message.pointee.record_deletion = deletion
        case .zoneCreation(let zone, let name):
            let creation = make(brume__store__v1__zone_creation__init)
            creation.pointee.zone = zone
            creation.pointee.name = data(name)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_ZONE_CREATION
            message.pointee.zone_creation = creation
        case .zoneDeletion(let zone, let name, let reason):
            let deletion = make(brume__store__v1__zone_deletion__init)
            deletion.pointee.zone = zone
            deletion.pointee.name = data(name)
            deletion.pointee.reason = UInt32(reason.rawValue)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_ZONE_DELETION
            message.pointee.zone_deletion = deletion
        case .subscriptionPut(let subscription):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SUBSCRIPTION_PUT
            message.pointee.subscription_put = subscriptionPut(subscription)
        case .subscriptionDeletion(let id, let owner):
            let deletion = make(brume__store__v1__subscription_deletion__init)
            deletion.pointee.id = data(id)
            deletion.pointee.owner = data(owner)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SUBSCRIPTION_DELETION
            message.pointee.subscription_deletion = deletion
        case .sharedZoneAsked(let zone):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_ASKED
            message.pointee.shared_zone_asked = askedZone(zone)
        case .sharedZoneAnswered(let zone):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_ANSWERED
            message.pointee.shared_zone_answered = askedZone(zone)
        case .sharedZonePut(let zone):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_PUT
            message.pointee.shared_zone_put = sharedZone(zone)
        case .sharedZoneEnd(let id):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_SHARED_ZONE_END
            message.pointee.shared_zone_end = sharedZone(SharedZone(id: id, incarnation: 0, start: .start, run: 0))
        case .statement(let number, let bytes):
            let put = make(brume__store__v1__statement_put__init)
            put.pointee.number = number
            put.pointee.statement = data(bytes.array)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_STATEMENT_PUT
            message.pointee.statement_put = put
        case .statementsReplaced(let replaced):
            let end = make(brume__store__v1__statements_end__init)
            end.pointee.replaced = replacedStatements(replaced)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_STATEMENTS_END
            message.pointee.statements_end = end
        case .statementsEnd:
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_STATEMENTS_END
            message.pointee.statements_end = make(brume__store__v1__statements_end__init)
        case .ringEntry(let zone, let root, let number, let entry):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_ENTRY
            message.pointee.ring_entry = ringEntry(
                SnapshotRingEntry(zone: zone, root: root, entry: entry), number: number)
        case .ringsEnd(let zone):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RINGS_END
            message.pointee.rings_end = make(brume__store__v1__rings_end__init)
            message.pointee.rings_end.pointee.zone = zone
        case .ringStatement(let zone, let user, let number, let chain, let statement):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_STATEMENT
            message.pointee.ring_statement = ringStatement(
                SnapshotRingStatement(zone: zone, user: user, chain: chain, statement: statement), number: number)
        case .ringChain(let zone, let user, let chain):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_CHAIN
            message.pointee.ring_chain = ringChain(SnapshotRingChain(zone: zone, user: user, chain: chain))
        case .ringGuest(let zone, let root, let guest):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_GUEST
            message.pointee.ring_guest = ringGuest(SnapshotRingGuest(zone: zone, root: root, guest: guest))
        case .ringGuestEnd(let zone, let root, let user):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_GUEST_END
            message.pointee.ring_guest_end = ringGuest(
                SnapshotRingGuest(zone: zone, root: root, guest: RingGuest(user: user, statementHash: [])))
        case .ringUsersUnnamed(let zone, let users):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_USERS_UNNAMED
            message.pointee.ring_users_unnamed = ringUsers(SnapshotRingUsers(zone: zone, users: users))
        case .ringUsersNamed(let zone, let users):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_USERS_NAMED
            message.pointee.ring_users_named = ringUsers(SnapshotRingUsers(zone: zone, users: users))
        case .ringUsersEnd(let zone, let users):
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RING_USERS_END
            message.pointee.ring_users_end = ringUsers(SnapshotRingUsers(zone: zone, users: users))
        }
        return message
    }
}
