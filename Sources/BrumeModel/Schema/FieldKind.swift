/// What kind of value a field holds. Raw values are the numbers of `brume.v1.Value`'s members.
package enum FieldKind: UInt8, Hashable, Sendable, CaseIterable {
    case string = 1
    case int64 = 2
    case double = 3
    case bytes = 4
    case date = 5
    case location = 6
    case reference = 7
    case strings = 8
    case int64s = 9
    case doubles = 10
    case bytesList = 11
    case dates = 12
    case locations = 13
    case references = 14
    case emptyList = 15
    case asset = 16
    case assets = 17

    package init(_ value: FieldValue) {
        self =
            switch value {
            case .string: .string
            case .int64: .int64
            case .double: .double
            case .bytes: .bytes
            case .date: .date
            case .location: .location
            case .reference: .reference
            case .strings: .strings
            case .int64s: .int64s
            case .doubles: .doubles
            case .bytesList: .bytesList
            case .dates: .dates
            case .locations: .locations
            case .references: .references
            case .emptyList: .emptyList
            case .asset: .asset
            case .assets: .assets
            }
    }

    /// As the schema language spells the type of such a value.
    package var schemaText: String { SchemaFieldType(learnedFrom: self)?.text ?? "an empty list" }
}
