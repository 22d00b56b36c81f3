/// Names a timer of one loop. It stays valid to cancel after the timer fired: that does nothing.
package struct TimerID: Equatable, Hashable, Sendable {
    let slot: Int
    let generation: UInt32
}

/// Timers by deadline: a binary heap whose entries know their place, so that a cancelled timer leaves at once.
///
/// Timers of one deadline fire in the order in which they were scheduled. Pure: time is an argument.
/// The number of timers is bounded by their users: a connection has at most two.
struct TimerQueue {
    private struct Slot {
        var deadline: UInt64 = 0
        var sequence: UInt64 = 0
        var generation: UInt32 = 0
        /// Where the timer stands in `heap`, or -1.
        var position = -1
        var body: (() -> Void)?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var heap: [Int] = []
    private var sequence: UInt64 = 0

    var count: Int { heap.count }

    /// The deadline of the next timer, in nanoseconds.
    var nextDeadline: UInt64? { heap.first.map { slots[$0].deadline } }

    mutating func schedule(deadline: UInt64, _ body: @escaping () -> Void) -> TimerID {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        sequence += 1
        slots[slot].deadline = deadline
        slots[slot].sequence = sequence
        slots[slot].body = body
        heap.append(slot)
        slots[slot].position = heap.count - 1
        moveUp(heap.count - 1)
        return TimerID(slot: slot, generation: slots[slot].generation)
    }

    mutating func cancel(_ id: TimerID) {
        guard id.slot < slots.count, slots[id.slot].generation == id.generation else { return }
        _ = remove(id.slot)
    }

    /// Takes the body of the first timer whose deadline is not after `now`.
    ///
    /// - Parameter lastSequence: Timers scheduled later than this are left for the next turn, so that a timer which
    ///   schedules itself at once cannot hold the loop.
    mutating func popDue(now: UInt64, lastSequence: UInt64) -> (() -> Void)? {
        guard let slot = heap.first, slots[slot].deadline <= now, slots[slot].sequence <= lastSequence else {
            return nil
        }
        return remove(slot)
    }

    var lastSequence: UInt64 { sequence }

    mutating func removeAll() {
        while let slot = heap.last { _ = remove(slot) }
    }

    private mutating func remove(_ slot: Int) -> (() -> Void)? {
        let position = slots[slot].position
        let last = heap.removeLast()
        if last != slot {
            heap[position] = last
            slots[last].position = position
            moveDown(position)
            moveUp(slots[last].position)
        }
        slots[slot].position = -1
        slots[slot].generation &+= 1
        free.append(slot)
        return slots[slot].body.take()
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (slots[left].deadline, slots[left].sequence) < (slots[right].deadline, slots[right].sequence)
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        slots[heap[left]].position = left
        slots[heap[right]].position = right
    }

    private mutating func moveUp(_ start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard isBefore(heap[position], heap[parent]) else { return }
            swap(position, parent)
            position = parent
        }
    }

    private mutating func moveDown(_ start: Int) {
        var position = start
        while true {
            var smallest = position
            for child in [2 * position + 1, 2 * position + 2] where child < heap.count {
                if isBefore(heap[child], heap[smallest]) { smallest = child }
            }
            if smallest == position { return }
            swap(position, smallest)
            position = smallest
        }
    }
}
