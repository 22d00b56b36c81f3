/// Whether a record may be saved as it is.
package enum SaveVerdict: Equatable, Sendable {
    case fits
    /// The schema has to learn first, which it may.
    case teaches
    case refused(ServiceError)
}

extension Schema {
    /// Checks the fields that a save puts into a record of that type. Where the schema may learn, what is missing is added to
    /// the lesson.
    ///
    /// A value of another type than the schema has is refused everywhere; a type or a field that is not there only where nothing
    /// is learned.
    ///
    /// - Parameters:
    ///   - fields: By key, each once.
    ///   - kind: What a field holds.
    /// - Complexity: One walk over the fields of both.
    package func check(
        type name: String, fields: [EncodedField], kind: (EncodedField) -> FieldKind, in place: SchemaPlace,
        lesson: inout SchemaLesson
    ) -> SaveVerdict {
        guard let type = recordTypes[name] else {
            guard place.learns else { return .refused(Schema.unknownType(name, in: place)) }
            // Its name is checked by the engine, whose message says more.
            if Names.problemWithRecordType(name) != nil { return .fits }
            lesson.note(type: name)
            for field in fields {
                if let fieldType = SchemaFieldType(learnedFrom: kind(field)) {
                    lesson.note(fieldType, of: field.key, in: name)
                }
            }
            return .teaches
        }
        var verdict = SaveVerdict.fits
        var next = 0
        for field in fields {
            while next < type.fields.count, type.fields[next].name < field.key { next += 1 }
            let kind = kind(field)
            if next < type.fields.count, type.fields[next].name == field.key {
                if !type.fields[next].type.accepts(kind) {
                    return .refused(Schema.conflict(type.fields[next], in: name, sent: kind, place))
                }
            } else if !place.learns {
                return .refused(Schema.unknownField(field.key, in: name, place))
            } else if let fieldType = SchemaFieldType(learnedFrom: kind) {
                lesson.note(fieldType, of: field.key, in: name)
                verdict = .teaches
            }
        }
        return verdict
    }

    private static func unknownType(_ name: String, in place: SchemaPlace) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "Cannot create new type \(name.prefix(Limits.nameCharacters)) in production schema: \(place.name) does not know "
                + "it; \(place.remedy("define it"))")
    }

    private static func unknownField(_ field: String, in type: String, _ place: SchemaPlace) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "Cannot create new field '\(field)' of record type \(type) in production schema: \(place.name) does not know it; "
                + place.remedy("define it"))
    }

    private static func conflict(
        _ field: RecordTypeSchema.Field, in type: String, sent kind: FieldKind, _ place: SchemaPlace
    ) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "invalid attempt to set value type \(kind.schemaText) for field '\(field.name)' of record type \(type), defined to "
                + "be: \(field.type.text); send that type, or use another field: the type of a field in \(place.name) stays"
        )
    }
}
