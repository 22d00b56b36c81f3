internal import BrumeModel
internal import BrumeWire

/// What a save makes of a record: the fields that the server has, with those that were sent in their place.
struct MergedRecord {
    private(set) var system: SystemFields
    private(set) var fields: [EncodedField]
    /// Whether anything differs from the older version; true for a new record.
    private(set) var isChanged: Bool

    /// Throws `limitExceeded` for too many fields, `invalidArguments` for a record that is its own parent.
    init(_ save: RecordSave<CheckedFields>, over stored: [UInt8]?) throws(ServiceError) {
        if let stored {
            let parts = try StoredRecord.parts(of: stored)
            system = parts.system
            fields = parts.fields
            isChanged = false
        } else {
            system = SystemFields(name: save.name, type: save.type)
            fields = []
            isChanged = true
        }
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
        if fields.isEmpty {
            fields = save.fields.puts
            if !fields.isEmpty { isChanged = true }
        } else {
            merge(save.fields)
        }
        if fields.count > Limits.fieldsPerRecord {
            throw ServiceError(
                .limitExceeded,
                "a record would have \(fields.count) fields; the limit is \(Limits.fieldsPerRecord): use fewer")
        }
    }

    private mutating func setParent(_ name: String?) {
        if system.parent == name { return }
        system.parent = name
        isChanged = true
    }

    /// Fields keep their places; new ones come last.
    private mutating func merge(_ sent: CheckedFields) {
        if sent.puts.isEmpty, sent.removals.isEmpty { return }
        var places = [String: Int](minimumCapacity: fields.count)
        for (index, field) in fields.enumerated() { places[field.key] = index }
        for field in sent.puts {
            if let index = places[field.key] {
                if fields[index] == field { continue }
                fields[index] = field
            } else {
                places[field.key] = fields.count
                fields.append(field)
            }
            isChanged = true
        }
        let removed = Set(sent.removals.filter { places[$0] != nil })
        if !removed.isEmpty {
            fields.removeAll { removed.contains($0.key) }
            isChanged = true
        }
    }
}
