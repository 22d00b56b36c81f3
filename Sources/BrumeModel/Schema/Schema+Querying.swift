extension Schema {
    /// What is wrong with a query, or nil: `unknownItem` for a type that the schema does not know, `invalidArguments`
    /// for a field that is not there, has no such index, or never holds such a value.
    package func problem(with query: Query, in place: SchemaPlace) -> ServiceError? {
        problem(with: query.predicate, sortDescriptors: query.sortDescriptors, type: query.recordType, in: place)
    }

    /// What a query and a query subscription for user records fail with, as in CloudKit.
    package static let userRecordRefusal = ServiceError(
        .invalidArguments, "user records can't be queried or subscribed to; fetch them by their ids")

    /// As ``problem(with:in:)``, for a query subscription's predicate too.
    package func problem(
        with predicate: Predicate, sortDescriptors: [QuerySort] = [], type name: String, in place: SchemaPlace
    ) -> ServiceError? {
        guard let type = recordTypes[name] else { return unknownType(name, in: place) }
        if name == Names.userRecordType { return Schema.userRecordRefusal }
        var gate = QueryGate(type: type, place: place)
        do throws(ServiceError) {
            try gate.check(predicate)
            try gate.finish()
            for sort in sortDescriptors { try gate.check(sort) }
            return nil
        } catch {
            return error
        }
    }

    private func unknownType(_ name: String, in place: SchemaPlace) -> ServiceError {
        let suggestion = Schema.suggestion(
            for: name, among: recordTypes.keys.filter { $0 != Names.userRecordType }.sorted())
        let name = name.prefix(Limits.nameCharacters)
        let advice =
            place.learns
            ? "save a record of the type first, or \(place.remedy("define it"))" : place.remedy("define it")
        return ServiceError(.unknownItem, "Did not find record type: \(name) in \(place.name)\(suggestion); \(advice)")
    }

    /// A suggestion, as a part of a sentence, for a name that the schema does not have; empty when no name is similar.
    ///
    /// A schema may have thousands of names, and long ones take long to compare: only a few hundred short names are
    /// compared, in a millisecond at most.
    fileprivate static func suggestion(for name: String, among names: some Sequence<String>) -> String {
        func isShort(_ name: String) -> Bool { name.utf8.count <= 32 }
        guard isShort(name) else { return "" }
        return NearestName.find(name, among: Array(names.lazy.filter(isShort).prefix(200)))
            .map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// Whether the query uses a type or a field that the schema does not know: records that are there may teach it.
    package func mayLearn(from query: Query) -> Bool {
        guard let type = recordTypes[query.recordType] else {
            return Names.problemWithRecordType(query.recordType) == nil
        }
        var keys: [QueryKey] = query.sortDescriptors.map(\.key)
        query.predicate.collectKeys(into: &keys)
        return keys.contains { key in
            guard case .field(let name) = key else { return false }
            return type.field(name) == nil
        }
    }

    /// Whether a predicate uses a field that the schema knows to be encrypted.
    package func comparesEncrypted(_ predicate: Predicate, type name: String) -> Bool {
        guard let type = recordTypes[name] else { return false }
        var keys: [QueryKey] = []
        predicate.collectKeys(into: &keys)
        return keys.contains { key in
            guard case .field(let name) = key else { return false }
            return type.field(name)?.type.isEncrypted == true
        }
    }
}

/// Checks that the schema allows each key of a query to be used the way it is.
private struct QueryGate {
    let type: RecordTypeSchema
    let place: SchemaPlace
    /// Whether any comparison narrows the query.
    private var hasTerm = false

    init(type: RecordTypeSchema, place: SchemaPlace) {
        self.type = type
        self.place = place
    }

    mutating func check(_ predicate: Predicate) throws(ServiceError) {
        switch predicate {
        case .constant: return
        case .and(let operands), .or(let operands):
            for operand in operands { try check(operand) }
            return
        case .not(let operand):
            return try check(operand)
        case .comparison(let key, let comparison, let value):
            switch comparison {
            case .equal, .notEqual:
                let used = try field(key, needs: .queryable)
                if SchemaFieldType(learnedFrom: FieldKind(value))?.isList == true || value == .emptyList {
                    guard used.type.accepts(FieldKind(value)) else { throw mismatch(used, FieldKind(value)) }
                } else {
                    try scalar(used, value)
                }
            case .less, .lessOrEqual, .greater, .greaterOrEqual:
                let used = try field(key, needs: .sortable)
                try scalar(used, value)
                try ordered(used, comparison.symbol)
            case .beginsWith:
                let used = try field(key, needs: .sortable, or: .queryable)
                try scalar(used, value)
                guard used.type.element == .string else { throw mismatch(used, FieldKind(value)) }
            }
        case .between(let key, let low, let high):
            let used = try field(key, needs: .sortable)
            for value in [low, high] { try scalar(used, value) }
            try ordered(used, "BETWEEN")
        case .isIn(let key, let values):
            let used = try field(key, needs: .queryable)
            for value in values { try scalar(used, value) }
        case .anyElement(let key, let comparison, let value):
            let used = try field(key, needs: .queryable)
            try element(used, value)
            switch comparison {
            case .equal, .notEqual: break
            case .less, .lessOrEqual, .greater, .greaterOrEqual: try ordered(used, comparison.symbol)
            case .beginsWith:
                guard used.type.element == .string else { throw mismatch(used, FieldKind(value)) }
            }
        case .anyElementIsIn(let key, let values):
            let used = try field(key, needs: .queryable)
            for value in values { try element(used, value) }
        case .text:
            guard !type.searchableFields.isEmpty else {
                throw invalid(
                    "Record type \(type.name) has no field that is marked searchable in \(place.name); "
                        + place.remedy("mark a STRING field of it SEARCHABLE"))
            }
        case .distance(let key, _, _, _, _):
            let used = try field(key, needs: .queryable)
            guard used.type.element == .location, !used.type.isList else {
                throw invalid("\(described(used)), and no LOCATION: it has no distance")
            }
        }
        hasTerm = true
    }

    /// Checks what is known only after the predicate: a query for all records needs the index of their names.
    func finish() throws(ServiceError) {
        if !hasTerm { _ = try field(.recordID, needs: .queryable) }
    }

    func check(_ sort: QuerySort) throws(ServiceError) {
        let used = try field(sort.key, needs: .sortable, or: sort.relativeTo == nil ? nil : .queryable)
        if (sort.relativeTo != nil) != (used.type.element == .location) || used.type.isList {
            throw invalid(
                "\(described(used)); sort LOCATION fields by the distance from a place, and others by their values")
        }
    }

    // MARK: Fields

    private struct UsedField {
        /// The field's name as the query spells it.
        let name: String
        let type: SchemaFieldType
    }

    private func field(
        _ key: QueryKey, needs option: IndexOptions, or other: IndexOptions? = nil
    ) throws(ServiceError) -> UsedField {
        let used: UsedField
        let options: IndexOptions
        switch key {
        case .parent:
            // No schema lists it, and the server always knows a record's parent.
            return UsedField(name: key.name, type: SchemaFieldType(.reference))
        case .field(let name):
            guard let known = type.field(name) else { throw unknownField(name) }
            used = UsedField(name: name, type: known.type)
            options = known.options
            if known.type.isEncrypted {
                throw invalid("\(described(used)): what is encrypted can't be queried or sorted by")
            }
        default:
            let system = SystemField(key)!
            used = UsedField(name: key.name, type: system.type)
            options = place.allowsSystemFields ? system.applicableOptions : type.systemOptions[system] ?? []
        }
        if options.contains(option) || other.map({ options.contains($0) }) == true { return used }
        let spelled = key == .recordID ? "recordName" : used.name
        let word = option == .queryable ? "queryable" : "sortable"
        let isSystem = if case .field = key { false } else { true }
        let applicable = isSystem ? SystemField(key)!.applicableOptions : used.type.applicableOptions
        let keyName = isSystem ? "\"\(key.schemaName)\"" : key.schemaName
        throw invalid(
            "Field '\(spelled)' is not marked \(word) for record type \(type.name) in \(place.name); "
                + (applicable.contains(option)
                    ? place.remedy("mark \(keyName) \(option.text)")
                    : "\(used.type.textWithArticle) can't be \(option.text): query or sort by another field"))
    }

    private func unknownField(_ name: String) -> ServiceError {
        let known = type.fields.map(\.name) + QueryKey.systemNames
        let suggestion = Schema.suggestion(for: name, among: known)
        let name = name.prefix(Limits.nameCharacters)
        let advice =
            place.learns
            ? "save a record with it first, or \(place.remedy("define it"))" : place.remedy("define it")
        return invalid("Unknown field '\(name)' of record type \(type.name) in \(place.name)\(suggestion); \(advice)")
    }

    // MARK: Values

    private func scalar(_ field: UsedField, _ value: FieldValue) throws(ServiceError) {
        if field.type.isList {
            throw invalid("\(described(field)); compare its elements: '\(field.name) CONTAINS value', or ANY")
        }
        guard field.type.compares(with: FieldKind(value)) else { throw mismatch(field, FieldKind(value)) }
    }

    private func element(_ field: UsedField, _ value: FieldValue) throws(ServiceError) {
        guard field.type.isList else {
            throw invalid(
                "\(described(field)), and no list: CONTAINS and ANY are for lists; a string can begin with another one")
        }
        guard field.type.compares(with: FieldKind(value)) else { throw mismatch(field, FieldKind(value)) }
    }

    private func ordered(_ field: UsedField, _ comparison: String) throws(ServiceError) {
        switch field.type.element {
        case .double, .int64, .number, .string, .timestamp: return
        case .reference where field.name == QueryKey.recordID.name: return
        case .asset, .bytes, .location, .reference:
            throw invalid("\(described(field)), which has no order: \(comparison) can't compare it")
        }
    }

    private func mismatch(_ field: UsedField, _ kind: FieldKind) -> ServiceError {
        invalid("\(described(field)); it can't be compared with a value of type \(kind.schemaText)")
    }

    private func described(_ field: UsedField) -> String {
        "Field '\(field.name)' of record type \(type.name) is \(field.type.textWithArticle)"
    }

    private func invalid(_ message: String) -> ServiceError { ServiceError(.invalidArguments, message) }
}

extension Predicate {
    fileprivate func collectKeys(into keys: inout [QueryKey]) {
        switch self {
        case .constant, .text: return
        case .and(let operands), .or(let operands):
            for operand in operands { operand.collectKeys(into: &keys) }
        case .not(let operand): operand.collectKeys(into: &keys)
        case .comparison(let key, _, _), .between(let key, _, _), .isIn(let key, _), .anyElement(let key, _, _),
            .anyElementIsIn(let key, _), .distance(let key, _, _, _, _):
            keys.append(key)
        }
    }
}
