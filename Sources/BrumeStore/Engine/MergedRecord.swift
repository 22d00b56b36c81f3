internal import BrumeModel
internal import BrumeWire

/// What a save makes of a record: the fields that the server has, with those that were sent in their place.
struct MergedRecord: ~Copyable {
    let fields: FieldMerge
    /// The name of the parent record, or nil.
    let parent: String?
    /// Whether anything differs from the older version; true for a new record.
    let isChanged: Bool

    private init(fields: consuming FieldMerge, parent: String?, isChanged: Bool) {
        self.fields = fields
        self.parent = parent
        self.isChanged = isChanged
    }

    /// Throws `limitExceeded` for too many fields, `invalidArguments` for a record that is its own parent.
    static func of(
        _ save: RecordSave<CheckedFields>, over existing: RecordSlot?
    ) throws(ServiceError) -> MergedRecord {
        let fields = try FieldMerge(save.fields, over: existing?.bytes)
        let former = existing.flatMap { $0.parent.isEmpty ? nil : $0.parent }
        var parent = former
        switch save.parent {
        case .unchanged: break
        case .removed: parent = nil
        case .set(let name):
            if name == save.name {
                throw ServiceError(.invalidArguments, "a record names itself as its parent; name another record")
            }
            if let problem = Names.problemWithRecordName(name) { throw ServiceError(.invalidArguments, problem) }
            parent = name
        }
        if fields.count > Limits.fieldsPerRecord {
            throw ServiceError(
                .limitExceeded,
                "a record would have \(fields.count) fields; the limit is \(Limits.fieldsPerRecord): use fewer")
        }
        let isChanged = fields.isChanged || parent != former
        return MergedRecord(fields: fields, parent: parent, isChanged: isChanged)
    }
}
