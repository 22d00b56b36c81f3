/// Whether a record may be saved as it is.
package enum SaveVerdict: Equatable, Sendable {
    case fits
    /// The record fits once the schema has learned from it, which it may.
    case teaches
    case refused(ServiceError)
}

/// Checks the fields that the saves of one request put into records. When the schema may learn, missing types and
/// fields are added to the lesson, up to the first field for which the schema has no room: such a lesson has to be
/// refused (``Schema/refusal(of:)``).
///
/// A value whose type differs from the schema's is always refused; an unknown type or field is refused only when the
/// schema may not learn. A public database has no encrypted values: nobody would have its keys. Nor has a share: it has
/// no stamp that says with which keys it is encrypted, and whoever is invited reads it before they have any.
package struct SaveChecker {
    private let schema: Schema
    private let place: SchemaPlace
    private let scope: DatabaseScope
    package private(set) var lesson = SchemaLesson()
    /// The type that was looked up last, with its fields, which are nil when the schema has no such type. Most requests
    /// save records of one type.
    private var known: (type: String, fields: [RecordTypeSchema.Field]?)
    /// The number of fields that were noted, repetitions included.
    private var notedCount = 0

    /// - Parameter scope: That of the database that the records are saved in.
    package init(_ schema: Schema, in place: SchemaPlace, scope: DatabaseScope = .private) {
        self.schema = schema
        self.place = place
        self.scope = scope
        known = ("", nil)
    }

    /// - Parameter fields: Visits the fields in the order of their keys, each once: the key in UTF-8, and the kind of
    ///   its value. Stops when the visitor returns false.
    /// - Complexity: One look-up for each field of the record. The type's other fields are mostly skipped: see
    ///   ``SortedSearch``.
    package mutating func check(
        type name: String, fields: (_ visit: (UnsafeRawBufferPointer, FieldKind) -> Bool) -> Void
    ) -> SaveVerdict {
        if known.type != name { known = (name, schema.recordTypes[name]?.fields) }
        guard let knownFields = known.fields else {
            guard place.learns else { return .refused(Schema.unknownType(name, in: place)) }
            // Its name is checked by the engine, whose message says more.
            if Names.problemWithRecordType(name) != nil { return .fits }
            var refusal: ServiceError?
            lesson.note(type: name)
            fields { key, kind in
                refusal = encryptionRefusal(of: kind, key, in: name)
                if refusal != nil { return false }
                learn(kind, of: key, in: name)
                return mayNoteMore
            }
            if let refusal { return .refused(refusal) }
            return notedCount < Limits.fieldsTaughtPerRequest ? .teaches : .refused(Schema.tooMuchToLearn)
        }
        var verdict = SaveVerdict.fits
        var next = 0
        fields { key, kind in
            if let refusal = encryptionRefusal(of: kind, key, in: name) {
                verdict = .refused(refusal)
                return false
            }
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

    /// Why a record can't have a value of such a kind because it is encrypted, or nil.
    private func encryptionRefusal(
        of kind: FieldKind, _ key: UnsafeRawBufferPointer, in type: String
    ) -> ServiceError? {
        guard kind.isEncrypted else { return nil }
        if scope == .public { return Schema.encryptedInPublic(String(decoding: key, as: UTF8.self)) }
        if type == Names.shareType { return Schema.encryptedInShare(String(decoding: key, as: UTF8.self)) }
        return nil
    }

    /// False once the lesson has more fields than the schema has room for: it will be refused, whatever else it has.
    /// Only fields that the schema does not know are noted.
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

    fileprivate static func encryptedInPublic(_ field: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "the field '\(field)' is encrypted, and a public database has no encrypted values, since everybody reads it; "
                + "save the value as it is, or in a private database")
    }

    fileprivate static func encryptedInShare(_ field: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            "the field '\(field)' is encrypted, and a share has no encrypted values; save them in its root record")
    }

    fileprivate static func conflict(
        _ field: RecordTypeSchema.Field, in type: String, sent kind: FieldKind, _ place: SchemaPlace
    ) -> ServiceError {
        if field.type.isEncrypted != SchemaFieldType(learnedFrom: kind)?.isEncrypted ?? kind.isEncrypted {
            let remedy =
                field.type.isEncrypted
                ? "is encrypted; set it with encryptedValues" : "is not encrypted; set it without encryptedValues"
            return ServiceError(
                .invalidArguments,
                "invalid attempt to set value type \(kind.schemaText) for field '\(field.name)' of record type \(type), which "
                    + "\(remedy), or use another field: what \(place.name) says of it stays")
        }
        return ServiceError(
            .invalidArguments,
            "invalid attempt to set value type \(kind.schemaText) for field '\(field.name)' of record type \(type), defined to "
                + "be: \(field.type.text); send that type, or use another field: the type of a field in \(place.name) stays"
        )
    }
}
