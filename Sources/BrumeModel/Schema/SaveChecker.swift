/// Whether a record may be saved as it is.
package enum SaveVerdict: Equatable, Sendable {
    case fits
    /// The schema has to learn first, which it may.
    case teaches
    case refused(ServiceError)
}

/// Checks the fields that the saves of one request put into records. Where the schema may learn, what is missing is
/// added to the lesson, up to the first field for which the schema has no room: such a lesson has to be refused
/// (``Schema/refusal(of:)``).
///
/// A value of another type than the schema has is refused everywhere; a type or a field that is not there only where
/// nothing is learned.
package struct SaveChecker {
    private let schema: Schema
    private let place: SchemaPlace
    package private(set) var lesson = SchemaLesson()
    /// The type that was looked up last, with its fields; nil: the schema has no such type. Most requests save records
    /// of one.
    private var known: (type: String, fields: [RecordTypeSchema.Field]?)
    /// Fields that were noted, each as often as it came.
    private var notedCount = 0

    package init(_ schema: Schema, in place: SchemaPlace) {
        self.schema = schema
        self.place = place
        known = ("", nil)
    }

    /// - Parameter fields: Hands out the fields in the order of their keys, each once: the key in UTF-8, and what the
    ///   field holds. Ends early where it gets false back.
    /// - Complexity: A look-up for each field of the record. Those of the type are walked only where the record has
    ///   them: see ``SortedSearch``.
    package mutating func check(
        type name: String, fields: (_ visit: (UnsafeRawBufferPointer, FieldKind) -> Bool) -> Void
    ) -> SaveVerdict {
        if known.type != name { known = (name, schema.recordTypes[name]?.fields) }
        guard let knownFields = known.fields else {
            guard place.learns else { return .refused(Schema.unknownType(name, in: place)) }
            // Its name is checked by the engine, whose message says more.
            if Names.problemWithRecordType(name) != nil { return .fits }
            lesson.note(type: name)
            fields { key, kind in
                learn(kind, of: key, in: name)
                return mayNoteMore
            }
            return notedCount < Limits.fieldsTaughtPerRequest ? .teaches : .refused(Schema.tooMuchToLearn)
        }
        var verdict = SaveVerdict.fits
        var next = 0
        fields { key, kind in
            let found = SortedSearch.firstIndex(from: next, count: knownFields.count) {
                ByteOrder.compare(knownFields[$0].name, key)
            }
            next = found.index
            if found.isEqual {
                next += 1
                if knownFields[found.index].type.accepts(kind) { return true }
                verdict = .refused(Schema.conflict(knownFields[found.index], in: name, sent: kind, place))
                return false
            }
            if !place.learns {
                verdict = .refused(Schema.unknownField(String(decoding: key, as: UTF8.self), in: name, place))
                return false
            }
            if learn(kind, of: key, in: name) { verdict = .teaches }
            return mayNoteMore
        }
        return notedCount < Limits.fieldsTaughtPerRequest ? verdict : .refused(Schema.tooMuchToLearn)
    }

    /// False where the lesson brings more fields than the schema has room for: it is refused, whatever else it has.
    /// What was noted are fields that the schema does not know.
    private var mayNoteMore: Bool {
        notedCount < Limits.fieldsTaughtPerRequest && schema.fieldCount + lesson.fieldCount <= Limits.fieldsPerSchema
    }

    /// Whether there is something to learn: an empty list has no type.
    @discardableResult
    private mutating func learn(_ kind: FieldKind, of key: UnsafeRawBufferPointer, in type: String) -> Bool {
        guard let fieldType = SchemaFieldType(learnedFrom: kind) else { return false }
        notedCount += 1
        lesson.note(fieldType, of: String(decoding: key, as: UTF8.self), in: type)
        return true
    }
}

extension Schema {
    fileprivate static let tooMuchToLearn = ServiceError(
        .limitExceeded,
        "the records of a request have more than \(Limits.fieldsTaughtPerRequest) fields that the schema does not know yet; "
            + "save fewer at a time until it does")

    fileprivate static func unknownType(_ name: String, in place: SchemaPlace) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "Cannot create new type \(name.prefix(Limits.nameCharacters)) in \(place.environmentName) schema: \(place.name) does "
                + "not know it; \(place.remedy("define it"))")
    }

    fileprivate static func unknownField(_ field: String, in type: String, _ place: SchemaPlace) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "Cannot create new field '\(field)' of record type \(type) in \(place.environmentName) schema: \(place.name) does not know it; "
                + place.remedy("define it"))
    }

    fileprivate static func conflict(
        _ field: RecordTypeSchema.Field, in type: String, sent kind: FieldKind, _ place: SchemaPlace
    ) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "invalid attempt to set value type \(kind.schemaText) for field '\(field.name)' of record type \(type), defined to "
                + "be: \(field.type.text); send that type, or use another field: the type of a field in \(place.name) stays"
        )
    }
}
