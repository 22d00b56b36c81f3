@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Testing

@Suite("The calls of a session")
struct ClientCallsTests {
    private var calls = ClientCalls()

    private func call(
        bytes: Int = 1, effect: UnaryCall.Effect = .none, priority: CallPriority = .standard
    ) -> ClientSessionStateMachine.Work {
        .unary(
            UnaryCall(
                method: .recordsFetch, payload: [UInt8](repeating: 0, count: bytes), effect: effect, requestID: "",
                priority: priority))
    }

    @discardableResult
    private mutating func start(
        _ id: UInt64, _ work: ClientSessionStateMachine.Work, deadline: UInt64 = .max
    ) -> Bool {
        calls.start(id, work, deadline: deadline, now: 0)
    }

    @Test("are bounded by number and by bytes, and make room when they end")
    mutating func bounds() {
        let half = ClientSessionLimits.callBytesMax / 2
        #expect([start(1, call(bytes: half)), start(2, call(bytes: half)), start(3, call())] == [true, true, false])
        calls.remove(2)
        let more = (10..<UInt64(ClientSessionLimits.callsMax + 20)).count { start($0, call()) }
        #expect(more == ClientSessionLimits.callsMax - 1)
        #expect(calls.count == ClientSessionLimits.callsMax)
    }

    @Test("that were cancelled before there was a connection hold up none that follow, however many they were")
    mutating func cancelled() {
        for id in 1...UInt64(5 * ClientSessionLimits.callsMax) {
            #expect(start(id, call()))
            calls.remove(id)
        }
        #expect(calls.isEmpty && calls.waiting.count <= 2 * ClientSessionLimits.callsMax)
        #expect(calls.next() == nil)
        start(.max, call())
        #expect(calls.next()?.id == .max)
    }

    @Test("over their deadline are told once they are, in their order, and the next deadline is that of those left")
    mutating func deadlines() {
        start(1, call(), deadline: 30)
        start(2, .ping, deadline: 10)
        start(3, call(), deadline: 10)
        #expect(calls.earliestDeadline == 10 && calls.overdue(now: 9).isEmpty)
        let overdue = calls.overdue(now: 10)
        #expect(overdue == [2, 3])
        for id in overdue { calls.remove(id) }
        #expect(calls.earliestDeadline == 30)
        #expect(calls.overdue(now: 40) == [1])
        #expect(calls.earliestDeadline == .max)
    }

    @Test("that a server did not take wait again in the order in which they were started, by priority")
    mutating func notTaken() {
        for id in 1...3 as ClosedRange<UInt64> { start(id, call()) }
        start(4, call(priority: .userInitiated))
        start(5, call())
        start(6, call())
        for _ in 0..<4 { calls.sent(calls.next()!.id, now: 0) }
        calls.remove(5)
        for id in [1, 2, 3, 4] as [UInt64] { calls.notTaken(id) }
        #expect(calls.waiting == [4, 1, 2, 3, 6])
    }

    @Test("in flight are bounded in bytes, and one always may be")
    mutating func flight() {
        let large = ClientSessionLimits.bytesInFlightMax + 1
        start(1, call(bytes: large))
        #expect(calls.hasRoomInFlight(for: large))
        calls.sent(1, now: 5)
        #expect(calls[1]?.isInFlight == true && calls[1]?.sentNanoseconds == 5 && calls.next() == nil)
        #expect(!calls.hasRoomInFlight(for: 1))
        calls.remove(1)
        #expect(calls.hasRoomInFlight(for: large))
    }

    @Test("wait again when the connection broke, unless they may not be sent twice, or broke it too often")
    mutating func losses() {
        start(1, call(effect: .once))
        start(2, .probe)
        start(3, call(effect: .onceByOperationID))
        start(4, call(priority: .userInteractive))
        start(5, call())
        for id: UInt64 in [4, 1, 3] {
            #expect(calls.next()?.id == id)
            calls.sent(id, now: 0)
        }
        let ended = calls.connectionLost()
        #expect(ended.map(\.id) == [1, 2] && ended.map(\.fate) == [.answerLost, .probe])
        for (id, _) in ended { calls.remove(id) }
        #expect([3, 4, 5].map { calls[$0]?.mayHaveHadEffect } == [true, false, false])
        #expect(calls.hasRoomInFlight(for: ClientSessionLimits.bytesInFlightMax))
        // The one that was not sent comes behind its like.
        for id: UInt64 in [4, 3, 5] {
            #expect(calls.next()?.id == id)
            calls.remove(id)
        }
        start(6, call())
        for loss in 1...ClientSessionLimits.lossesMax {
            calls.sent(6, now: 0)
            #expect(calls.connectionLost().map(\.id) == (loss == ClientSessionLimits.lossesMax ? [6] : []))
        }
    }
}
