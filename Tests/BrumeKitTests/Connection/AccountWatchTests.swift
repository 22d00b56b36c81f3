@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Testing

private let second: UInt64 = 1_000_000_000

@Suite("A session whose server does not take the account")
struct AccountWatchTests {
    /// A machine that has nothing to do.
    private func machine() -> ClientSessionStateMachine {
        ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development), serverName: "s",
            seed: 1)
    }
    private let welcome = Welcome(serverVersion: "", userRecordName: "_ada", serverEpoch: 1)
    private let revoked = CallStatus(.notAuthenticated, "revoked")

    /// One that is up and welcomed besides.
    private func connected() -> ClientSessionStateMachine {
        var session = machine()
        _ = session.callStarted(id: 1, .welcome, deadline: .max, now: 0)
        _ = session.connected(now: 0)
        _ = session.frameReceived(.welcome(welcome), now: 0)
        return session
    }

    private func refusals(_ actions: [ClientSessionStateMachine.Action]) -> [ErrorCode] {
        actions.compactMap { if case .accountRefused(let error) = $0 { error.code } else { nil } }
    }

    @Test("says so when the token is revoked on an idle connection, and when a hello is refused")
    func refusal() {
        for (code, other) in [
            (ErrorCode.notAuthenticated, false), (.managedAccountRestricted, false),
            (.accountTemporarilyUnavailable, false), (.badContainer, true), (.serviceUnavailable, true),
        ] {
            var session = connected()
            let actions = session.frameReceived(.status(stream: 0, CallStatus(code, "no")), now: second)
            #expect(refusals(actions) == (other ? [] : [code]))
            let again = session.callStarted(id: 2, .welcome, deadline: .max, now: 60 * second)
            #expect(again.contains(.connect))
            _ = session.connected(now: 60 * second)
            let refused = session.frameReceived(.status(stream: 0, CallStatus(code, "no")), now: 60 * second)
            #expect(refusals(refused) == (other ? [] : [code]))
        }
    }

    @Test("looks seldom whether it is taken again, while somebody wants to know")
    func look() {
        var session = connected()
        #expect(session.accountWatched(true, now: 0) == [])
        _ = session.frameReceived(.status(stream: 0, revoked), now: second)
        var now = second
        var pauses: [UInt64] = []
        for attempt in 0..<8 {
            let deadline = session.deadlineNanoseconds
            guard let deadline else {
                Issue.record("nothing is planned after attempt \(attempt)")
                return
            }
            pauses.append((deadline - now) / second)
            #expect(session.timePassed(now: deadline - 1) == [])
            #expect(session.timePassed(now: deadline) == [.connect])
            now = deadline
            _ = session.connected(now: now)
            _ = session.frameReceived(.status(stream: 0, revoked), now: now)
        }
        #expect(pauses.first.map { (30...60).contains($0) } == true, "\(pauses)")
        #expect(pauses.last.map { (900...1_800).contains($0) } == true, "\(pauses)")
        // It comes back.
        let deadline = session.deadlineNanoseconds ?? 0
        #expect(session.timePassed(now: deadline) == [.connect])
        _ = session.connected(now: deadline)
        let welcomed = session.frameReceived(.welcome(welcome), now: deadline)
        #expect(welcomed.contains(.welcomed(welcome)))
        _ = session.disconnected(.lost("idle"), now: deadline)
        #expect(session.deadlineNanoseconds == nil, "an idle session with a good account looks at nothing")
    }

    @Test("looks at nothing while nobody wants to know")
    func unwatched() {
        var session = connected()
        _ = session.accountWatched(true, now: 0)
        _ = session.frameReceived(.status(stream: 0, revoked), now: second)
        #expect(session.deadlineNanoseconds != nil)
        #expect(session.accountWatched(false, now: second) == [])
        #expect(session.deadlineNanoseconds == nil)
        #expect(session.timePassed(now: 100_000 * second) == [])
    }

    @Test("answers who asks for the status with the first attempt that fails, and lets calls wait")
    func probe() {
        var session = machine()
        let call = UnaryCall(method: .recordsFetch, payload: [1], effect: .none, requestID: "")
        #expect(session.callStarted(id: 1, .unary(call), deadline: 60 * second, now: 0) == [.connect])
        #expect(session.callStarted(id: 2, .probe, deadline: 5 * second, now: 0) == [])
        let actions = session.disconnected(.unreachable("refused"), now: 1)
        guard actions.count == 1, case .finish(id: 2, .failure(let error))? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == .networkUnavailable)
        // In a pause it waits for the next attempt, which may succeed.
        #expect(session.callStarted(id: 3, .probe, deadline: 5 * second, now: 2) == [])
        #expect(session.timePassed(now: second) == [.connect])
        _ = session.connected(now: second)
        let answers = session.frameReceived(.welcome(welcome), now: second)
        #expect(answers.contains(.finish(id: 3, .success(.welcome(welcome)))))
        let answer = session.callStarted(id: 4, .probe, deadline: 5 * second, now: second)
        #expect(answer == [.finish(id: 4, .success(.welcome(welcome)))])
        _ = session.disconnected(.lost("cut"), now: second)
    }
}
