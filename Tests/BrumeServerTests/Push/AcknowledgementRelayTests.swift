import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Acknowledgements on their way to another loop")
struct AcknowledgementRelayTests {
    private func place(_ number: UInt64) -> StreamPosition.Place {
        StreamPosition.Place(run: 1, position: .end(ofSequence: number))
    }

    private func credit(_ bytes: Int) -> StreamCredit { StreamCredit(messages: 1, bytes: bytes) }

    @Test("one is under way at a time, and the furthest of those that came meanwhile follows, for all of them")
    func coalescing() {
        var relay = AcknowledgementRelay()
        #expect(relay.received(place(1), credit(5)) == .send(place(1)))
        for number: UInt64 in [2, 1, 3, 2] { #expect(relay.received(place(number), credit(10)) == .wait) }
        let first = relay.processed()
        #expect(first.credit == credit(5))
        #expect(first.next == place(3), "acknowledgements never go back")
        let second = relay.processed()
        #expect(second.credit == StreamCredit(messages: 4, bytes: 40))
        #expect(second.next == nil)
        #expect(relay.received(place(3), credit(1)) == .ignore)
        #expect(relay.received(place(2), credit(1)) == .ignore)
        #expect(relay.received(place(5), .none) == .send(place(5)), "one that counts nothing is under way as well")
        #expect(relay.received(place(6), .none) == .wait)
        #expect(relay.processed().next == place(6))
        _ = relay.processed()
        let another = StreamPosition.Place(run: 2, position: .end(ofSequence: 1))
        #expect(relay.received(another, credit(1)) == .send(another), "another run's places are not behind these")
    }
}
