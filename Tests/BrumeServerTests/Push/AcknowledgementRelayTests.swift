import BrumeModel
import Testing

@testable import BrumeServer

@Suite("Acknowledgements on their way to another loop")
struct AcknowledgementRelayTests {
    private func place(_ number: UInt64) -> NotificationPosition.Place {
        NotificationPosition.Place(epoch: 1, position: .end(ofSequence: number))
    }

    @Test("one is under way at a time, and the newest of those that came meanwhile follows, for all of them")
    func coalescing() {
        var relay = AcknowledgementRelay()
        #expect(relay.received(place(1)) == .send(place(1)))
        for number: UInt64 in [2, 1, 3, 2] { #expect(relay.received(place(number)) == .wait) }
        let first = relay.processed()
        #expect(first.count == 1)
        #expect(first.next == place(2))
        let second = relay.processed()
        #expect(second.count == 4)
        #expect(second.next == nil)
        #expect(relay.received(place(2)) == .ignore)
        #expect(relay.received(place(5)) == .send(place(5)))
    }
}
