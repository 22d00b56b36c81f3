/// What queries may do with a field (Documentation/CloudKit.md, Schemas).
package struct IndexOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `QUERYABLE`: equality, membership, references, distance.
    package static let queryable = IndexOptions(rawValue: 1)
    /// `SORTABLE`: order, and comparisons by order.
    package static let sortable = IndexOptions(rawValue: 2)
    /// `SEARCHABLE`: full text.
    package static let searchable = IndexOptions(rawValue: 4)

    package static let all: IndexOptions = [.queryable, .sortable, .searchable]

    /// Each option with its keyword, in the order in which they are printed.
    package static let keywords: [(option: IndexOptions, keyword: String)] = [
        (.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE"),
    ]

    /// The keywords, a space between two; empty for none.
    package var text: String {
        IndexOptions.keywords.filter { contains($0.option) }.map(\.keyword).joined(separator: " ")
    }
}
