/// What waits for the disk, in the order of the positions that it waits for; among equal ones the first comes first.
struct DurabilityQueue<Waiter> {
    private struct Place {
        let position: UInt64
        /// Nil: it has left.
        var waiter: Waiter?
    }

    private var waiting: [Place] = []
    private var first = 0

    var count: Int { waiting.count - first }

    mutating func insert(_ waiter: consuming Waiter, at position: UInt64) {
        // Almost always behind all that waits; a read of another database may belong further to the front.
        var index = waiting.count
        while index > first, waiting[index - 1].position > position { index -= 1 }
        if index == waiting.count {
            waiting.append(Place(position: position, waiter: waiter))
        } else {
            waiting.insert(Place(position: position, waiter: waiter), at: index)
        }
    }

    /// Takes out the next one that waits for this position, or an earlier one.
    mutating func next(upTo position: UInt64) -> Waiter? {
        guard first < waiting.count, waiting[first].position <= position else { return nil }
        let waiter = waiting[first].waiter.take()
        first += 1
        // Seldom, and then for as many as have left.
        if first * 2 > waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        return waiter
    }
}
