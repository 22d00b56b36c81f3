/// What waits for the disk, ordered by the position that it waits for; among equal positions, in order of arrival.
struct DurabilityQueue<Waiter> {
    private struct Place {
        let position: UInt64
        /// Nil once it has been taken out.
        var waiter: Waiter?
    }

    private var waiting: [Place] = []
    private var first = 0

    var count: Int { waiting.count - first }

    mutating func insert(_ waiter: consuming Waiter, at position: UInt64) {
        // Almost always belongs at the end; a read of another database may belong further to the front.
        var index = waiting.count
        while index > first, waiting[index - 1].position > position { index -= 1 }
        if index == waiting.count {
            waiting.append(Place(position: position, waiter: waiter))
        } else {
            waiting.insert(Place(position: position, waiter: waiter), at: index)
        }
    }

    /// Removes and returns the waiters that match, in order.
    mutating func removeAll(where matches: (Waiter) -> Bool) -> [Waiter] {
        var removed: [Waiter] = []
        var kept: [Place] = []
        for place in waiting[first...] {
            if matches(place.waiter!) { removed.append(place.waiter!) } else { kept.append(place) }
        }
        (waiting, first) = (kept, 0)
        return removed
    }

    /// Removes and returns the next waiter for this position or an earlier one.
    mutating func next(upTo position: UInt64) -> Waiter? {
        guard first < waiting.count, waiting[first].position <= position else { return nil }
        let waiter = waiting[first].waiter.take()
        first += 1
        // Compacts only when more than half of the entries have been taken out.
        if first * 2 > waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        return waiter
    }
}
