import BrumeModel
import BrumeRandom
import BrumeStore
import Testing

@testable import BrumeServer
@testable import BrumeService

private func position(_ sequence: UInt64) -> ChangePosition { ChangePosition(sequence: sequence, index: 0) }

private let phone: [UInt8] = Array(repeating: 1, count: 16)
private let laptop: [UInt8] = Array(repeating: 2, count: 16)

private func ring(events: ClosedRange<UInt64>, origin: [UInt8], eventLimit: Int = 100, byteLimit: Int = 1000)
    -> NotificationRing
{
    var ring = NotificationRing(head: .start, eventLimit: eventLimit, byteLimit: byteLimit)
    for sequence in events {
        ring.append(.init(position: position(sequence), origin: origin, message: [UInt8(sequence)]))
    }
    return ring
}

@Suite struct NotificationRingTests {
    @Test("a device gets what is behind its place, in order") func inOrder() {
        let ring = ring(events: 1...5, origin: phone)
        var place = position(2)
        var seen: [UInt8] = []
        while case .event(let next, let message, _) = ring.next(after: place, device: laptop) {
            seen += message
            place = next
        }
        #expect(seen == [3, 4, 5])
        #expect(ring.next(after: place, device: laptop) == .none)
    }

    @Test("a device's own changes are left out") func ownChanges() {
        var ring = ring(events: 1...3, origin: phone)
        #expect(ring.next(after: .start, device: phone) == .skipped(to: position(3)))
        ring.append(.init(position: position(4), origin: laptop, message: [4]))
        #expect(ring.next(after: .start, device: phone) == .event(position(4), [4]))
    }

    @Test("what falls out by count becomes one order to fetch") func overflowByCount() {
        let ring = ring(events: 1...10, origin: phone, eventLimit: 4)
        #expect(ring.floor == position(6))
        #expect(ring.next(after: position(5), device: laptop) == .missed(floor: position(6)))
        #expect(ring.next(after: position(6), device: laptop) == .event(position(7), [7]))
    }

    @Test("what falls out by bytes becomes one order to fetch") func overflowByBytes() {
        let ring = ring(events: 1...10, origin: phone, byteLimit: 3)
        #expect(ring.next(after: .start, device: laptop) == .missed(floor: position(7)))
    }

    @Test("every device that follows the ring gets each event or the order to fetch, over 10,000 random steps")
    func randomWalk() {
        var generator = SystemRandomNumberGenerator()
        let seed = generator.next()
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var ring = NotificationRing(head: .start, eventLimit: 8, byteLimit: 20)
        var place = ChangePosition.start
        var known: UInt64 = 0
        var sequence: UInt64 = 0
        for _ in 0..<10_000 {
            if random.next() % 2 == 0 {
                sequence += 1 + random.next() % 3
                ring.append(
                    .init(position: position(sequence), origin: phone, message: [UInt8(truncatingIfNeeded: sequence)]))
                continue
            }
            switch ring.next(after: place, device: laptop) {
            case .none: #expect(known == sequence)
            case .skipped: #expect(Bool(false), "nothing here is the laptop's own")
            case .hint: #expect(Bool(false), "nothing here is to be encoded")
            case .missed(let floor):
                #expect(floor > place)
                place = floor
                known = floor.sequence
            case .event(let next, let message, _):
                #expect(next > place && message == [UInt8(truncatingIfNeeded: next.sequence)])
                place = next
                known = next.sequence
            }
        }
    }

    @Test("hints count as what they hold, and the oldest go where that is too much")
    func hintsAreBounded() {
        let id = String(repeating: "s", count: 1_000)
        var ring = NotificationRing(head: .start, eventLimit: 100, byteLimit: 10_000)
        for sequence in 1...50 as ClosedRange<UInt64> {
            // Each another one, as when a client saves its subscription over and over.
            let kept = KeptSubscription(Subscription(id: id, kind: .database(recordType: "")))
            ring.append(
                .init(
                    position: position(sequence), origin: phone, message: [],
                    hint: .init(subscription: kept, committedMilliseconds: 1)))
            #expect(ring.byteCount <= 10_000)
        }
        #expect((8...9).contains(ring.eventCount))
        #expect(ring.next(after: .start, device: laptop) == .missed(floor: ring.floor))
        ring.drop(through: position(50))
        #expect(ring.byteCount == 0)
    }
}
