internal import BrumeModel
internal import BrumeWire

/// What a save makes of a record: the fields that the server has, with those that were sent in their place.
struct MergedRecord {
    let fields: FieldMerge
    /// The name of the parent record, or nil.
    private(set) var parent: String?
    /// Whether anything differs from the older version; true for a new record.
    private(set) var isChanged: Bool

    /// Throws `limitExceeded` for too many fields, `invalidArguments` for a record that is its own parent.
    ///
    /// - Parameter user: Who saves.
    init(_ save: RecordSave<CheckedFields>, over existing: RecordSlot?, user: String) throws(ServiceError) {
        if let existing {
            fields = try FieldMerge(save.fields, over: existing.bytes, user: user)
            parent = existing.parent.isEmpty ? nil : existing.parent
        } else {
            fields = FieldMerge(save.fields)
            parent = nil
        }
        isChanged = fields.isChanged
        switch save.parent {
        case .unchanged: break
        case .removed: setParent(nil)
        case .set(let name):
            if name == save.name {
                throw ServiceError(.invalidArguments, "a record names itself as its parent; name another record")
            }
            if let problem = Names.problemWithRecordName(name) { throw ServiceError(.invalidArguments, problem) }
            setParent(name)
        }
        if fields.count > Limits.fieldsPerRecord {
            throw ServiceError(
                .limitExceeded,
                "a record would have \(fields.count) fields; the limit is \(Limits.fieldsPerRecord): use fewer")
        }
    }

    private mutating func setParent(_ name: String?) {
        if parent == name { return }
        parent = name
        isChanged = true
    }
}
