import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Streams of one session")
struct OpenStreamsTests {
    /// A stream that takes nothing and sends nothing.
    private final class SilentStream: ServiceStream {
        func received(_ message: StreamMessage, _ credit: StreamCredit) {}
        func clientEnded() {}
        func resume() {}
        func close() {}
        func abandon() {}
    }

    private func streams(_ ids: UInt32...) -> OpenStreams {
        var streams = OpenStreams()
        for id in ids { streams.append(SilentStream(), id: id) }
        return streams
    }

    private func order(_ streams: OpenStreams) -> [UInt32] { streams.inTurn.map(\.id) }

    @Test("one that has used up the room goes on behind the others")
    func turns() {
        var streams = streams(1, 3, 5)
        #expect(order(streams) == [1, 3, 5])
        streams.hadTurn(1)
        #expect(order(streams) == [3, 5, 1])
        streams.hadTurn(5)
        #expect(order(streams) == [1, 3, 5])
        // Whoever uses up the room, each of the others had its turn before it comes again.
        var turns: [UInt32] = []
        for _ in 0..<6 {
            let next = order(streams)[0]
            turns.append(next)
            streams.hadTurn(next)
        }
        #expect(turns == [1, 3, 5, 1, 3, 5])
    }

    @Test("the turn stays with its stream when others come and go")
    func comingAndGoing() {
        var streams = streams(1, 3, 5)
        streams.hadTurn(1)
        #expect(streams.remove(1) != nil)
        #expect(order(streams) == [3, 5])
        streams.append(SilentStream(), id: 7)
        #expect(order(streams) == [3, 5, 7])
        streams.hadTurn(5)
        #expect(streams.remove(7) != nil)
        #expect(order(streams) == [3, 5])
        streams.hadTurn(9)
        #expect(order(streams) == [3, 5], "a stream that is not there has no turn")
        #expect(streams.remove(9) == nil)
        #expect(streams.removeAll().count == 2)
        #expect(streams.isEmpty)
        #expect(order(streams).isEmpty)
    }
}
