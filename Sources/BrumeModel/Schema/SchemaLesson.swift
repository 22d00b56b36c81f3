/// What saves, or records that are there, tell that a schema does not know yet.
package struct SchemaLesson: Equatable, Sendable {
    /// The fields that each type is to get; a type may be new and without fields.
    package private(set) var types: [String: [String: SchemaFieldType]] = [:]

    package init() {}

    package var isEmpty: Bool { types.isEmpty }

    package mutating func note(type: String) { types[type, default: [:]] = types[type] ?? [:] }

    /// The first value of a field decides its type.
    package mutating func note(_ fieldType: SchemaFieldType, of field: String, in type: String) {
        if types[type]?[field] == nil { types[type, default: [:]][field] = fieldType }
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

    /// The schema with what was learned. Of what it knows already it changes nothing: who saves another type than somebody else
    /// did at the same time finds out when the save is checked again.
    ///
    /// New fields have all indexes that their type can have; new types the usual grants, and indexes of system fields unless the
    /// server is strict.
    ///
    /// Throws `limitExceeded`, and learns nothing, where the schema would have too much.
    package func learning(_ lesson: SchemaLesson, isStrict: Bool) throws(ServiceError) -> Schema {
        var schema = self
        for (name, fields) in lesson.types {
            var type = recordTypes[name] ?? Schema.newType(name, isStrict: isStrict)
            for (field, fieldType) in fields where type.field(field) == nil {
                type.put(.init(field, fieldType, fieldType.applicableOptions))
            }
            schema.put(type)
        }
        if let problem = schema.limitProblem {
            throw ServiceError(
                .limitExceeded,
                "\(problem): use fewer of them, or empty development's with `brume schema reset` or `brume schema import`"
            )
        }
        return schema
    }

    private static func newType(_ name: String, isStrict: Bool) -> RecordTypeSchema {
        var type = RecordTypeSchema(name, grants: DefaultRole.grants)
        if !isStrict {
            for field in SystemField.allCases { type.set(field.learnedOptions, of: field) }
        }
        return type
    }
}
