internal import BrumeModel

/// Virtual time, with the events to come in order. Nothing else makes time pass.
final class Scheduler {
    private struct Event {
        let time: UInt64
        let sequence: UInt64
        let body: () -> Void
    }

    private(set) var nowNanoseconds: UInt64 = 1_000_000_000
    private var events = Heap<Event> { ($0.time, $0.sequence) < ($1.time, $1.sequence) }
    private var sequence: UInt64 = 0
    private(set) var eventCount = 0

    /// Schedules an event; events of one time happen in the order in which they were scheduled.
    func after(_ nanoseconds: UInt64, _ body: @escaping () -> Void) {
        at(nowNanoseconds + nanoseconds, body)
    }

    func at(_ time: UInt64, _ body: @escaping () -> Void) {
        sequence += 1
        events.push(Event(time: max(time, nowNanoseconds), sequence: sequence, body: body))
    }

    /// Runs all events that are due until then. An event may call this: then time passes within it.
    func run(until end: UInt64, while goesOn: () -> Bool) {
        while let first = events.first, first.time <= end, goesOn() {
            let event = events.pop()
            nowNanoseconds = event.time
            eventCount += 1
            event.body()
        }
        nowNanoseconds = max(nowNanoseconds, end)
    }

    /// Drops all events, so that nothing more happens.
    func forgetAll() { events.removeAll() }
}
