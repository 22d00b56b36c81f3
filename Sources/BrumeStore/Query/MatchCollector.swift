internal import BrumeModel

/// Keeps the first matches behind a cursor, whatever order they are offered in: a heap of a page and one more, its last row on top.
struct MatchCollector {
    struct Row {
        /// Where the row stands in the order.
        var place: QueryCursor
        /// Index of the zone in its query.
        var zone: Int32
        var slot: Int32
    }

    private(set) var order: SortOrder
    let after: QueryCursor?
    /// Rows that are kept.
    let limit: Int
    private var heap: [Row] = []

    /// - Parameter pageLimit: One row more is kept, to know whether there is another page.
    init(order: SortOrder, after: QueryCursor?, pageLimit: Int) {
        self.order = order
        self.after = after
        limit = pageLimit + 1
    }

    /// Whether matches have no other order than that of their creation.
    var isInOrderOfCreation: Bool { order.isEmpty }

    var isFull: Bool { heap.count == limit }
    /// The last row that is kept.
    var last: QueryCursor? { heap.first?.place }
    /// In no order.
    var rows: [Row] { heap }
    var sortedRows: [Row] { heap.sorted { order.compare($0.place, $1.place) < 0 } }

    /// Whether a record created then may be kept, as far as that alone says.
    func admits(created: ChangePosition) -> Bool {
        if !order.isEmpty { return true }
        if let after, created <= after.created { return false }
        return !isFull || created < heap[0].place.created
    }

    /// Whether the record whose values are loaded would be kept if it matched.
    mutating func admits(_ fields: FieldLookup, created: ChangePosition) -> Bool {
        order.read(fields)
        if let after, order.compareCandidate(created: created, with: after) <= 0 { return false }
        return !isFull || order.compareCandidate(created: created, with: heap[0].place) < 0
    }

    /// Keeps the record that was admitted last, unless it is there already: indexes may lead to a record twice.
    mutating func keep(created: ChangePosition, zone: Int32, slot: Int32) {
        if heap.contains(where: { $0.place.created == created }) { return }
        let row = Row(place: QueryCursor(values: order.values, created: created), zone: zone, slot: slot)
        if isFull {
            heap[0] = row
            sink()
        } else {
            heap.append(row)
            rise()
        }
    }

    private func isBehind(_ left: Int, _ right: Int) -> Bool {
        order.compare(heap[left].place, heap[right].place) > 0
    }

    private mutating func rise() {
        var index = heap.count - 1
        while index > 0, isBehind(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink() {
        var index = 0
        while true {
            var last = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && isBehind(child, last) {
                last = child
            }
            if last == index { return }
            heap.swapAt(index, last)
            index = last
        }
    }
}
