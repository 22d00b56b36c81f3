internal import BrumeModel
internal import BrumeRecord

/// The checks of one item by itself: whether the caller may do it, whether the tag and the type are right, and what the
/// caller gets to see.
extension ZoneBatch {
    static let userRecordRefusal = ServiceError(
        .permissionFailure,
        "user records are made by the server, and each may be changed by its user alone and deleted by nobody")

    /// Checks a new record, as far as its names, the caller, the tag and the type say. Throws why it can't be made.
    func checkNew(_ save: RecordSave<CheckedFields>) throws(ServiceError) {
        if save.type == Names.userRecordType { throw ZoneBatch.userRecordRefusal }
        if member != nil {
            if save.type == Names.shareType { throw ZoneBatch.onlyOwnerShares }
            try checkPermission()
        }
        if policy(of: save) == .ifServerRecordUnchanged, !save.changeTag.isEmpty {
            throw ServiceError(
                .unknownItem, "the record was deleted; save it without its change tag to make it again")
        }
        if let problem = Names.problemWithRecordName(save.name) ?? Names.problemWithRecordType(save.type) {
            throw ServiceError(.invalidArguments, problem)
        }
        if let refusal = caller.access?.refusal(.create, type: save.type, creator: caller.user) { throw refusal }
    }

    /// What is told of a record that the caller may neither read nor change: nothing but that the name is no longer
    /// free.
    static let takenName = ServiceError(
        .permissionFailure,
        "the record can't be saved under this name, which somebody else has taken; choose another one")

    /// The same for a save that changes a record.
    mutating func check(_ save: RecordSave<CheckedFields>, over existing: RecordSlot) throws(ServiceError) {
        let (isUserRecord, isOfType) = existing.withBytes { bytes in
            let head = StoredRecord.head(of: bytes)
            return (
                ByteOrder.compare(Names.userRecordType, head.type) == 0, ByteOrder.compare(save.type, head.type) == 0
            )
        }
        if isUserRecord {
            if save.name != caller.user { throw ZoneBatch.userRecordRefusal }
        } else if let refusal = writeRefusal(of: existing) {
            throw mayRead(existing) ? refusal : ZoneBatch.takenName
        }
        // Before its tag, which is another one to its managers than to others.
        if !isOfType, existing.isOfType(Names.shareType) { throw ZoneBatch.notShare }
        if policy(of: save) == .ifServerRecordUnchanged, try !isOfKnownVersion(save, existing) {
            throw ServiceError(
                .serverRecordChanged,
                save.changeTag.isEmpty
                    ? "the record exists already; merge into the server's record and save that"
                    : "the record was changed since it was fetched; merge into the server's record and save that",
                serverRecord: mayRead(existing) ? try shown(existing).array : nil)
        }
        if !isOfType {
            throw ServiceError(
                .invalidArguments, "a record's type can't change; save it under another name, or delete it first")
        }
    }

    /// Throws for a stamp where none can be. What it says is devices' concern; its form was checked before.
    func checkStamp(of save: RecordSave<CheckedFields>) throws(ServiceError) {
        if scope == .public {
            throw ServiceError(
                .invalidArguments, "a record of a public database is encrypted with no key, and has no stamp; send none"
            )
        }
        if save.type == Names.shareType {
            throw ServiceError(.invalidArguments, "a share has no stamp; send that of its root record with the root")
        }
    }

    private static let onlyOwnerShares = ServiceError(
        .permissionFailure, "only its owner shares what is in a zone; ask them to")

    /// Whether the answer may leave the fields out: the client has them.
    ///
    /// A client that sends all the keys it knows has the fields if those keys are all that the record has.
    func isKnown(
        _ existing: RecordSlot, to save: RecordSave<CheckedFields>, whichHoldsAll holdsAll: Bool
    ) -> Bool {
        // A save that passed the check of this policy has the server's tag.
        savePolicy == .ifServerRecordUnchanged || savePolicy == .allKeys && holdsAll
            || existing.hasTag(save.changeTag)
    }

    /// Whether the caller changes a record that they may not read. Every save of it is a change: one that was told to
    /// have changed nothing would confirm guessed values.
    func isHidden(_ existing: RecordSlot) -> Bool { scope == .public && !mayRead(existing) }

    /// The answer to such a save: nothing but what was sent, and what the save itself made of it.
    func hiddenAnswer(to save: RecordSave<CheckedFields>) -> SharedBytes {
        SharedBytes(
            StoredRecord.encode(
                SystemFields(
                    name: save.name, type: save.type, changeTag: tag.text, modifier: caller.user,
                    modifiedMilliseconds: nowMilliseconds), fields: []))
    }

    private mutating func shown(_ record: RecordSlot) throws(ServiceError) -> SharedBytes {
        record.marks.contains(.sharing) ? try shown(record.bytes) : record.bytes
    }

    /// Why the caller may neither change nor delete the record, or nil.
    func writeRefusal(of record: RecordSlot) -> ServiceError? {
        guard scope == .public else { return nil }
        // Looked up first without the creator, because finding the creator means decoding the record.
        if let access = caller.access {
            if access.permissions(type: record.type, isCreator: false).contains(.write) { return nil }
            return access.refusal(.write, type: record.type, creator: systemCreator(of: record))
        }
        if systemCreator(of: record) == caller.user { return nil }
        return ServiceError(
            .permissionFailure, "only its creator may change or delete a record of the public database")
    }

    /// Whether the caller may be shown the record.
    func mayRead(_ record: RecordSlot) -> Bool { Database.mayRead(record, caller) }

    private func systemCreator(of record: RecordSlot) -> String {
        record.withBytes { String(decoding: StoredRecord.creator(of: $0), as: UTF8.self) }
    }
}
