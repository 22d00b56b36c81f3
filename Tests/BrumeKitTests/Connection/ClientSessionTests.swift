import BrumeRandom
@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

private func session(_ transport: FakeTransport, token: String? = "token") -> ClientSession {
    ClientSession(
        key: ClientSession.Key(
            endpoint: ServerEndpoint(host: "example.com", port: 7440, caPath: nil), accountToken: token,
            container: "iCloud.test", environment: 1, deviceID: Array(0..<16)),
        transport: transport, seed: 1)
}

private func request(_ payload: [UInt8] = [1], effect: UnaryCall.Effect = .none) -> UnaryCall {
    UnaryCall(method: .recordsFetch, payload: payload, effect: effect, requestID: "r")
}

private let minute: UInt64 = 60_000_000_000

extension ClientSession {
    /// Starts a call in a task of its own.
    nonisolated fileprivate func start(
        _ call: UnaryCall, timeoutNanoseconds: UInt64 = minute
    ) -> Task<Result<[UInt8], ServiceError>, Never> {
        Task {
            do throws(ServiceError) {
                return .success(try await unary(call, timeoutNanoseconds: timeoutNanoseconds))
            } catch {
                return .failure(error)
            }
        }
    }
}

extension Result where Failure == ServiceError {
    fileprivate var code: ErrorCode? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}

@Suite("A client's session", .timeLimit(.minutes(1)))
struct ClientSessionTests {
    let transport = FakeTransport()

    @Test("connects with the first call, says who it is, and keeps the connection")
    func firstCall() async throws {
        let session = session(transport)
        let first = session.start(request([1]))
        let connection = try await transport.connecting()
        connection.accept()
        let hello = try await transport.message(.hello).payload.withUnsafeBytes { try MessageCoder().decodeHello($0) }
        #expect(hello.container == "iCloud.test")
        #expect(hello.credentials == .account("token"))
        #expect(hello.environment == .development)
        #expect(hello.deviceID == Array(0..<16))
        connection.welcome()
        let call = try await transport.call()
        #expect(call.payload == [1])
        #expect(call.header.timeoutMilliseconds == 60_000)
        connection.answer(call.stream, [9])
        #expect(await first.value == .success([9]))
        #expect(session.currentUser == "_me")

        let second = session.start(request([2]))
        connection.answer(try await transport.call().stream, [8])
        #expect(await second.value == .success([8]))
    }

    @Test("takes what comes in one piece with the welcome, be it larger than a frame before it may be")
    func frameBehindWelcome() async throws {
        let session = session(transport)
        let call = session.start(request())
        let connection = try await transport.connecting()
        connection.accept()
        _ = try await transport.message(.hello)
        let welcome = Welcome(serverVersion: "", userRecordName: "", serverEpoch: 1)
        let goaway = Goaway(reason: CallStatus(code: 6, message: String(repeating: "x", count: 100_000)))
        connection.send(
            FrameWriter.frame(.welcome, payload: MessageCoder().encodeWelcome(welcome))
                + FrameWriter.frame(.goaway, payload: MessageCoder().encodeGoaway(goaway)))
        // The welcome starts the call, and the goodbye behind it lets it end.
        let large = [UInt8](repeating: 7, count: 1_000_000)
        connection.answer(try await transport.call().stream, large)
        #expect(await call.value == .success(large))
    }

    // MARK: Waiting

    @Test("waits for a server that is away, and says so when the time is over")
    func unreachable() async throws {
        for (failure, code) in [
            (TransportFailure.unreachable("refused"), ErrorCode.networkFailure),
            (.noNetwork("no route"), .networkUnavailable),
        ] {
            let transport = FakeTransport()
            let session = session(transport)
            let call = session.start(request())
            var attempts = 0
            for _ in 0..<20 {
                // The attempts before the deadline; behind it nothing wants a connection.
                guard attempts < 8 else { break }
                try await transport.connecting().fail(failure)
                attempts += 1
                transport.advance(seconds: attempts < 8 ? 7.4 : 60)
            }
            #expect(await call.value.code == code)
        }
    }

    @Test("pauses longer after each failed attempt, up to 30 s")
    func pauses() {
        var pause = RetryPause(seed: 3)
        var bound: UInt64 = 100_000_000
        for _ in 0..<20 {
            let next = pause.next()
            #expect(next >= bound / 2 && next <= bound)
            bound = min(2 * bound, 30_000_000_000)
        }
        #expect(pause.next(hintMilliseconds: 100_000) >= 100_000_000_000)
        #expect(pause.next(hintMilliseconds: 100_000) <= 101_000_000_000)
        pause.reset()
        #expect(pause.next() <= 100_000_000)
    }

