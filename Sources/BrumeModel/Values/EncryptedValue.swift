/// A value that a device encrypted, as it is sent and stored: which kind of value it is, and bytes that only devices
/// can open (Documentation/EncryptionFormats.md, section 4).
///
/// The server checks the form of the bytes when a record is saved (``EncryptedHeader``) and never looks at them again.
package struct EncryptedValue: Hashable, Sendable {
    /// The kind of the value inside: one that has an encrypted form.
    package let kind: FieldKind
    /// The assets that the value opens, whose contents the device encrypted as well: one for the kind `asset`, one or
    /// more for `assets`, and none for any other kind.
    package let assets: [Asset]
    /// For assets these hold the secrets that open their contents, in the same order.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - kind: The kind of the plain value; ``FieldKind/encrypted`` must not be nil.
    ///   - assets: As many as ``mayHave(assetCount:kind:)`` says.
    package init(_ kind: FieldKind, _ bytes: [UInt8], assets: [Asset] = []) {
        precondition(kind.encrypted != nil, "a value of a kind without an encrypted form is encrypted")
        precondition(
            Self.mayHave(assetCount: assets.count, kind: kind), "an encrypted value has another number of assets")
        self.kind = kind
        self.assets = assets
        self.bytes = bytes
    }

    /// Whether an encrypted value of a kind may have so many assets.
    package static func mayHave(assetCount: Int, kind: FieldKind) -> Bool {
        switch kind {
        case .asset: assetCount == 1
        case .assets: assetCount > 0
        default: assetCount == 0
        }
    }

    /// As the schema language spells the type of the value inside, such as "LIST<INT64>"; "LIST" for an empty list
    /// whose element type is not known.
    package var plainTypeText: String { SchemaFieldType(learnedFrom: kind)?.text ?? "LIST" }

    /// The value with `plainTypeText`; nil for a text that is none, and for another number of assets than it has.
    package init?(plainTypeText text: String, _ bytes: [UInt8], assets: [Asset] = []) {
        let kind = FieldKind.allCases.first { kind in
            kind.encrypted != nil && (SchemaFieldType(learnedFrom: kind)?.text ?? "LIST") == text
        }
        guard let kind, Self.mayHave(assetCount: assets.count, kind: kind) else { return nil }
        self.init(kind, bytes, assets: assets)
    }
}
