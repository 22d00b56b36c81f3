import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeStore
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The hub of a private database")
struct PrivateNotificationHubTests {
    private let zone = ZoneID(name: "Notes")

    private func hub() -> NotificationHub {
        NotificationHub(
            database: Database(
                id: DatabaseID(container: "iCloud.x", environment: .development, scope: .private, owner: "_ada"),
                epoch: 7), head: .start, coder: EventCoder())
    }

    private func publish(
        _ sequence: UInt64, by origin: UInt8, _ kinds: [Subscription.Kind], to hub: NotificationHub,
        delivers: Bool = true
    ) {
        hub.publish(
            NotificationHub.Publication(
                sequence: sequence, origin: ChangeOrigin(user: "", device: Array(repeating: origin, count: 16)),
                committedMilliseconds: Int64(sequence) * 1_000,
                hints: kinds.map { KeptSubscription(Subscription(id: "\($0)", kind: $0)) }, matches: CommitMatches()))
        if delivers { hub.deliver() }
    }

    @Test("a device that comes later gets the same events as one that listened")
    func sameEvents() throws {
        let hub = hub()
        let kinds: [Subscription.Kind] = [.zone(zone, recordType: ""), .database(recordType: "")]
        // Some while nobody listens, some while one device does, and some after it left.
        publish(1, by: 9, kinds, to: hub)
        let early = Taker(1)
        _ = try hub.add(early, of: "", place: StreamPosition.Place(run: 7, position: .start)).get()
        hub.pump(early, of: "")
        publish(2, by: 9, kinds, to: hub)
        hub.remove(early, of: "")
        publish(3, by: 9, kinds, to: hub)
        publish(4, by: 2, kinds, to: hub)
        let late = Taker(2)
        _ = try hub.add(late, of: "", place: StreamPosition.Place(run: 7, position: .start)).get()
        hub.pump(late, of: "")
        #expect(late.taken.count == 6)
        #expect(Array(late.taken.prefix(4)) == early.taken)
        #expect(late.taken.map(\.committedMilliseconds) == [1_000, 1_000, 2_000, 2_000, 3_000, 3_000])
        #expect(Set(late.taken.map(\.notificationID)).count == 6)
        #expect(
            late.summary.prefix(2) == [
                "\(NotificationEvent.Kind.zoneChanged(zone))", "databaseChanged(BrumeModel.DatabaseScope.private)",
            ])
    }

    @Test("what a turn brought is given in one piece, and is what is given one by one")
    func runs() throws {
        let hub = hub()
        let kinds: [Subscription.Kind] = [.zone(zone, recordType: ""), .database(recordType: "")]
        let (together, alone, maker, late) = (Taker(1), Taker(2), Taker(3), Taker(4))
        alone.takesRuns = false
        late.mayTake = false
        for taker in [together, alone, maker, late] { _ = try hub.add(taker, of: "", place: nil).get() }
        for sequence in 1...3 { publish(UInt64(sequence), by: sequence == 2 ? 3 : 9, kinds, to: hub, delivers: false) }
        #expect(hub.hasUndelivered && together.taken.isEmpty)
        hub.deliver()
        #expect(together.runs == [6] && together.taken.count == 6 && !hub.hasUndelivered)
        #expect(alone.runs.isEmpty && alone.taken == together.taken && alone.places == together.places)
        // Its own change is left out, so that what it gets is no run.
        #expect(maker.runs.isEmpty && maker.taken == together.taken.filter { $0.committedMilliseconds != 2_000 })
        #expect(late.taken.isEmpty)
        late.mayTake = true
        hub.pump(late, of: "")
        #expect(late.taken == together.taken && late.place == together.place)
        publish(4, by: 9, kinds, to: hub)
        #expect(together.runs == [6, 2] && late.runs == [2] && maker.runs == [2])
        #expect(late.taken == together.taken && alone.taken == together.taken)
    }

    @Test("many devices of one user are given events in turns too, and slow ones keep no others from them")
    func devicesInTurns() throws {
        let hub = hub()
        let takers = (1...200).map { Taker(UInt8($0)) }
        for taker in takers.prefix(70) { taker.mayTake = false }
        for taker in takers { _ = try hub.add(taker, of: "", place: nil).get() }
        publish(1, by: 250, [.database(recordType: "")], to: hub, delivers: false)
        var given: [Int] = []
        while hub.hasUndelivered {
            hub.deliver { false }
            given.append(takers.count { !$0.taken.isEmpty })
            if given.count == 1 { publish(2, by: 250, [.database(recordType: "")], to: hub, delivers: false) }
            try #require(given.count < 10)
        }
        #expect(given == [64, 128, 130, 130])
        #expect(takers.dropFirst(70).allSatisfy { $0.taken.count == 2 } && hub.undeliveredEvents == 0)
        // The others take theirs when they can.
        for taker in takers.prefix(70) {
            taker.mayTake = true
            hub.pump(taker, of: "")
        }
        #expect(takers.allSatisfy { $0.taken.count == 2 })
    }

    @Test("no device that listens misses an event, however many come in one turn")
    func manyInATurn() throws {
        let hub = hub()
        let taker = Taker(1)
        _ = try hub.add(taker, of: "", place: nil).get()
        let count = 3 * ServiceLimits.backlogEvents
        for sequence in 1...count {
            publish(UInt64(sequence), by: 9, [.database(recordType: "")], to: hub, delivers: false)
        }
        hub.deliver()
        #expect(taker.taken.count == count && taker.runs.allSatisfy { $0 <= ServiceLimits.undeliveredEvents })
        #expect(taker.summary.allSatisfy { $0.hasPrefix("databaseChanged") })
    }

    /// A hub whose rings keep few events, and a device that listens.
    private static func smallRing(backlogEvents: Int) throws -> (NotificationHub, Taker) {
        let hub = NotificationHub(
            database: Database(
                id: DatabaseID(container: "iCloud.x", environment: .development, scope: .private, owner: "_ada"),
                epoch: 7), head: .start, coder: EventCoder(), backlogEvents: backlogEvents)
        let taker = Taker(1)
        _ = try hub.add(taker, of: "", place: nil).get()
        return (hub, taker)
    }

    @Test("a full ring, as most are, gives a turn's events in one piece too")
    func fullRing() throws {
        let (hub, taker) = try Self.smallRing(backlogEvents: 8)
        for sequence in 1...40 as ClosedRange<UInt64> {
            publish(sequence, by: 9, [.database(recordType: "")], to: hub, delivers: sequence % 5 == 0)
        }
        #expect(taker.runs == Array(repeating: 5, count: 8) && taker.taken.count == 40)
    }

    @Test("no device that listens misses an event where its ring is small, or one commit tells too much")
    func smallRings() throws {
        let (hub, taker) = try Self.smallRing(backlogEvents: 3)
        for sequence in 1...10 as ClosedRange<UInt64> {
            publish(sequence, by: 9, [.database(recordType: "")], to: hub, delivers: false)
        }
        var overflow = CommitMatches()
        overflow.overflowingOwners = [""]
        hub.publish(
            NotificationHub.Publication(
                sequence: 11, origin: .server, committedMilliseconds: 0, hints: [], matches: overflow))
        hub.deliver()
        #expect(taker.summary.prefix(10).allSatisfy { $0.hasPrefix("databaseChanged") } && taker.taken.count == 11)
        #expect(taker.summary.last?.hasPrefix("fetchFromToken") == true)
    }
}
