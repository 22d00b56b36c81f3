/// Where a page of a query ended: the values that its last match is sorted by, and when that was created. The next page
/// has what stands behind it.
///
/// A place in an order, not a count: however many records come and go meanwhile, none that stays as it is is given
/// twice or left out. It means the same whatever plan runs the query, and after a restart. A cursor goes with the query
/// that it came from.
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
        /// The record has nothing there that has an order.
        case missing

        /// Bytes of a text that count where records are sorted: what is equal so far stands in the order of creation.
        /// So cursors are small however long texts are.
        package static let textBytes = 1024
    }

    /// One for each of the query's sort descriptors.
    package var values: [SortValue]
    /// Of the change that created the record: the last part of every order.
    package var created: ChangePosition

    package init(values: [SortValue], created: ChangePosition) {
        self.values = values
        self.created = created
    }
}
