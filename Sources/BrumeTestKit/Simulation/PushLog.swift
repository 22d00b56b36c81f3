internal import BrumeModel

/// What a device was told by pushes, and whether that is all that it should have been told (I5): of its private
/// database and of the public one, each by itself.
final class PushLog {
    /// What a push reports.
    enum Push: Hashable {
        /// Something changed that a zone or database subscription is about.
        case hint(subscription: String)
        /// A record fired a query subscription; the fields are those of its desired keys.
        case record(
            subscription: String, zone: String, name: String, reason: RecordChangeReason, fields: [String: FieldValue])
        /// A subscription that fires once reports one of the records that went with a zone, which have no order.
        case oneDeletion(subscription: String)

        var name: String {
            switch self {
            case .hint(let subscription): subscription
            case .record(let subscription, let zone, let name, let reason, _):
                "\(subscription): \(name) of \(zone) \(reason)"
            case .oneDeletion(let subscription): "\(subscription): a record that went with its zone"
            }
        }

        /// Whether this is a push that `expected` stands for.
        func tells(_ expected: Push) -> Bool {
            if case .oneDeletion(let id) = expected, case .record(id, _, _, .deleted, _) = self { return true }
            return self == expected
        }
    }

    /// One database's pushes. Commits are named by their numbers here: the second of two restores may bring back what
    /// the first took away, and what a device was told of that counts for good.
    private struct Side {
        var isOpened = false
        /// By commit.
        var received: [Int: Set<Push>] = [:]
        /// Commits that "fetch from your token" covered, and those from before the stream, which it does not report.
        var fetched: Set<Int> = []
        var last: UInt64?

        mutating func fetch(upTo place: UInt64, in timeline: CommitHistory.Timeline) {
            for commit in timeline.commits.prefix(Int(clamping: place >> 20) + 1) { fetched.insert(commit.number) }
        }
    }

    private var sides: [DatabaseScope: Side] = [.private: Side(), .public: Side()]
    private(set) var eventCount = 0
    private(set) var recordCount = 0
    private(set) var hintCount = 0

    /// Notes that another stream begins, which knows of no earlier one.
    func relaunched() { for scope in [DatabaseScope.private, .public] { sides[scope]!.last = nil } }

    /// The server's folder is that of a backup: its places may be earlier ones.
    func restored() { relaunched() }

    /// The commit that a push shows.
    static func commit(of event: NotificationEvent) -> (scope: DatabaseScope, sequence: UInt64)? {
        switch event.kind {
        case .ready, .fetchFromToken, .unknown: return nil
        case .zoneChanged, .databaseChanged, .recordChanged:
            guard let scope = scope(of: event), let place = PeekedPosition(event.position)?.place(in: scope) else {
                return nil
            }
            return (scope, place >> 20)
        }
    }

    /// The database that an event is about; nil for both.
    static func scope(of event: NotificationEvent) -> DatabaseScope? {
        switch event.kind {
        case .ready, .unknown: nil
        case .zoneChanged: .private
        case .databaseChanged(let scope), .fetchFromToken(let scope): scope
        case .recordChanged(let change): change.database
        }
    }

    /// Takes an event; returns what is wrong with it.
    ///
    /// - Parameters:
    ///   - timelines: The timelines of both databases.
    ///   - owner: The name that subscriptions in the event's database have for the device's user.
    func received(
        _ event: NotificationEvent, timelines: (DatabaseScope) -> CommitHistory.Timeline,
        owner: (DatabaseScope) -> String, device: [UInt8]
    ) -> String? {
        guard let token = PeekedPosition(event.position) else { return "a notification has no position" }
        guard let scope = Self.scope(of: event) else {
            guard case .ready(let resumed) = event.kind else { return nil }
            for scope in [DatabaseScope.private, .public] {
                guard let place = token.place(in: scope) else { continue }
                if !sides[scope]!.isOpened || !resumed { sides[scope]!.fetch(upTo: place, in: timelines(scope)) }
                sides[scope]!.isOpened = true
            }
            return nil
        }
        let timeline = timelines(scope)
        guard let place = token.place(in: scope) else { return "a notification has no place in its database" }
        if case .fetchFromToken = event.kind {
            hintCount += 1
            sides[scope]!.fetch(upTo: place, in: timeline)
            sides[scope]!.last = max(sides[scope]!.last ?? 0, place)
            return nil
        }
        eventCount += 1
        if let last = sides[scope]!.last, place <= last { return "I4: push \(place) came behind \(last)" }
        sides[scope]!.last = place
        let sequence = place >> 20
        guard sequence <= timeline.last else {
            return "I1: a push tells of commit \(sequence), which was never made or is lost"
        }
        let commit = timeline.commits[Int(sequence)]
        let push = Self.push(event)
        if case .record = push { recordCount += 1 }
        sides[scope]!.received[commit.number, default: []].insert(push)
        guard let expected = commit.pushes[owner(scope)], expected.contains(where: push.tells) else {
            return "I5: a push for \(event.subscriptionID) tells of commit \(sequence) what it did not do"
        }
        if !device.isEmpty, commit.origin == device { return "I5: a push went to the device that made the change" }
        return nil
    }

    /// Where a position stands in both databases, for people.
    static func places(of position: [UInt8]) -> String {
        guard let token = PeekedPosition(position) else { return "nowhere" }
        return [DatabaseScope.private, .public].map { scope in
            token.place(in: scope).map { "\(scope) \($0 >> 20).\($0 & 0xFFFFF)" } ?? "\(scope) unknown"
        }.joined(separator: ", ")
    }

    static func places(of event: NotificationEvent) -> String { places(of: event.position) }

    private static func push(_ event: NotificationEvent) -> Push {
        guard case .recordChanged(let change) = event.kind else { return .hint(subscription: event.subscriptionID) }
        return .record(
            subscription: event.subscriptionID, zone: change.zone.name, name: change.recordName, reason: change.reason,
            fields: change.fields)
    }

    /// What the device should have been told and was not.
    func problem(
        with timeline: CommitHistory.Timeline, _ scope: DatabaseScope, owner: String, device: [UInt8]
    ) -> String? {
        let side = sides[scope]!
        guard side.isOpened else { return "I5: a device's stream was never opened" }
        for sequence in 1..<max(1, timeline.commits.count) {
            let commit = timeline.commits[sequence]
            guard let expected = commit.pushes[owner], commit.origin != device else { continue }
            if side.fetched.contains(commit.number) { continue }
            let received = side.received[commit.number] ?? []
            let missing = expected.filter { push in !received.contains { $0.tells(push) } }.map(\.name).min()
            if let missing {
                return "I5: a device was not told of commit \(sequence) of \(timeline.last): \(missing)"
            }
        }
        return nil
    }
}
