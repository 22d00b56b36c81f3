import BrumeRandom
@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Testing

/// A session's machine under random events, checked against what its host may rely on.
private struct RandomSession {
    var random: SeededGenerator
    var machine: ClientSessionStateMachine
    var now: UInt64 = 0
    var lastID: UInt64 = 0
    var open: Set<UInt64> = []
    var finished: Set<UInt64> = []
    /// Whether a connection was asked for, and whether it is up.
    var isConnecting = false
    var isConnected = false
    /// Unary calls that the server has, by stream; and its notification stream.
    var streams: [UInt32] = []
    var notificationStream: UInt32?
    /// Transfers that have not ended, and their streams at the server.
    var transfers: Set<UInt64> = []
    var transferStreams: [UInt32] = []
    var transfersEnded = 0
    var problems: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        machine = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: seed)
    }

    mutating func step() {
        now += random.next() % 2_000_000_000
        switch random.next() % 22 {
        case 20: startTransfer()
        case 21:
            guard let id = transfers.randomElement(using: &random) else { return }
            if random.next() % 2 == 0 {
                transfers.remove(id)
                apply(machine.transferCancelled(id: id, now: now))
            } else {
                apply(machine.transferSent(id: id, payload: [1, 2], now: now) ?? [])
                apply(machine.transferTaken(id: id, byteCount: 1, now: now))
            }
        case 0...3: start()
        case 4:
            guard let id = open.randomElement(using: &random) else { return }
            apply(machine.callCancelled(id: id, now: now))
            if !finished.contains(id) { problems.append("a cancelled call did not end") }
        case 5: apply(machine.streamWanted(opening: [1], now: now))
        case 6: apply(machine.streamUnwanted(now: now))
        case 7:
            apply(machine.streamAcknowledged([2], now: now))
            apply(machine.accountWatched(random.next() % 2 == 0, now: now))
        case 8: elapse()
        case 9: apply(machine.circumstancesChanged(now: now))
        case 10...11 where isConnecting:
            isConnecting = false
            if random.next() % 3 == 0 {
                let isOffline = random.next() % 2 == 0
                apply(machine.disconnected(isOffline ? .offline("chance") : .unreachable("chance"), now: now))
            } else {
                isConnected = true
                apply(machine.connected(now: now))
                let limits = ConnectionLimits(concurrentCalls: 4)
                let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1, limits: limits)
                if random.next() % 8 == 0 {
                    apply(machine.frameReceived(.status(stream: 0, refusal()), now: now))
                } else {
                    apply(machine.frameReceived(.welcome(welcome), now: now))
                }
            }
        case 12...17 where isConnected: serve()
        case 18 where isConnected && random.next() % 4 == 0:
            (isConnected, streams, notificationStream, transferStreams) = (false, [], nil, [])
            apply(machine.disconnected(random.next() % 2 == 0 ? .offline("chance") : .lost("chance"), now: now))
        default: elapse()
        }
        if !isConnected, !transfers.isEmpty {
            problems.append("\(transfers.count) transfers outlived their connection")
        }
        if machine.openCalls != open.count {
            problems.append("\(machine.openCalls) calls are open instead of \(open.count)")
        }
    }

    private mutating func start() {
        lastID += 1
        open.insert(lastID)
        let effects: [UnaryCall.Effect] = [.none, .onceByOperationID, .once]
        let work: ClientSessionStateMachine.Work =
            switch random.next() % 7 {
            case 0: .welcome
            case 6: .probe
            case 1: .ping
            default:
                .unary(
                    UnaryCall(
                        method: .recordsFetch, payload: [UInt8](repeating: 0, count: Int(random.next() % 100)),
                        effect: effects.randomElement(using: &random)!, requestID: ""))
            }
        let patience: [ClientSessionStateMachine.Patience] = [
            .untilDeadline, .none, .unlimited(requestNanoseconds: random.next() % 20_000_000_000),
        ]
        apply(
            machine.callStarted(
                id: lastID, work, patience: patience.randomElement(using: &random)!,
                deadline: now + random.next() % 90_000_000_000, now: now))
    }

    private mutating func startTransfer() {
        lastID += 1
        finished.insert(lastID)
        let id = 1 << 62 | lastID
        let header = CallHeader(method: .assetsUpload)
        guard let actions = machine.transferStarted(id: id, header: header, opening: [1], now: now) else { return }
        transfers.insert(id)
        apply(actions)
    }

    private mutating func refusal() -> CallStatus {
        let codes: [ErrorCode] = [.notAuthenticated, .serviceUnavailable, .badContainer]
        return CallStatus(code: codes.randomElement(using: &random)!.rawValue)
    }

    private mutating func serve() {
        machine.bytesReceived(now: now)
        let stream = streams.randomElement(using: &random)
        switch random.next() % 28 {
        case 24...25:
            guard let stream = transferStreams.randomElement(using: &random) else { return }
            apply(machine.frameReceived(.message(stream: stream, payload: [1], isLast: false), now: now))
        case 26:
            guard let stream = transferStreams.randomElement(using: &random) else { return }
            let credit = StreamCredit(messages: 1, bytes: 10)
            apply(machine.frameReceived(.credit(stream: stream, credit), now: now))
        case 27:
            guard let stream = transferStreams.popLast() else { return }
            let code: Int32 = random.next() % 2 == 0 ? 0 : 6
            apply(machine.frameReceived(.status(stream: stream, CallStatus(code: code)), now: now))
        case 0: apply(machine.violated("chance", now: now))
        case 1: apply(machine.frameReceived(.goaway(Goaway(reconnectAfterMilliseconds: 10)), now: now))
        case 2: apply(machine.frameReceived(.status(stream: 0, CallStatus(code: 12)), now: now))
        case 3: apply(machine.frameReceived(.ping(random.next()), now: now))
        case 4: apply(machine.frameReceived(.pong(lastID), now: now))
        case 5...8:
            guard let notificationStream else { return }
            apply(machine.frameReceived(.message(stream: notificationStream, payload: [1], isLast: false), now: now))
        case 9:
            guard let stream = notificationStream else { return }
            notificationStream = nil
            apply(machine.frameReceived(.status(stream: stream, CallStatus(code: 6)), now: now))
        case 10:
            guard let stream else { return }
            streams.removeAll { $0 == stream }
            apply(machine.frameReceived(.status(stream: stream, CallStatus(code: 23)), now: now))
        default:
            guard let stream else { return }
            streams.removeAll { $0 == stream }
            apply(machine.frameReceived(.message(stream: stream, payload: [1], isLast: true), now: now))
        }
    }

    private mutating func elapse() {
        if let deadline = machine.deadlineNanoseconds { now = max(now, min(deadline, now + 20_000_000_000)) }
        apply(machine.timePassed(now: now))
    }

    private mutating func apply(_ actions: [ClientSessionStateMachine.Action]) {
        for action in actions {
            switch action {
            case .connect:
                if isConnecting || isConnected { problems.append("a second connection was asked for") }
                isConnecting = true
            case .send(let frame):
                if !isConnected { problems.append("\(frame) was sent without a connection") }
                if case .call(let stream, let header, _, _) = frame, header.method == .assetsUpload {
                    transferStreams.append(stream)
                } else if case .call(let stream, let header, _, let isLast) = frame {
                    if isLast { streams.append(stream) } else { notificationStream = stream }
                    if isLast == (header.method == .notificationsOpen) { problems.append("a call has the wrong form") }
                    if streams.count > 4 + 64 { problems.append("more calls than the server takes") }
                }
                if case .cancel(let stream) = frame {
                    streams.removeAll { $0 == stream }
                    transferStreams.removeAll { $0 == stream }
                    if notificationStream == stream { notificationStream = nil }
                }
            case .disconnect:
                if !isConnected { problems.append("a connection was closed that is not up") }
                (isConnected, streams, notificationStream, transferStreams) = (false, [], nil, [])
            case .finish(let id, _):
                if open.remove(id) == nil { problems.append("call \(id) was finished twice, or never started") }
                finished.insert(id)
            case .transferReceived(let id, _), .transferWritable(let id):
                if !transfers.contains(id) { problems.append("transfer \(id) is told of after its end") }
            case .transferEnded(let id, _):
                if transfers.remove(id) == nil { problems.append("transfer \(id) ended twice, or never began") }
                transfersEnded += 1
            case .welcomed, .accountRefused, .streamReceived, .streamFailed, .streamDisplaced,
                .streamPositionRefused:
                break
            }
        }
        let openOnServer = streams.count + (notificationStream == nil ? 0 : 1) + transferStreams.count
        if isConnected, openOnServer > 4 { problems.append("\(openOnServer) calls are open; the server takes 4") }
    }

    /// The clock runs until every deadline has passed.
    mutating func end() {
        apply(machine.streamUnwanted(now: now))
        apply(machine.accountWatched(false, now: now))
        now += 200_000_000_000
        apply(machine.timePassed(now: now))
        if !open.isEmpty { problems.append("\(open.count) calls outlived their deadline") }
    }
}