    @Test("comes back by itself when the server is full, and the call does not notice")
    func serverFull() async throws {
        let session = session(transport)
        let call = session.start(request())
        let first = try await transport.connecting()
        first.accept()
        _ = try await transport.message(.hello)
        first.status(0, .serviceUnavailable, "full", retryAfterMilliseconds: 3_000)
        try await transport.closed()
        transport.advance(seconds: 2.9)
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        second.answer(try await transport.call().stream, [4])
        #expect(await call.value == .success([4]))
    }

    @Test("says that the server is full when it stays so until the call's time is over")
    func serverStaysFull() async throws {
        let session = session(transport)
        let call = session.start(request(), timeoutNanoseconds: 2_000_000_000)
        let first = try await transport.connecting()
        first.accept()
        _ = try await transport.message(.hello)
        first.status(0, .serviceUnavailable, "full", retryAfterMilliseconds: 3_000)
        try await transport.closed()
        transport.advance(seconds: 2)
        #expect(
            await call.value
                == .failure(ServiceError(.serviceUnavailable, "full", retryAfterMilliseconds: 3_000)))
    }

    @Test("tells all that wait when the account is refused, and asks again for later calls")
    func refusedAccount() async throws {
        let session = session(transport)
        let calls = (0..<5).map { _ in session.start(request()) }
        let first = try await transport.connecting()
        // All five have started once a sixth, which comes behind them, has.
        await #expect(session.openCallsReach(5))
        first.accept()
        _ = try await transport.message(.hello)
        first.status(0, .notAuthenticated, "the token is unknown")
        for call in calls { #expect(await call.value.code == .notAuthenticated) }
        try await transport.closed()

        // Right behind the refusal the answer is known.
        #expect(await session.start(request()).value.code == .notAuthenticated)
        transport.advance(seconds: 1)
        let later = session.start(request())
        let second = try await transport.welcomed()
        second.answer(try await transport.call().stream)
        #expect(await later.value == .success([]))
    }

    @Test("refuses the call that is one too many")
    func tooManyCalls() async throws {
        let session = session(transport)
        let calls = (0..<ClientSessionLimits.callsMax).map { _ in session.start(request()) }
        let connection = try await transport.connecting()
        await #expect(session.openCallsReach(ClientSessionLimits.callsMax))
        let refused = await session.start(request()).value
        #expect(refused.code == .requestRateLimited)
        connection.fail(.misconfigured("the CA file is missing"))
        for call in calls { #expect(await call.value.code == .internalError) }
    }

    // MARK: Broken connections

    @Test("sends reads, and writes with an operation id, again when the connection breaks")
    func retries() async throws {
        let session = session(transport)
        let read = session.start(request([1]))
        let first = try await transport.welcomed()
        _ = try await transport.call()
        let write = session.start(request([2], effect: .onceByOperationID))
        _ = try await transport.call()
        first.fail()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        let again = [try await transport.call(), try await transport.call()]
        #expect(again.map(\.payload) == [[1], [2]])
        second.answer(again[0].stream, [11])
        second.answer(again[1].stream, [22])
        #expect(await read.value == .success([11]))
        #expect(await write.value == .success([22]))
    }

    @Test("does not repeat a write without an operation id")
    func lostAnswer() async throws {
        let session = session(transport)
        let write = session.start(request(effect: .once))
        let first = try await transport.welcomed()
        _ = try await transport.call()
        first.fail()
        #expect(await write.value.code == .serverResponseLost)
    }

    @Test("gives up a request that breaks ten connections")
    func poison() async throws {
        let session = session(transport)
        let call = session.start(request(), timeoutNanoseconds: 10 * minute)
        for _ in 0..<10 {
            let connection = try await transport.welcomed()
            _ = try await transport.call()
            connection.fail()
            transport.advance(seconds: 31)
        }
        #expect(await call.value.code == .serverResponseLost)
    }

    @Test("fails a call that is not answered in time, and tells the server")
    func deadline() async throws {
        let session = session(transport)
        let call = session.start(request())
        let connection = try await transport.welcomed()
        let stream = try await transport.call().stream
        for _ in 0..<4 {
            transport.advance(seconds: 12)
            connection.send(FrameWriter.frame(.ping, payload: Array(0..<8)))
            _ = try await transport.message(.pong)
        }
        transport.advance(seconds: 12)
        #expect(await call.value.code == .networkFailure)
        #expect(try await transport.message(.cancel).header.stream == stream)
    }

    @Test("leaves a silent server and sends the call to the next")
    func silence() async throws {
        let session = session(transport)
        let call = session.start(request())
        _ = try await transport.welcomed()
        _ = try await transport.call()
        transport.advance(seconds: 15)
        _ = try await transport.message(.ping)
        transport.advance(seconds: 10)
        try await transport.closed()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        second.answer(try await transport.call().stream, [3])
        #expect(await call.value == .success([3]))
    }

    @Test("throws what the server says of a call, with its time to come back")
    func statuses() async throws {
        let session = session(transport)
        var connection: FakeConnection?
        for code in [
            ErrorCode.serviceUnavailable, .requestRateLimited, .zoneBusy, .zoneNotFound, ErrorCode(rawValue: 99),
        ] {
            let call = session.start(request())
            if connection == nil { connection = try await transport.welcomed() }
            connection?.status(try await transport.call().stream, code, "not now", retryAfterMilliseconds: 5)
            #expect(await call.value == .failure(ServiceError(code, "not now", retryAfterMilliseconds: 5)))
        }
    }

    @Test("lets calls end when the server says goodbye, and comes back when it said")
    func goaway() async throws {
        let session = session(transport)
        let inFlight = session.start(request([1]))
        let first = try await transport.welcomed()
        let stream = try await transport.call().stream
        first.goaway(reconnectAfterMilliseconds: 5_000)
        let waiting = session.start(request([2]))
        await #expect(session.openCallsReach(2))
        first.answer(stream, [9])
        #expect(await inFlight.value == .success([9]))
        try await transport.closed()
        transport.advance(seconds: 4.9)
        transport.advance(seconds: 2)
        let second = try await transport.welcomed()
        let call = try await transport.call()
        #expect(call.payload == [2])
        second.answer(call.stream)
        #expect(await waiting.value == .success([]))
    }

    @Test("sends a call that met the server's goodbye on its way over the next connection, before those that waited")
    func turnedAway() async throws {
        let session = session(transport)
        let turnedAway = session.start(request([1]))
        let first = try await transport.welcomed()
        let stream = try await transport.call().stream
        first.goaway(reconnectAfterMilliseconds: 100)
        let waiting = session.start(request([2]))
        await #expect(session.openCallsReach(2))
        first.status(stream, .serviceUnavailable, "about to stop", retryAfterMilliseconds: 1_000)
        try await transport.closed()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        for (call, payload) in [(turnedAway, [1] as [UInt8]), (waiting, [2])] {
            let sent = try await transport.call()
            #expect(sent.payload == payload)
            second.answer(sent.stream, payload)
            #expect(await call.value == .success(payload))
        }
    }

    @Test("says after three attempts that what answers is no Brume server")
    func garbage() async throws {
        let session = session(transport)
        let call = session.start(request())
        for _ in 0..<3 {
            let connection = try await transport.connecting()
            connection.accept()
            _ = try await transport.message(.hello)
            connection.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
            try await transport.closed()
            transport.advance(seconds: 1)
        }
        #expect(await call.value.code == .networkFailure)
    }

    @Test("leaves a server that sends garbage in the middle, and asks another time")
    func garbageInCall() async throws {
        let session = session(transport)
        let call = session.start(request())
        let first = try await transport.welcomed()
        _ = try await transport.call()
        first.send([UInt8](repeating: 0xFF, count: 64))
        try await transport.closed()
        transport.advance(seconds: 1)
        let second = try await transport.welcomed()
        second.answer(try await transport.call().stream, [5])
        #expect(await call.value == .success([5]))
    }

    // MARK: Cancellation

    @Test("a cancelled call ends while there is no connection")
    func cancelWhileDisconnected() async throws {
        let session = session(transport)
        let call = session.start(request())
        let connection = try await transport.connecting()
        call.cancel()
        #expect(await call.value.code == .operationCancelled)
        _ = connection
    }

    @Test("a cancelled call ends while the server has not said welcome")
    func cancelWhileGreeting() async throws {
        let session = session(transport)
        let call = session.start(request())
        try await transport.connecting().accept()
        _ = try await transport.message(.hello)
        call.cancel()
        #expect(await call.value.code == .operationCancelled)
    }

    @Test("a cancelled call in flight ends, and the server is told")
    func cancelInFlight() async throws {
        let session = session(transport)
        let call = session.start(request())
        let connection = try await transport.welcomed()
        let stream = try await transport.call().stream
        call.cancel()
        #expect(await call.value.code == .operationCancelled)
        #expect(try await transport.message(.cancel).header.stream == stream)
        // The answer crossed the cancel.
        connection.answer(stream)
        let next = session.start(request())
        connection.answer(try await transport.call().stream, [2])
        #expect(await next.value == .success([2]))
    }

    @Test("a cancelled call ends while it waits for its turn, and never leaves")
    func cancelWaiting() async throws {
        let session = session(transport)
        let first = session.start(request([1]))
        let connection = try await transport.welcomed(ConnectionLimits(concurrentCalls: 2))
        let stream = try await transport.call().stream
        let second = session.start(request([2]))
        await #expect(session.openCallsReach(2))
        second.cancel()
        #expect(await second.value.code == .operationCancelled)
        let third = session.start(request([3]))
        await #expect(session.openCallsReach(2))
        connection.answer(stream)
        #expect(await first.value == .success([]))
        let call = try await transport.call()
        #expect(call.payload == [3])
        connection.answer(call.stream)
        #expect(await third.value == .success([]))
    }

    @Test("a call of a task that is cancelled already ends at once")
    func cancelledBefore() async throws {
        let session = session(transport)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(ServiceError) {
                _ = try await session.unary(request(), timeoutNanoseconds: minute)
                return nil as ErrorCode?
            } catch {
                return error.code
            }
        }
        #expect(await call.value == .operationCancelled)
    }

    @Test("of a call of a task that is cancelled already nothing is sent")
    func cancelledBeforeIsNotSent() async throws {
        let session = session(transport)
        let first = session.start(request([1]))
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream)
        #expect(await first.value == .success([]))
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try? await session.unary(request([2]), timeoutNanoseconds: minute)
        }
        #expect(await cancelled.value == nil)
        let next = session.start(request([3]))
        let call = try await transport.call()
        #expect(call.payload == [3])
        connection.answer(call.stream)
        #expect(await next.value == .success([]))
    }

    // MARK: Ping and welcome

    @Test("measures a round trip")
    func ping() async throws {
        let session = session(transport)
        async let roundTrip = session.ping()
        let connection = try await transport.welcomed()
        let ping = try await transport.message(.ping)
        transport.advance(seconds: 0.25)
        connection.send(FrameWriter.frame(.pong, payload: ping.payload))
        #expect(try await roundTrip == 250_000_000)
        #expect(try await session.welcome().userRecordName == "_me")
    }

    // MARK: Chance

    @Test("every call has one outcome, however connections break", arguments: 0..<8 as Range<UInt64>)
    func exactlyOnce(seed: UInt64) async {
        print("seed \(seed)")
        let transport = transport
        let session = session(transport)
        let server = Task {
            var server = ChaoticServer(seed: seed, transport: transport)
            await server.run()
        }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SeededGenerator(seed: seed << 8 | worker)
                    for index in 0..<40 as Range<UInt64> {
                        let payload = withUnsafeBytes(of: (worker << 32 | index).bigEndian) { Array($0) }
                        let call = session.start(request(payload), timeoutNanoseconds: 10_000 * minute)
                        if random.next() % 5 == 0 { call.cancel() }
                        switch await call.value {
                        // An answer is the answer to this call: the server sends back what it got.
                        case .success(let answer): #expect(answer == payload, "seed \(seed)")
                        case .failure(let error):
                            let expected: [ErrorCode] = [.operationCancelled, .zoneBusy, .serverResponseLost]
                            #expect(expected.contains(error.code), "seed \(seed): \(error)")
                        }
                    }
                }
            }
        }
        #expect(await session.openCalls == 0)
        server.cancel()
    }
}

