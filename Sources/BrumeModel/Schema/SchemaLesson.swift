/// What a schema can learn from saves, or from existing records.
package struct SchemaLesson: Equatable, Sendable {
    /// The fields that each type is to get; a type may be new and without fields.
    package private(set) var types: [String: [String: SchemaFieldType]] = [:]
    /// Fields of all types together.
    package private(set) var fieldCount = 0

    package init() {}

    package var isEmpty: Bool { types.isEmpty }

    package mutating func note(type: String) { types[type, default: [:]] = types[type] ?? [:] }

    /// The first value of a field decides its type.
    package mutating func note(_ fieldType: SchemaFieldType, of field: String, in type: String) {
        if types[type]?[field] == nil {
            types[type, default: [:]][field] = fieldType
            fieldCount += 1
        }
    }
}

extension Schema {
    /// Whether the lesson says nothing new.
    package func knows(_ lesson: SchemaLesson) -> Bool {
        lesson.types.allSatisfy { name, fields in
            guard let type = recordTypes[name] else { return false }
            return fields.keys.allSatisfy { type.field($0) != nil }
        }
    }

    /// The schema with what was learned. Types that it knows already stay as they are: when two users at the same time
    /// save a field with different types, the second one learns so when the save is checked again.
    ///
    /// New fields have all indexes that their type can have; new types have the usual grants, and indexes of system
    /// fields unless the server is strict.
    ///
    /// Throws `limitExceeded`, and learns nothing, when the schema would exceed its limits.
    package func learning(_ lesson: SchemaLesson, isStrict: Bool) throws(ServiceError) -> Schema {
        if let refusal = refusal(of: lesson) { throw refusal }
        var schema = self
        for (name, fields) in lesson.types {
            var type = recordTypes[name] ?? Schema.newType(name, isStrict: isStrict)
            var added: [RecordTypeSchema.Field] = []
            for (field, fieldType) in fields where type.field(field) == nil {
                added.append(.init(field, fieldType, fieldType.applicableOptions))
            }
            type.put(added)
            schema.put(type)
        }
        return schema
    }

    /// Why the schema can't learn what the lesson brings, which is `limitExceeded`; nil where it can.
    ///
    /// - Complexity: A look-up for each field of the lesson. Nothing is copied.
    package func refusal(of lesson: SchemaLesson) -> ServiceError? {
        let growth = growth(by: lesson)
        guard
            let problem = limitProblem(
                growingByTypes: growth.types, fields: growth.fields,
                grants: growth.types * DefaultRole.grants.count)
        else { return nil }
        return ServiceError(
            .limitExceeded,
            "\(problem): use fewer of them, or empty development's with `brume schema reset` or `brume schema import`")
    }

    /// What the lesson brings that the schema does not know.
    func growth(by lesson: SchemaLesson) -> SchemaShare {
        var growth = SchemaShare(types: 0, fields: 0)
        for (name, fields) in lesson.types {
            if let type = recordTypes[name] {
                for field in fields.keys where type.field(field) == nil { growth.fields += 1 }
            } else {
                growth.types += 1
                growth.fields += fields.count
            }
        }
        return growth
    }

    private static func newType(_ name: String, isStrict: Bool) -> RecordTypeSchema {
        var type = RecordTypeSchema(name, grants: DefaultRole.grants)
        if !isStrict {
            for field in SystemField.allCases { type.set(field.learnedOptions, of: field) }
        }
        return type
    }
}