@Suite("The machine of a client's session")
struct ClientSessionStateMachineTests {
    @Test("finishes every call once, by its deadline, whatever happens", arguments: 0..<200 as Range<UInt64>)
    func exactlyOnce(seed: UInt64) {
        var session = RandomSession(seed: seed)
        for step in 0..<600 where session.problems.isEmpty {
            session.step()
            #expect(session.problems.isEmpty, "seed \(seed), step \(step): \(session.problems)")
        }
        session.end()
        #expect(session.problems.isEmpty, "seed \(seed): \(session.problems)")
        #expect(session.finished.count == Int(session.lastID), "seed \(seed)")
    }

    @Test("asks for no connection while nothing needs one")
    func idle() {
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        #expect(session.deadlineNanoseconds == nil)
        #expect(session.timePassed(now: 1) == [])
        #expect(session.callStarted(id: 1, .welcome, deadline: 100, now: 2) == [.connect])
        #expect(session.callCancelled(id: 1, now: 3) == [.finish(id: 1, .failure(.cancelled))])
        #expect(session.disconnected(.unreachable("away"), now: 4) == [])
        #expect(session.timePassed(now: 1_000_000_000) == [])
    }

    @Test("fails calls at once while there is no network, but not who listens, and goes on at once when there is one")
    func offline() {
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        func write(_ id: UInt64, now: UInt64) -> [ClientSessionStateMachine.Action] {
            let call = UnaryCall(
                method: .recordsModify, payload: [1], effect: .onceByOperationID, requestID: "")
            return session.callStarted(id: id, .unary(call), deadline: 60_000_000_000, now: now)
        }
        func codes(_ actions: [ClientSessionStateMachine.Action]) -> [UInt64: ErrorCode] {
            var codes: [UInt64: ErrorCode] = [:]
            for case .finish(let id, .failure(let error)) in actions { codes[id] = error.code }
            return codes
        }
        let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)
        #expect(write(1, now: 0) == [.connect])
        _ = session.connected(now: 1)
        _ = session.frameReceived(.welcome(welcome), now: 2)
        // In flight: nobody knows whether it took effect.
        #expect(codes(session.disconnected(.offline("away"), now: 3)) == [1: .serverResponseLost])
        #expect(codes(write(2, now: 4)) == [2: .networkUnavailable])
        #expect(session.streamWanted(opening: [], now: 5) == [])
        #expect(session.timePassed(now: 1_000_000_000) == [.connect])
        #expect(write(3, now: 1_000_000_001) == [])
        #expect(codes(session.disconnected(.offline("away"), now: 1_000_000_002)) == [3: .networkUnavailable])
        #expect(session.circumstancesChanged(now: 1_000_000_003) == [.connect])
        _ = session.connected(now: 1_000_000_004)
        let actions = session.frameReceived(.welcome(welcome), now: 1_000_000_005)
        let opened = actions.contains { if case .send(.call) = $0 { true } else { false } }
        #expect(opened, "who listens did not get the stream")
    }

    @Test(
        "ends calls that don't wait when the server can't be reached, and lets patient ones wait and time out from their sending"
    )
    func patience() {
        let second: UInt64 = 1_000_000_000
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        func read(
            _ id: UInt64, _ patience: ClientSessionStateMachine.Patience, now: UInt64
        ) -> [ClientSessionStateMachine.Action] {
            let call = UnaryCall(method: .recordsFetch, payload: [1], effect: .none, requestID: "")
            return session.callStarted(id: id, .unary(call), patience: patience, deadline: 600 * second, now: now)
        }
        func codes(_ actions: [ClientSessionStateMachine.Action]) -> [UInt64: ErrorCode] {
            var codes: [UInt64: ErrorCode] = [:]
            for case .finish(let id, .failure(let error)) in actions { codes[id] = error.code }
            return codes
        }
        let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)
        #expect(read(1, .none, now: 0) == [.connect])
        #expect(read(2, .unlimited(requestNanoseconds: 5 * second), now: 1) == [])
        #expect(codes(session.disconnected(.unreachable("refused"), now: 2)) == [1: .networkUnavailable])
        #expect(codes(read(3, .none, now: 3)) == [3: .networkUnavailable])
        // A call does not wait for the pause, which is longer by now.
        for attempt in 1...8 as ClosedRange<UInt64> {
            let now = attempt * 60 * second
            #expect(session.timePassed(now: now) == [.connect])
            #expect(codes(session.disconnected(.unreachable("refused"), now: now + 1)).isEmpty)
        }
        #expect(read(4, .none, now: 482 * second) == [.connect])
        _ = session.connected(now: 482 * second)
        #expect(codes(session.frameReceived(.welcome(welcome), now: 482 * second)).isEmpty)
        // What waited had its time for an answer from its sending on.
        #expect(codes(session.timePassed(now: 487 * second + 1)) == [2: .networkFailure])
    }

    @Test("gives a server that was there a moment ago the time of a restart, before it ends calls that don't wait")
    func comeback() {
        let second: UInt64 = 1_000_000_000
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        func ended(_ actions: [ClientSessionStateMachine.Action]) -> [UInt64: ErrorCode] {
            var codes: [UInt64: ErrorCode] = [:]
            for case .finish(let id, .failure(let error)) in actions { codes[id] = error.code }
            return codes
        }
        let write = UnaryCall(method: .recordsModify, payload: [1], effect: .onceByOperationID, requestID: "")
        let read = UnaryCall(method: .recordsFetch, payload: [1], effect: .none, requestID: "")
        let deadline = 600 * second
        _ = session.callStarted(id: 1, .unary(write), patience: .none, deadline: deadline, now: 0)
        _ = session.connected(now: 0)
        _ = session.frameReceived(.welcome(Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)), now: 0)
        #expect(ended(session.disconnected(.lost("reset"), now: 10 * second)).isEmpty)
        #expect(session.timePassed(now: 10 * second + second / 5) == [.connect])
        #expect(ended(session.disconnected(.unreachable("refused"), now: 10 * second + second / 5)).isEmpty)
        #expect(
            session.callStarted(
                id: 2, .unary(read), patience: .none, deadline: deadline, now: 10 * second + second / 5) == [])
        #expect(session.timePassed(now: 11 * second) == [.connect])
        #expect(ended(session.disconnected(.unreachable("refused"), now: 11 * second)).isEmpty)
        #expect(session.timePassed(now: 13 * second) == [.connect])
        // Nobody knows whether the write took effect.
        #expect(
            ended(session.disconnected(.unreachable("refused"), now: 13 * second))
                == [1: .serverResponseLost, 2: .networkUnavailable])
    }

    @Test("tells calls that are over time together what each met, where the end of one ends the connection")
    func overdueTogether() {
        var machine = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        let call = UnaryCall(method: .recordsFetch, payload: [1], effect: .none, requestID: "r")
        _ = machine.callStarted(id: 1, .unary(call), deadline: 5_000_000_000, now: 0)
        _ = machine.callStarted(id: 2, .ping, deadline: 5_000_000_000, now: 0)
        _ = machine.connected(now: 0)
        _ = machine.frameReceived(
            .welcome(Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)), now: 0)
        _ = machine.frameReceived(.goaway(Goaway()), now: 0)
        let failures = machine.timePassed(now: 5_000_000_000).compactMap { action -> String? in
            if case .finish(let id, .failure(let error)) = action { "\(id): \(error.message)" } else { nil }
        }
        #expect(
            failures == [
                "1: \(ServiceError.noAnswer("s", seconds: 5).message)",
                "2: \(ServiceError.connectionLost("s", "the server said goodbye").message)",
            ])
    }

    @Test("comes back after growing pauses to a server that always says goodbye, and passes its refusal on in the end")
    func alwaysGoodbye() {
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        let call = UnaryCall(method: .recordsFetch, payload: [1], effect: .none, requestID: "r")
        var now: UInt64 = 0
        var actions = session.callStarted(id: 1, .unary(call), deadline: .max, now: now)
        var pauses: [UInt64] = []
        var refusal: ServiceError?
        while refusal == nil, pauses.count < 100 {
            let left = now
            while !actions.contains(.connect), now < left + 60_000_000_000 {
                now += 50_000_000
                actions = session.timePassed(now: now)
            }
            pauses.append(now - left)
            _ = session.connected(now: now)
            let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)
            let sent = session.frameReceived(.welcome(welcome), now: now).compactMap { action in
                if case .send(.call(let stream, _, _, _)) = action { stream } else { nil }
            }
            #expect(sent.count == 1)
            _ = session.frameReceived(.goaway(Goaway(reconnectAfterMilliseconds: 1)), now: now)
            let status = CallStatus(.serviceUnavailable, "about to stop", retryAfterMilliseconds: 1_000)
            actions = session.frameReceived(.status(stream: sent.first ?? 0, status), now: now)
            for case .finish(1, .failure(let error)) in actions { refusal = error }
            #expect(actions.contains(.disconnect))
        }
        #expect(refusal?.code == .serviceUnavailable && pauses.count == ClientSessionLimits.lossesMax + 1, "\(pauses)")
        #expect(pauses.last! > 10_000_000_000, "\(pauses)")
    }

    @Test("has no more than 8 MiB of requests in flight, and goes on as they end")
    func bytesInFlight() {
        var session = ClientSessionStateMachine(
            hello: Hello(clientVersion: "", deviceID: [], container: "c", environment: .development),
            serverName: "s", seed: 1)
        func sent(_ actions: [ClientSessionStateMachine.Action]) -> [UInt32] {
            actions.compactMap { if case .send(.call(let stream, _, _, _)) = $0 { stream } else { nil } }
        }
        let large = UnaryCall(
            method: .recordsModify, payload: [UInt8](repeating: 0, count: 3_000_000), effect: .onceByOperationID,
            requestID: "")
        for id in 1...6 as ClosedRange<UInt64> {
            _ = session.callStarted(id: id, .unary(large), deadline: 60_000_000_000, now: 0)
        }
        _ = session.connected(now: 1)
        let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)
        #expect(sent(session.frameReceived(.welcome(welcome), now: 2)) == [1, 2])
        #expect(sent(session.frameReceived(.message(stream: 1, payload: [], isLast: true), now: 3)) == [3])
        #expect(sent(session.callCancelled(id: 2, now: 4)) == [4])
        #expect(sent(session.frameReceived(.status(stream: 3, CallStatus(code: 23)), now: 5)) == [5])
        // The calls in flight wait again behind a broken connection, and count once.
        _ = session.disconnected(.lost("chance"), now: 6)
        #expect(session.timePassed(now: 1_000_000_000) == [.connect])
        _ = session.connected(now: 1_000_000_001)
        #expect(sent(session.frameReceived(.welcome(welcome), now: 1_000_000_002)) == [1, 2])
    }
}