/// Answers, refuses, cuts, says goodbye and sends garbage by chance, and lets time pass after each cut.
private struct ChaoticServer {
    var random: SeededGenerator
    let transport: FakeTransport

    init(seed: UInt64, transport: FakeTransport) {
        random = SeededGenerator(seed: seed)
        self.transport = transport
    }

    mutating func run() async {
        while let event = await transport.nextIfAny() {
            switch event {
            case .connecting(let connection):
                if random.next() % 4 == 0 {
                    cut(connection, .unreachable("chance"))
                } else {
                    connection.accept()
                }
            case .frame(let connection, let message):
                switch message.header.type {
                case .hello:
                    switch random.next() % 8 {
                    case 0: cut(connection, .lost("chance"))
                    case 1:
                        connection.status(0, .serviceUnavailable, "chance", retryAfterMilliseconds: 10)
                    default: connection.welcome(ConnectionLimits(concurrentCalls: 5))
                    }
                case .message:
                    switch random.next() % 20 {
                    case 0: cut(connection, .lost("chance"))
                    case 1: connection.send([0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0])
                    case 2: connection.goaway(reconnectAfterMilliseconds: 20)
                    case 3: connection.status(message.header.stream, .zoneBusy)
                    default: break
                    }
                    connection.answer(message.header.stream, message.payload)
                case .ping: connection.send(FrameWriter.frame(.pong, payload: message.payload))
                default: break
                }
            case .closed: letTimePass()
            }
        }
    }

    private func cut(_ connection: FakeConnection, _ failure: TransportFailure) {
        connection.fail(failure)
        letTimePass()
    }

    /// Behind what the client does about it.
    private func letTimePass() {
        transport.execute { [transport] in transport.execute { transport.elapse(31_000_000_000) } }
    }
}

extension ClientSession {
    var openCalls: Int { openCallCount }

    /// Waits until so many calls are open. The test's time limit ends a wait in vain.
    func openCallsReach(_ count: Int) async -> Bool {
        while openCallCount < count { await Task.yield() }
        return openCallCount == count
    }
}
