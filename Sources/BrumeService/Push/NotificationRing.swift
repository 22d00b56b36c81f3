internal import BrumeModel
internal import BrumeStore

/// The last events of one user in one database, oldest first: what devices that are away or slow are still to get.
///
/// Pure and bounded: events that fall out move the floor, and a device at a place before the floor is told to fetch
/// from its token (P7). All of the user's devices share the ring; a device's place is a position.
struct NotificationRing {
    struct Event {
        var position: ChangePosition
        /// The user's device that made the change, which is left out; empty where none of theirs did.
        var origin: [UInt8]
        /// An encoded `brume.v1.NotificationEvent` without its position, shared by all streams.
        var message: [UInt8]
        /// What ``message`` will be made of if nobody listened when the event came: most of those are never asked for.
        var hint: Hint?
        /// What decides whether the user may read the record of an event; nil in a private database.
        var subject: NotificationSubject?
    }

    /// A zone or database subscription that was fired. It takes next to nothing beside the event's place while the
    /// subscription exists; once that is replaced, the hint keeps it in memory.
    struct Hint: Equatable {
        var subscription: KeptSubscription
        var committedMilliseconds: Int64

        static func == (left: Hint, right: Hint) -> Bool {
            left.subscription === right.subscription && left.committedMilliseconds == right.committedMilliseconds
        }
    }

    private var events: [Event] = []
    private var first = 0
    private(set) var byteCount = 0
    private let eventLimit: Int
    private let byteLimit: Int

    /// Events that are kept.
    var count: Int { events.count - first }

    /// Events up to here are gone: a device at an earlier place has missed some.
    private(set) var floor: ChangePosition
    /// The place after the newest event.
    private(set) var head: ChangePosition
    /// Whether any events have been dropped.
    private(set) var hasDropped = false

    var eventCount: Int { events.count - first }

    /// What an event takes beside its message and its origin: its place in the array, and what two allocations add.
    private static let eventOverheadBytes = 128

    /// About what the events take in memory. Those that are gone keep their places for a while, without their messages.
    var approximateBytes: Int { byteCount + events.count * NotificationRing.eventOverheadBytes }

    /// A ring that knows nothing of what was before `head`.
    init(
        head: ChangePosition, eventLimit: Int = ServiceLimits.backlogEvents, byteLimit: Int = ServiceLimits.backlogBytes
    ) {
        floor = head
        self.head = head
        self.eventLimit = eventLimit
        self.byteLimit = byteLimit
    }

    mutating func append(_ event: Event) {
        precondition(event.position > head, "events come in the order of commits")
        events.append(event)
        head = event.position
        byteCount += Self.bytes(of: event)
        while events.count - first > eventLimit || (byteCount > byteLimit && events.count - first > 1) { dropFirst() }
        forgetDropped()
    }

    /// Whether there is room for so many events at once.
    func holds(_ count: Int, byteCount: Int) -> Bool { count <= eventLimit && byteCount <= byteLimit }

    /// Drops the events up to the position, because other users' events need the room.
    mutating func drop(through position: ChangePosition) {
        while first < events.count, events[first].position <= position { dropFirst() }
        forgetDropped()
    }

    /// Drops all events, because there were more than are reported one by one: a device at a place before the position
    /// is told to fetch.
    mutating func overflow(at position: ChangePosition) {
        precondition(position > head, "events come in the order of commits")
        events = []
        first = 0
        byteCount = 0
        floor = position
        head = position
        hasDropped = true
    }

    /// What an event counts in ``byteCount``.
    static func bytes(of event: Event) -> Int {
        event.message.count + (event.hint.map { hintBytes + $0.subscription.textBytes } ?? 0)
    }

    /// About what the message of a hint takes beside the subscription's texts.
    private static let hintBytes = 64

    private mutating func dropFirst() {
        floor = events[first].position
        byteCount -= Self.bytes(of: events[first])
        events[first].message = []
        events[first].hint = nil
        first += 1
        hasDropped = true
    }

    private mutating func forgetDropped() {
        guard first > eventLimit || first == events.count else { return }
        events.removeFirst(first)
        first = 0
    }

    enum Next: Equatable {
        /// Nothing comes after the place.
        case none
        /// Events between the place and the floor are gone: go on from the floor.
        case missed(floor: ChangePosition)
        /// The next event for the device.
        case event(ChangePosition, [UInt8], NotificationSubject? = nil)
        /// The same, not yet encoded.
        case hint(ChangePosition, Hint)
        /// Only the device's own changes come after the place: go on after them.
        case skipped(to: ChangePosition)
    }

    /// What a device at `place` gets next.
    func next(after place: ChangePosition, device: [UInt8]) -> Next {
        if place < floor { return .missed(floor: floor) }
        var index = firstIndex(after: place)
        var skippedTo: ChangePosition?
        while index < events.count {
            let event = events[index]
            if event.origin != device {
                return event.hint.map { .hint(event.position, $0) }
                    ?? .event(event.position, event.message, event.subject)
            }
            skippedTo = event.position
            index += 1
        }
        return skippedTo.map { .skipped(to: $0) } ?? .none
    }

    /// All events after a place; nil if some of them are gone.
    func events(after place: ChangePosition) -> ArraySlice<Event>? {
        place < floor ? nil : events[firstIndex(after: place)...]
    }

    private func firstIndex(after place: ChangePosition) -> Int {
        // Devices that listen have taken everything but the newest event.
        if events.count - first >= 2, events[events.count - 2].position <= place {
            return events[events.count - 1].position > place ? events.count - 1 : events.count
        }
        var low = first
        var high = events.count
        while low < high {
            let middle = (low + high) / 2
            if events[middle].position <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
