import BrumeLock
import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("A stream as a call")
struct StreamCallTests {
    /// Writes down how calls end.
    private final class Ends: CallInterceptor {
        let outcomes = Lock<[String]>([])

        func plan(for method: BrumeProtocol.Method, _ payload: UnsafeRawBufferPointer, of peer: InterceptedPeer)
            -> CallPlan
        {
            var plan = CallPlan()
            plan.ended = { outcome in
                let text =
                    switch outcome {
                    case .answered: "answered"
                    case .failed: "failed"
                    case .unanswered: "unanswered"
                    }
                self.outcomes.withLock { $0.append(text) }
            }
            return plan
        }
    }

    @Test("the message that opened it is granted again, in messages and in bytes")
    func openingCredit() throws {
        let request = MessageCoder().encodeNotificationsRequest(position: [])
        let server = try SteppedServer { $0.connectionLimits.streamCredit = 2 }
        let peer = try server.connect(account: "a")
        let stream = peer.openNotifications()
        let grants = peer.frames.filter { $0.type == .credit && $0.stream == stream }.map {
            $0.payload.withUnsafeBytes { FrameWriter.credit(in: $0) }
        }
        #expect(grants == [StreamCredit(messages: 1, bytes: request.count)])
    }

    @Test("its end is told to who watches calls, whoever ends it")
    func ends() throws {
        let ends = Ends()
        let server = try SteppedServer { $0.callInterceptor = ends }
        let peer = try server.connect(account: "a")
        func ended(_ end: (UInt32) -> Void) throws -> [String] {
            ends.outcomes.withLock { $0 = [] }
            let stream = peer.openNotifications()
            end(stream)
            server.settle()
            return ends.outcomes.withLock { $0 }
        }
        #expect(try ended { peer.send(.message, stream: $0, isLast: true) } == ["answered"])
        #expect(try ended { peer.cancel($0) } == ["unanswered"])
        #expect(
            try ended { peer.send(.credit, stream: $0, payload: FrameWriter.creditPayload(.none)) } == ["unanswered"])
        #expect(try ended { peer.send(.message, stream: $0, payload: [0xff]) } == ["failed"])
        #expect(try ended { _ in peer.disconnect() } == ["unanswered"])
    }
}
