package import BrumeModel

/// Gives each notification to every consumer, and says which may be acknowledged: those that all consumers of the app
/// have handled.
///
/// A consumer has handled a notification when it asks for the next one, or when it ends. What waits for a consumer is
/// bounded: beyond ``ClientSessionLimits/notificationsPerConsumer`` all of it becomes one event for each database that
/// says "fetch from your token", so a consumer that takes nothing costs no memory, and loses nothing either.
///
/// Observers, the SDK's own listeners, get the same. What comes while they alone listen waits for the app's first
/// consumer, under the same limit, and they acknowledge it only in an app that never listened on this device: it has
/// none that could miss something, and would hear all of it again at each of its starts. Observers fetch at each start,
/// whatever they are told.
///
/// Pure.
package struct NotificationFanOut: Sendable {
    package init() {}

    /// Where an event stands in what was received; the position is the server's.
    private struct Mark: Sendable {
        var number: UInt64
        var position: [UInt8]
    }

    private struct Consumer: Sendable {
        let isObserver: Bool
        var waiting: [(mark: Mark, event: NotificationEvent)] = []
        /// The event that was handed out last and may still be in work.
        var taken: Mark?
        /// Everything up to here is handled.
        var handled: Mark

        mutating func forgetPositions() {
            for index in waiting.indices { waiting[index].mark.position = [] }
            taken?.position = []
            handled.position = []
        }

        mutating func append(_ event: NotificationEvent, _ mark: Mark) {
            guard waiting.count >= ClientSessionLimits.notificationsPerConsumer else {
                return waiting.append((mark, event))
            }
            let dropped = Set(waiting.compactMap(\.event.kind.database) + [event.kind.database ?? .private])
            waiting = [DatabaseScope.private, .shared, .public].filter(dropped.contains).map { database in
                let overflow = NotificationEvent(
                    position: mark.position, notificationID: event.notificationID, subscriptionID: "",
                    notificationInfo: nil, kind: .fetchFromToken(database),
                    committedMilliseconds: event.committedMilliseconds)
                return (mark, overflow)
            }
        }
    }

    private var consumers: [UInt64: Consumer] = [:]
    /// What waits for the app while only observers listen: becomes the app's first consumer.
    private var unclaimed: Consumer?
    /// Whether the app itself listens, or did in an earlier run.
    private var appListens = false
    private var received = Mark(number: 0, position: [])
    private var acknowledged = Mark(number: 0, position: [])

    package var isEmpty: Bool { consumers.isEmpty }

    package var consumerIDs: [UInt64] { Array(consumers.keys) }

    /// Where a stream that is opened now resumes: behind what was received while there are consumers, whose events wait
    /// here; else behind what was acknowledged. Empty: the server knows better.
    package var resumePosition: [UInt8] { consumers.isEmpty ? acknowledged.position : received.position }

    /// - Parameters:
    ///   - isObserver: Whether it is one of the SDK's own.
    ///   - appListened: Whether the app itself listened in an earlier run.
    package mutating func consumerAdded(_ id: UInt64, isObserver: Bool = false, appListened: Bool = false) {
        if appListened || !isObserver { appListens = true }
        if consumers.isEmpty { received = Mark(number: received.number, position: acknowledged.position) }
        if isObserver {
            if consumers.isEmpty { unclaimed = Consumer(isObserver: false, handled: received) }
            consumers[id] = Consumer(isObserver: true, handled: received)
        } else {
            consumers[id] = unclaimed ?? Consumer(isObserver: false, handled: received)
            unclaimed = nil
        }
    }

    /// A consumer ended. What was handed out to it counts as handled.
    package mutating func consumerRemoved(_ id: UInt64) {
        guard var consumer = consumers.removeValue(forKey: id) else { return }
        if consumers.isEmpty {
            if !consumer.isObserver || !appListens { lastHandled = consumer.taken ?? consumer.handled }
            unclaimed = nil
        } else if !consumer.isObserver, consumers.values.allSatisfy(\.isObserver) {
            // The stream stays open for the observers. What the app's last consumer did not get waits for its next one.
            if let taken = consumer.taken { consumer.handled = taken }
            consumer.taken = nil
            unclaimed = consumer
        }
    }

    /// What the last consumer had handled when it ended.
    private var lastHandled: Mark?

    /// An event came.
    package mutating func eventReceived(_ event: NotificationEvent) {
        // Nobody took it, so it must not count as handled: it comes again.
        guard !consumers.isEmpty else { return }
        let position = event.position.isEmpty ? received.position : event.position
        received = Mark(number: received.number + 1, position: position)
        // Nobody could handle it, so everybody has.
        if case .unknown = event.kind { return }
        for id in consumers.keys { consumers[id]!.append(event, received) }
        // That the stream is open is news to those who listen at the moment alone, and a key-value store hears for
        // itself.
        if case .ready = event.kind { return }
        if event.subscriptionID == KeyValueStoreRecord.subscriptionID { return }
        unclaimed?.append(event, received)
    }

    /// The server knows none of the positions that it gave before. The next stream begins where the server says, which
    /// may be before events that came already; and what waits here is acknowledged by the next event's position.
    package mutating func positionsRefused() {
        received.position = []
        acknowledged.position = []
        lastHandled?.position = []
        unclaimed?.forgetPositions()
        for id in consumers.keys { consumers[id]!.forgetPositions() }
    }

    /// The consumer asks for its next event, having handled the one before; nil when it has to wait.
    package mutating func next(_ id: UInt64) -> NotificationEvent? {
        guard var consumer = consumers[id] else { return nil }
        if let taken = consumer.taken { consumer.handled = taken }
        consumer.taken = nil
        defer { consumers[id] = consumer }
        guard !consumer.waiting.isEmpty else { return nil }
        let (mark, event) = consumer.waiting.removeFirst()
        consumer.taken = mark
        return event
    }

    /// The position to acknowledge, when there is a new one.
    package mutating func takeAcknowledgement() -> [UInt8]? {
        let handling =
            appListens
            ? consumers.values.filter { !$0.isObserver } + (unclaimed.map { [$0] } ?? []) : Array(consumers.values)
        if handling.isEmpty, lastHandled == nil { return nil }
        var least = lastHandled ?? received
        for consumer in handling {
            // A listener with nothing in work and nothing waiting has handled everything.
            let mark = consumer.taken == nil && consumer.waiting.isEmpty ? received : consumer.handled
            if mark.number < least.number { least = mark }
        }
        lastHandled = nil
        guard least.number > acknowledged.number, !least.position.isEmpty else { return nil }
        acknowledged = least
        return least.position
    }
}

extension NotificationEvent.Kind {
    /// The database that the event tells of; nil: none.
    fileprivate var database: DatabaseScope? {
        switch self {
        case .ready, .unknown: nil
        case .zoneChanged: .private
        case .databaseChanged(let database), .fetchFromToken(let database): database
        case .recordChanged(let change): change.database
        }
    }
}
