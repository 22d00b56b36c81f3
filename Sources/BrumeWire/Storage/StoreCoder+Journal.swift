package import BrumeModel
internal import CBrumeProto
internal import CProtobufC

extension StoreCoder {
    /// Appends the body of a journal entry to `bytes`.
    package static func encodeJournalEntry(_ entry: JournalEntry, into bytes: inout [UInt8]) {
        append(to: &bytes) { arena in
            let message = arena.make(brume__store__v1__journal_entry__init)
            message.pointee.database = arena.databaseIdentity(entry.database)
            message.pointee.sequence = entry.sequence
            message.pointee.committed_milliseconds = entry.committedMilliseconds
            message.pointee.run = entry.run
            message.pointee.n_changes = entry.changes.count
            message.pointee.changes = arena.messages(entry.changes, arena.change)
            message.pointee.operation_id = arena.data(entry.operationID)
            message.pointee.operation_answer = arena.data(entry.operationAnswer)
            return message
        }
    }

    /// Reads the body of a journal entry.
    package static func decodeJournalEntry(_ bytes: UnsafeRawBufferPointer) throws(StoreCodingError) -> JournalEntry {
        try unpack(brume__store__v1__journal_entry__unpack, bytes, "a journal entry") {
            (message) throws(StoreCodingError) in
            JournalEntry(
                database: try databaseID(message.pointee.database), sequence: message.pointee.sequence,
                committedMilliseconds: message.pointee.committed_milliseconds,
                changes: try values(message.pointee.changes, message.pointee.n_changes, change),
                operationID: message.pointee.operation_id.array,
                operationAnswer: message.pointee.operation_answer.array, run: message.pointee.run)
        }
    }

    private static func change(
        _ change: UnsafeMutablePointer<Brume__Store__V1__Change>
    ) throws(StoreCodingError) -> Change {
        switch change.pointee.kind_case {
        case BRUME__STORE__V1__CHANGE__KIND_RECORD_PUT:
            let put = change.pointee.record_put.pointee
            return .recordPut(zone: put.zone, record: put.record.array)
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
        default:
            throw StoreCodingError("a journal entry holds a change of a kind that this version doesn't know")
        }
    }
}

extension MessageArena {
    fileprivate func change(_ change: Change) -> Pointer<Brume__Store__V1__Change> {
        let message = make(brume__store__v1__change__init)
        switch change {
        case .recordPut(let zone, let record):
            let put = make(brume__store__v1__record_put__init)
            put.pointee.zone = zone
            put.pointee.record = data(record)
            message.pointee.kind_case = BRUME__STORE__V1__CHANGE__KIND_RECORD_PUT
            message.pointee.record_put = put
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
        }
        return message
    }
}
