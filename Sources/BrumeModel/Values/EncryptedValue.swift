/// A value that a device encrypted, as it is sent and stored: which kind of value it is, and bytes that only devices
/// can open (Documentation/EncryptionFormats.md, section 4).
///
/// The server checks the form of the bytes when a record is saved (``EncryptedHeader``) and never looks at them again.
package struct EncryptedValue: Hashable, Sendable {
    /// The kind of the value inside: one that has an encrypted form.
    package let kind: FieldKind
    package let bytes: [UInt8]

    /// - Parameter kind: The kind of the plain value; ``FieldKind/encrypted`` must not be nil.
    package init(_ kind: FieldKind, _ bytes: [UInt8]) {
        precondition(kind.encrypted != nil, "a value of a kind without an encrypted form is encrypted")
        self.kind = kind
        self.bytes = bytes
    }

    /// As the schema language spells the type of the value inside, such as "LIST<INT64>"; "LIST" for an empty list
    /// whose element type is not known.
    package var plainTypeText: String { SchemaFieldType(learnedFrom: kind)?.text ?? "LIST" }

    /// The value with `plainTypeText`; nil for a text that is none.
    package init?(plainTypeText text: String, _ bytes: [UInt8]) {
        let kind = FieldKind.allCases.first { kind in
            kind.encrypted != nil && (SchemaFieldType(learnedFrom: kind)?.text ?? "LIST") == text
        }
        guard let kind else { return nil }
        self.init(kind, bytes)
    }
}
