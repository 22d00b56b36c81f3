/// The end of a page of a query: the values that its last match is sorted by, and the position at which that record was
/// created. The next page starts after it.
///
/// A cursor is a place in an order, not a count: however many records are created and deleted meanwhile, no unchanged
/// record is returned twice or left out. It means the same whatever plan runs the query, and after a restart. A cursor
/// is only valid with the query that it came from.
package struct QueryCursor: Hashable, Sendable {
    /// What a record is sorted by.
    package enum SortValue: Hashable, Sendable {
        case int64(Int64)
        /// Also a distance.
        case double(Double)
        case date(Double)
        /// The first bytes of a text, see ``SortValue/textBytes``.
        case string([UInt8])
        /// The same of bytes.
        case bytes([UInt8])
        /// A target's name.
        case reference([UInt8])
        /// The record has no sortable value for the key.
        case missing

        /// The number of a text's first bytes that records are sorted by: texts that are equal that far come in the
        /// order of creation. So cursors stay small however long the texts are.
        package static let textBytes = 1024
    }

    /// One for each of the query's sort descriptors.
    package var values: [SortValue]
    /// The position of the change that created the record: the last part of every order.
    package var created: ChangePosition

    package init(values: [SortValue], created: ChangePosition) {
        self.values = values
        self.created = created
    }
}
