import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Runs of events for a stream that has little credit")
struct RunCreditTests {
    /// What the stream has little of.
    enum Shortage: CaseIterable {
        case messages
        case bytes

        /// Credit for one message more.
        var little: StreamCredit {
            switch self {
            case .messages: StreamCredit(messages: 1, bytes: 1_024)
            case .bytes: StreamCredit(messages: 1, bytes: 100)
            }
        }
    }

    @Test("are not sealed when it is known that the stream can't take them", arguments: Shortage.allCases)
    func unsealed(_ shortage: Shortage) throws {
        let server = try SteppedServer {
            switch shortage {
            case .messages: $0.connectionLimits.streamCredit = 16
            case .bytes: ($0.connectionLimits.streamCredit, $0.connectionLimits.streamCreditBytes) = (1_000, 1_024)
            }
        }
        var sealedCount: UInt64 { server.core.shards[0].runSealer.sealedCount }
        let reader = try server.connect(account: "a", device: 1)
        let writer = try server.connect(account: "a", device: 2)
        let query = QuerySubscription(recordType: "Note", predicate: .constant(true), options: .creation)
        try reader.subscribe(Subscription(id: "notes", kind: .query(query)))
        let stream = reader.openNotifications()
        func grant(_ credit: StreamCredit) {
            reader.send(.credit, stream: stream, payload: FrameWriter.creditPayload(credit))
            server.settle()
        }

        try writer.save((0..<30).map { "first \($0)" })
        let (sealed, came) = (sealedCount, try reader.events(stream).count)
        try #require(came > 1 && came < 21, "the stream is behind")
        for number in 0..<5 {
            grant(shortage.little)
            try writer.save(["next \(number)"])
        }
        #expect(sealedCount == sealed)
        #expect(try reader.events(stream).count > came, "what there was credit for has come")
        grant(StreamCredit(messages: 1_000, bytes: 1 << 20))
        try writer.save(["last"])
        #expect(sealedCount == sealed + 1)
        #expect(try reader.events(stream).count == 1 + 36)
    }
}
