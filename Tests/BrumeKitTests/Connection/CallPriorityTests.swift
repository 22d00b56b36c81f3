@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Testing

@Suite("Calls that wait for a connection")
struct CallPriorityTests {
    private var machine = ClientSessionStateMachine(
        hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development), serverName: "s",
        seed: 1)

    private mutating func start(_ id: UInt64, _ priority: CallPriority) -> [String] {
        let call = UnaryCall(
            method: .recordsFetch, payload: [1], effect: .none, requestID: "\(id)", priority: priority)
        return sent(machine.callStarted(id: id, .unary(call), deadline: .max, now: 0))
    }

    private mutating func connect(_ limits: ConnectionLimits = ConnectionLimits()) -> [String] {
        _ = machine.timePassed(now: 60_000_000_000)
        _ = machine.connected(now: 0)
        let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1, limits: limits)
        return sent(machine.frameReceived(.welcome(welcome), now: 0))
    }

    private func sent(_ actions: [ClientSessionStateMachine.Action]) -> [String] {
        actions.compactMap { action in
            if case .send(.call(_, let header, _, _)) = action { header.requestID } else { nil }
        }
    }

    @Test("are sent by priority, those of one priority in their order, also after the connection broke")
    mutating func order() {
        _ = start(1, .background)
        _ = start(2, .standard)
        _ = start(3, .userInteractive)
        _ = start(4, .standard)
        #expect(connect() == ["3", "2", "4", "1"])
        _ = machine.disconnected(.lost("cut"), now: 0)
        _ = start(5, .userInitiated)
        _ = start(6, .standard)
        #expect(connect() == ["3", "5", "2", "4", "6", "1"])
    }

    @Test("of a lower priority wait until there is a place that none of a higher one wants")
    mutating func places() {
        _ = start(1, .utility)
        #expect(connect(ConnectionLimits(concurrentCalls: 2)) == ["1"])
        #expect(start(2, .background).isEmpty)
        #expect(start(3, .utility).isEmpty)
        #expect(sent(machine.callCancelled(id: 1, now: 0)) == ["3"])
        #expect(sent(machine.callCancelled(id: 3, now: 0)) == ["2"])
    }
}
