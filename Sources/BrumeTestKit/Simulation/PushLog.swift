internal import BrumeModel

/// What a device was told by pushes, and whether that is all that it should have been told (I5).
final class PushLog {
    /// The first place of its stream: what came before is not its business.
    private var start: UInt64?
    private var events: Set<UInt64> = []
    /// The furthest "fetch from your token".
    private var fetchedUpTo: UInt64 = 0
    private var last: UInt64?
    private(set) var eventCount = 0
    private(set) var hintCount = 0

    /// Another stream begins, which knows of no earlier one.
    func relaunched() { last = nil }

    /// The server went back to an earlier commit: what it told of later ones is void.
    func restored(to sequence: UInt64) {
        let end = (sequence + 1) << 20 - 1
        start = start.map { min($0, end) }
        events = events.filter { $0 <= sequence }
        fetchedUpTo = min(fetchedUpTo, end)
        last = nil
    }

    /// An event came; returns what is wrong with it.
    func received(_ event: NotificationEvent, timeline: CommitHistory.Timeline, device: [UInt8]) -> String? {
        guard let place = PeekedToken(event.position) else { return "a notification has no position" }
        switch event.kind {
        case .ready(let resumed):
            if start == nil { start = place.position }
            if !resumed { fetchedUpTo = max(fetchedUpTo, place.position) }
            return nil
        case .fetchFromToken:
            hintCount += 1
            fetchedUpTo = max(fetchedUpTo, place.position)
            last = max(last ?? 0, place.position)
            return nil
        case .zoneChanged, .databaseChanged:
            eventCount += 1
            if let last, place.position <= last { return "I4: push \(place.position) came behind \(last)" }
            last = place.position
            events.insert(place.sequence)
            guard place.sequence <= timeline.last else {
                return "I1: a push tells of commit \(place.sequence), which was never made or is lost"
            }
            let commit = timeline.commits[Int(place.sequence)]
            if !commit.fires.contains(event.subscriptionID) {
                return
                    "I5: a push for \(event.subscriptionID) tells of commit \(place.sequence), which does not fire it"
            }
            if !device.isEmpty, commit.origin == device { return "I5: a push went to the device that made the change" }
            return nil
        case .recordChanged: return "I5: a push tells of a query, and nobody subscribed to one"
        }
    }

    /// What the device was not told of though it should have been.
    func problem(with timeline: CommitHistory.Timeline, device: [UInt8]) -> String? {
        guard let start else { return "I5: a device's stream was never opened" }
        for sequence in 1..<max(1, timeline.commits.count) {
            let commit = timeline.commits[sequence]
            if commit.fires.isEmpty || commit.origin == device { continue }
            let position = UInt64(sequence) << 20
            if position <= start || position <= fetchedUpTo || events.contains(UInt64(sequence)) { continue }
            return "I5: a device was not told of commit \(sequence) of \(timeline.last)"
        }
        return nil
    }
}
