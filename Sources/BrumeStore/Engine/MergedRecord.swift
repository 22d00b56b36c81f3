internal import BrumeModel
internal import BrumeRecord

/// What a save makes of a record: the fields that the server has, with those that were sent in their place.
struct MergedRecord: ~Copyable {
    let fields: FieldMerge
    /// The name of the parent record, or nil.
    let parent: String?
    /// The name of the older version's parent, or nil.
    let formerParent: String?
    let stamp: MergedStamp
    /// What it says of sharing; nil for nothing.
    let sharing: SharingPart?
    /// Whether anything differs from the older version; true for a new record.
    let isChanged: Bool

    private init(
        fields: consuming FieldMerge, parent: String?, formerParent: String?, stamp: MergedStamp, sharing: SharingPart?,
        isChanged: Bool
    ) {
        self.fields = fields
        self.parent = parent
        self.formerParent = formerParent
        self.stamp = stamp
        self.sharing = sharing
        self.isChanged = isChanged
    }

    /// Merges a save into the older version. Throws `limitExceeded` for too many fields,
    /// `accountTemporarilyUnavailable` where what is encrypted would go without its keys, `invalidArguments` for a
    /// parent that a record can't have: itself, a user record, or a name that no record has.
    ///
    /// - Parameters:
    ///   - sharing: What the record says of sharing after the save; nil for nothing.
    ///   - budget: The bytes of `existing` have been taken from it; this takes its fields.
    static func of(
        _ save: RecordSave<CheckedFields>, over existing: RecordSlot?, sharing: SharingPart?, budget: inout ByteBudget
    ) throws(ServiceError) -> MergedRecord {
        let refersToOthers = existing?.refersToOthers ?? false
        let fields = try FieldMerge(
            save.fields, over: existing?.bytes, watchesReferences: refersToOthers,
            watchesEncrypted: !save.replacesEncrypted)
        if existing != nil { budget.takeMergedFields(fields.readCount) }
        if fields.losesEncrypted { throw fieldIsEncrypted }
        var former: String?
        if refersToOthers, let parent = existing?.parent, !parent.isEmpty { former = parent }
        var parent = former
        switch save.parent {
        case .unchanged: break
        case .removed: parent = nil
        case .set(let name):
            if name == save.name {
                throw ServiceError(.invalidArguments, "a record names itself as its parent; name another record")
            }
            if Names.isUserRecordName(name) {
                throw ServiceError(
                    .invalidArguments, "a user record can't be a parent; name another record, or use a reference")
            }
            if let problem = Names.problemWithRecordName(name) { throw ServiceError(.invalidArguments, problem) }
            parent = name
        }
        if fields.count > Limits.fieldsPerRecord {
            throw ServiceError(
                .limitExceeded,
                "a record would have more than \(Limits.fieldsPerRecord) fields, the most that one may have: use fewer")
        }
        let stamp = stamp(of: save, losesOld: parent != former)
        let changesStamp =
            switch stamp {
            case .none: fields.hasStoredStamp
            case .stored: false
            case .sent(let bytes): !fields.isStoredStamp(bytes)
            }
        let isChanged =
            fields.isChanged || parent != former || changesStamp || sharing != nil && sharing != existing?.sharing
        return MergedRecord(
            fields: fields, parent: parent, formerParent: former, stamp: stamp, sharing: sharing, isChanged: isChanged)
    }

    /// A device that can't open a value can't have meant to take it away.
    private static let fieldIsEncrypted = ServiceError(
        .accountTemporarilyUnavailable,
        "the save removes a field that is encrypted, or gives it a plain value, without the record's keys: fetch the"
            + " record, and save it on a device that has them", detail: .fieldEncrypted)

    /// A stamp is of one place below one parent: an older one says nothing of another place.
    private static func stamp(of save: RecordSave<CheckedFields>, losesOld: Bool) -> MergedStamp {
        if !save.stamp.isEmpty { return .sent(save.stamp) }
        return losesOld ? .none : .stored
    }
}
