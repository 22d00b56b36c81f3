/// Virtual time, with the events to come in order. Nothing else makes time pass.
final class Scheduler {
    private struct Event {
        let time: UInt64
        let sequence: UInt64
        let body: () -> Void
    }

    private(set) var nowNanoseconds: UInt64 = 1_000_000_000
    private var heap: [Event] = []
    private var sequence: UInt64 = 0
    private(set) var eventCount = 0

    /// Schedules an event; events of one time happen in the order in which they were scheduled.
    func after(_ nanoseconds: UInt64, _ body: @escaping () -> Void) {
        at(nowNanoseconds + nanoseconds, body)
    }

    func at(_ time: UInt64, _ body: @escaping () -> Void) {
        sequence += 1
        heap.append(Event(time: max(time, nowNanoseconds), sequence: sequence, body: body))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Runs all events that are due until then. An event may call this: then time passes within it.
    func run(until end: UInt64, while goesOn: () -> Bool) {
        while let first = heap.first, first.time <= end, goesOn() {
            let event = takeFirst()
            nowNanoseconds = event.time
            eventCount += 1
            event.body()
        }
        nowNanoseconds = max(nowNanoseconds, end)
    }

    /// Drops all events, so that nothing more happens.
    func forgetAll() { heap = [] }

    private func takeFirst() -> Event {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
                least = child
            }
            if least == parent { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].sequence) < (heap[right].time, heap[right].sequence)
    }
}
