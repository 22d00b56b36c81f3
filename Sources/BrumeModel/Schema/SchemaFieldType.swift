/// The type of a field in a schema: what a value of it has to be.
package struct SchemaFieldType: Hashable, Sendable {
    /// Raw values are those of `brume.store.v1.SchemaField.type`.
    package enum Element: UInt8, Hashable, Sendable, CaseIterable {
        case asset = 1
        case bytes = 2
        case double = 3
        case int64 = 4
        case location = 5
        /// Integers and floating-point numbers alike.
        case number = 6
        case reference = 7
        case string = 8
        case timestamp = 9

        package var keyword: String {
            switch self {
            case .asset: "ASSET"
            case .bytes: "BYTES"
            case .double: "DOUBLE"
            case .int64: "INT64"
            case .location: "LOCATION"
            case .number: "NUMBER"
            case .reference: "REFERENCE"
            case .string: "STRING"
            case .timestamp: "TIMESTAMP"
            }
        }

        /// Whether the language has an `ENCRYPTED` form of it. Assets have none: the public database has plain ones in
        /// the fields in which private databases have encrypted ones.
        package var mayBeEncrypted: Bool {
            switch self {
            case .bytes, .string, .double, .int64, .location, .timestamp: true
            case .asset, .number, .reference: false
            }
        }
    }

    /// What a `NUMBER` is `PREFERRED AS`: kept and printed, without an effect on values.
    package enum Preference: UInt8, Hashable, Sendable {
        case int64 = 1
        case double = 2

        package var keyword: String { self == .int64 ? "INT64" : "DOUBLE" }
    }

    package let element: Element
    package let isList: Bool
    /// Encrypted by devices: the server can't look into it.
    package let isEncrypted: Bool
    package let preference: Preference?

    package init(
        _ element: Element, isList: Bool = false, isEncrypted: Bool = false, preference: Preference? = nil
    ) {
        precondition(!isEncrypted || element.mayBeEncrypted, "a type without an encrypted form is encrypted")
        precondition(preference == nil || (element == .number && !isList), "only a NUMBER is preferred as another type")
        self.element = element
        self.isList = isList
        self.isEncrypted = isEncrypted
        self.preference = preference
    }

    /// The type that the first value of a field gives it; nil for an empty list, encrypted or not, which says nothing.
    package init?(learnedFrom kind: FieldKind) {
        if let decrypted = kind.decrypted {
            guard let plain = SchemaFieldType(learnedFrom: decrypted) else { return nil }
            self.init(plain.element, isList: plain.isList, isEncrypted: plain.element.mayBeEncrypted)
            return
        }
        self.init(learnedFromPlain: kind)
    }

    private init?(learnedFromPlain kind: FieldKind) {
        switch kind {
        case .string: self.init(.string)
        case .int64: self.init(.int64)
        case .double: self.init(.double)
        case .bytes: self.init(.bytes)
        case .date: self.init(.timestamp)
        case .location: self.init(.location)
        case .reference: self.init(.reference)
        case .strings: self.init(.string, isList: true)
        case .int64s: self.init(.int64, isList: true)
        case .doubles: self.init(.double, isList: true)
        case .bytesList: self.init(.bytes, isList: true)
        case .dates: self.init(.timestamp, isList: true)
        case .locations: self.init(.location, isList: true)
        case .references: self.init(.reference, isList: true)
        case .asset: self.init(.asset)
        case .assets: self.init(.asset, isList: true)
        default: return nil
        }
    }

    /// Whether a field of this type may hold such a value.
    ///
    /// A `NUMBER` holds integers and floating-point numbers; otherwise the types have to be the same. An encrypted
    /// field holds nothing but encrypted values, and a plain one none but assets: not even an empty list passes for the
    /// other.
    package func accepts(_ kind: FieldKind) -> Bool {
        guard let learned = SchemaFieldType(learnedFrom: kind) else { return isList && kind.isEncrypted == isEncrypted }
        if learned.isList != isList || learned.isEncrypted != isEncrypted { return false }
        if learned.element == element { return true }
        return element == .number && (learned.element == .int64 || learned.element == .double)
    }

    /// Whether a query may compare a field of this type, or an element of it, with a value that is no list. Numbers
    /// compare with numbers, and nothing with assets or with what is encrypted.
    package func compares(with kind: FieldKind) -> Bool {
        guard !isEncrypted, let other = SchemaFieldType(learnedFrom: kind), !other.isEncrypted, !other.isList
        else { return false }
        switch element {
        case .asset: return false
        case .int64, .double, .number: return other.element == .int64 || other.element == .double
        default: return other.element == element
        }
    }

    /// The options that a field of this type can have (Documentation/CloudKit.md, Queries); a learned field gets all of
    /// them.
    package var applicableOptions: IndexOptions {
        if isEncrypted { return [] }
        return switch element {
        case .asset, .bytes: []
        case .string: isList ? [.queryable, .searchable] : .all
        case .reference: .queryable
        case .double, .int64, .location, .number, .timestamp: isList ? .queryable : [.queryable, .sortable]
        }
    }

    /// As the language spells it.
    package var text: String {
        var text = (isEncrypted ? "ENCRYPTED " : "") + element.keyword
        if let preference { text += " PREFERRED AS \(preference.keyword)" }
        return isList ? "LIST<\(text)>" : text
    }

    /// With its article, for sentences: "an INT64".
    package var textWithArticle: String {
        let text = text
        return (text.first.map { "AEIO".contains($0) } == true ? "an " : "a ") + text
    }

    /// Whether a field of one type may be given the other: they differ at most in the preference of a `NUMBER`.
    package func isSame(as other: SchemaFieldType) -> Bool {
        element == other.element && isList == other.isList && isEncrypted == other.isEncrypted
    }
}
