internal import BrumeModel
internal import BrumeRecord

/// Keeps the first matches after a cursor, whatever order they are offered in: a page and one more.
///
/// As long as each comes after the one before, as indexes usually give them, they are kept in that order; from the
/// first one on that does not, they are a heap with the last one on top.
struct MatchCollector {
    struct Row {
        /// Where the row stands in the order.
        var place: SortOrder.Place
        /// Index of the zone in its query.
        var zone: Int32
        var slot: Int32
    }

    private(set) var order: SortOrder
    private let after: SortOrder.Place?
    /// Rows that are kept.
    let limit: Int
    /// Rising, or a heap.
    private var kept: [Row] = []
    private var isHeap = false
    /// For matches in the order of creation: a record must be created between these to be kept.
    private var firstCreated: UInt64 = 0
    private var endCreated = UInt64.max

    /// - Parameter pageLimit: One row more is kept, to know whether there is another page.
    init(order: SortOrder, after: QueryCursor?, pageLimit: Int) {
        self.order = order
        self.after = after.map { order.place($0) }
        limit = pageLimit + 1
        if order.isEmpty, let after { firstCreated = after.created.rawValue &+ 1 }
    }

    /// Whether matches have no other order than that of their creation.
    var isInOrderOfCreation: Bool { order.isEmpty }

    var isFull: Bool { kept.count == limit }
    /// The last row that is kept.
    var last: SortOrder.Place? { isHeap ? kept.first?.place : kept.last?.place }

    var sortedRows: [Row] {
        if !isHeap { return kept }
        if order.isEmpty { return kept.sorted { $0.place.created.rawValue < $1.place.created.rawValue } }
        return kept.sorted { order.compare($0.place, $1.place) < 0 }
    }

    /// Whether a record created then may be kept, as far as that alone says.
    func admits(created: ChangePosition) -> Bool {
        firstCreated <= created.rawValue && created.rawValue < endCreated
    }

    /// Whether the record whose values are loaded would be kept if it matched. Without sort descriptors its creation
    /// says all.
    mutating func admits(_ fields: FieldLookup, created: ChangePosition) -> Bool {
        if order.isEmpty { return admits(created: created) }
        order.read(fields)
        return admitsCandidate(created: created)
    }

    /// The same for a record whose value for the only sort descriptor is known without reading the record.
    mutating func admits(_ value: StoredScalar?, created: ChangePosition) -> Bool {
        order.read(value)
        return admitsCandidate(created: created)
    }

    private func admitsCandidate(created: ChangePosition) -> Bool {
        if let after, order.compareCandidate(created: created, with: after) <= 0 { return false }
        return !isFull || order.compareCandidate(created: created, with: kept[isHeap ? 0 : limit - 1].place) < 0
    }

    /// Keeps the record that was admitted last.
    ///
    /// - Parameter mayRepeat: Whether it may have been kept already: some ways lead to a record twice.
    mutating func keep(created: ChangePosition, zone: Int32, slot: Int32, mayRepeat: Bool) {
        if mayRepeat, kept.contains(where: { $0.place.created.rawValue == created.rawValue }) { return }
        let isNext =
            if let last = kept.last {
                order.isEmpty
                    ? created.rawValue > last.place.created.rawValue
                    : order.compareCandidate(created: created, with: last.place) > 0
            } else { true }
        if !isHeap, !isNext {
            // An array in falling order is a heap.
            kept.reverse()
            isHeap = true
        }
        let row = Row(place: order.place(created: created), zone: zone, slot: slot)
        if !isHeap {
            if kept.isEmpty { kept.reserveCapacity(min(limit, 128)) }
            kept.append(row)
        } else if isFull {
            kept[0] = row
            sink()
        } else {
            kept.append(row)
            rise()
        }
        if order.isEmpty, isFull { endCreated = (isHeap ? kept[0] : kept[limit - 1]).place.created.rawValue }
    }

    private func isBehind(_ left: Int, _ right: Int) -> Bool {
        if order.isEmpty { return kept[left].place.created.rawValue > kept[right].place.created.rawValue }
        return order.compare(kept[left].place, kept[right].place) > 0
    }

    private mutating func rise() {
        var index = kept.count - 1
        while index > 0, isBehind(index, (index - 1) / 2) {
            kept.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink() {
        var index = 0
        while true {
            var last = index
            for child in 2 * index + 1...2 * index + 2 where child < kept.count && isBehind(child, last) {
                last = child
            }
            if last == index { return }
            kept.swapAt(index, last)
            index = last
        }
    }
}
