package import BrumeModel

/// One page of a query, before its cursor is sealed.
package struct QueryResults: Equatable, Sendable {
    /// In the query's order.
    package var matches: [QueryMatch<SharedBytes>]
    /// Where the next page begins; nil when there is none.
    package var next: QueryCursor?

    package init(matches: [QueryMatch<SharedBytes>] = [], next: QueryCursor? = nil) {
        self.matches = matches
        self.next = next
    }
}
