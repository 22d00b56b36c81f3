internal import BrumeLock
package import BrumeProtocol
package import BrumeSystem

/// A client of a ``RunningServer`` over TLS that sends whatever bytes a test wants and shows what comes back, frame by
/// frame. Its messages are written and read without our own coder.
///
/// `@unchecked Sendable`: the connection is touched on its loop only, the iterator by the test that owns the client.
package final class FrameClient: ConnectionDelegate, @unchecked Sendable {
    package enum Event: Sendable {
        case established
        case frame(ReceivedFrame)
        case closed(CloseReason)
    }

    /// One loop for the clients of all tests.
    private static let loop: EventLoop = {
        do {
            let loop = try EventLoop(name: "clients")
            loop.start()
            return loop
        } catch {
            preconditionFailure("the loop of the tests' clients did not start: \(error)")
        }
    }()

    private var iterator: AsyncStream<Event>.Iterator
    private let continuation: AsyncStream<Event>.Continuation
    /// Both are the loop's.
    private var connection: Connection?
    private var reader = FrameReader(payloadBytesLimit: 64 * 1024 * 1024)
    private let first: [UInt8]
    private let leavesAtOnce: Bool
    private let answersPings: Bool
    private let plaintext = Lock<[UInt8]>([])
    private var nextStream: UInt32 = 1
    /// What the server said to the hello.
    package private(set) var welcome: ProtobufReader?

    private init(first: [UInt8], leavesAtOnce: Bool = false, answersPings: Bool = true) {
        self.first = first
        self.leavesAtOnce = leavesAtOnce
        self.answersPings = answersPings
        let (stream, continuation) = AsyncStream<Event>.makeStream()
        iterator = stream.makeAsyncIterator()
        self.continuation = continuation
    }

    // MARK: Connecting

    /// Connects; returns when the handshake is done. `first` leaves at once with its end.
    ///
    /// - Parameter port: Another way to the server than its own port.
    package static func connect(
        _ server: RunningServer, port: UInt16? = nil, first: [UInt8] = [], answersPings: Bool = true
    ) async throws -> FrameClient {
        let client = FrameClient(first: first, answersPings: answersPings)
        try await client.open(server, port: port ?? server.port)
        return client
    }

    /// Connects to the operator's socket.
    package static func connect(door path: String, first: [UInt8] = []) async throws -> FrameClient {
        let client = FrameClient(first: first)
        loop.execute { client.connection = Connection.connect(socketPath: path, loop: loop, delegate: client) }
        guard case .established = await client.next() else { throw TestFailure("nobody listens at \(path)") }
        return client
    }

    /// Connects and says hello with an account's token; the welcome is checked.
    ///
    /// - Parameter port: Another way to the server than its own port.
    package static func welcomed(
        _ server: RunningServer, token: String?, device: UInt8 = 7, answersPings: Bool = true, port: UInt16? = nil
    ) async throws -> FrameClient {
        let hello = hello(token: token, device: [UInt8](repeating: device, count: 16))
        let client = try await connect(
            server, port: port, first: FrameWriter.frame(.hello, payload: hello), answersPings: answersPings)
        try await client.takeWelcome()
        return client
    }

    /// Connects, says something and good-bye in one breath, so that the server finds both in one read. Returns when the
    /// connection has ended.
    package static func sayGoodbye(_ first: [UInt8], to server: RunningServer) async throws {
        let client = FrameClient(first: first, leavesAtOnce: true)
        try await client.open(server, port: server.port)
        try await client.closeReason()
    }

    private func open(_ server: RunningServer, port: UInt16) async throws {
        let tls = try server.certificates.clientContext()
        Self.loop.execute { [self] in
            connection = Connection.connect(
                host: "127.0.0.1", port: port, tls: tls, loop: Self.loop, timeoutMilliseconds: 30_000, delegate: self)
        }
        guard case .established = await next() else { throw TestFailure("no handshake") }
    }

    /// Checks that a hello is answered by a welcome.
    package func takeWelcome() async throws {
        let frame = try await nextFrame()
        guard frame.type == .welcome, let welcome = ProtobufReader(frame.payload) else {
            let what = frame.type == .status ? "\(ReceivedStatus(frame.payload))" : "frame \(frame.type)"
            throw TestFailure("no welcome: \(what)")
        }
        self.welcome = welcome
    }

    /// The account's user record, as the welcome named it.
    package var userRecordName: String { welcome?.text(3) ?? "" }

    /// The payload of a hello.
    package static func hello(
        token: String?, device: [UInt8] = [UInt8](repeating: 7, count: 16), version: UInt64 = 1,
        container: String = RunningServer.container, environment: UInt64 = 1
    ) -> [UInt8] {
        let hello = ProtoBytes().varint(1, version).text(2, "test").bytes(3, device).text(4, container)
            .varint(5, environment)
        return (token.map { hello.text(6, $0) } ?? hello).bytes
    }

    // MARK: Sending

    package func send(_ bytes: [UInt8]) {
        Self.loop.execute { [self] in
            bytes.withUnsafeBytes { connection?.write($0) }
        }
    }

    package func sendFrame(_ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8] = []) {
        send(FrameWriter.frame(type, stream: stream, isLast: isLast, payload: payload))
    }

    /// A frame's header with anything in it.
    package static func header(length: UInt32, type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0) -> [UInt8] {
        withUnsafeBytes(of: length.bigEndian) { Array($0) } + [type, flags]
            + withUnsafeBytes(of: stream.bigEndian) { Array($0) }
    }

    /// Opens a call and sends its request. Returns the stream.
    @discardableResult
    package func startCall(_ method: UInt64, _ request: [UInt8], timeoutMilliseconds: UInt64 = 0) -> UInt32 {
        let stream = openCall(method, timeoutMilliseconds: timeoutMilliseconds)
        sendFrame(.message, stream: stream, isLast: true, payload: request)
        return stream
    }

    package func openCall(_ method: UInt64, timeoutMilliseconds: UInt64 = 0) -> UInt32 {
        let stream = nextStream
        nextStream += 1
        sendFrame(.call, stream: stream, payload: Self.call(method, timeoutMilliseconds: timeoutMilliseconds))
        return stream
    }

    /// The payload of a call.
    package static func call(_ method: UInt64, timeoutMilliseconds: UInt64 = 0) -> [UInt8] {
        ProtoBytes().varint(1, method).varint(2, timeoutMilliseconds).bytes
    }

    /// Stops taking bytes from the server.
    package func pauseReading() { Self.loop.execute { [self] in connection?.pauseReading() } }
    package func resumeReading() { Self.loop.execute { [self] in connection?.resumeReading() } }

    /// Bytes that the server has not let us send.
    package func pendingOutputBytes() async -> Int {
        await withCheckedContinuation { continuation in
            Self.loop.execute { [self] in continuation.resume(returning: connection?.pendingOutputBytes ?? 0) }
        }
    }

    package func abort() { Self.loop.execute { [self] in connection?.abort() } }

    // MARK: Receiving

    package func next() async -> Event? { await iterator.next() }

    /// The next frame that is no ping.
    package func nextFrame() async throws -> ReceivedFrame {
        while let event = await next() {
            switch event {
            case .established: continue
            case .frame(let frame) where frame.type == .ping: continue
            case .frame(let frame): return frame
            case .closed(let reason): throw TestFailure("the server closed instead of answering: \(reason)")
            }
        }
        throw TestFailure("no more frames come: the client was ended")
    }

    /// What ends a call: its last message, or its status.
    package func answer(to stream: UInt32) async throws -> Result<[UInt8], ReceivedStatus> {
        while true {
            let frame = try await nextFrame()
            guard frame.stream == stream else {
                if frame.type == .status, frame.stream == 0 { throw ReceivedStatus(frame.payload) }
                continue
            }
            switch frame.type {
            case .message: return .success(frame.payload)
            case .status: return .failure(ReceivedStatus(frame.payload))
            default: continue
            }
        }
    }

    package func call(_ method: UInt64, _ request: [UInt8]) async throws -> Result<[UInt8], ReceivedStatus> {
        try await answer(to: startCall(method, request))
    }

    /// A call that must succeed.
    package func succeed(_ method: UInt64, _ request: [UInt8]) async throws -> ProtobufReader {
        guard let answer = ProtobufReader(try await call(method, request).get()) else {
            throw TestFailure("the answer is no protobuf message")
        }
        return answer
    }

    /// A call that must fail.
    package func fail(_ method: UInt64, _ request: [UInt8]) async throws -> ReceivedStatus {
        switch try await call(method, request) {
        case .success: throw TestFailure("the call succeeded")
        case .failure(let status): return status
        }
    }

    /// The status on stream 0, which the end of the connection follows.
    package func endingStatus() async throws -> ReceivedStatus {
        while true {
            let frame = try await nextFrame()
            guard frame.type == .status, frame.stream == 0 else { continue }
            let status = ReceivedStatus(frame.payload)
            _ = try await closeReason()
            return status
        }
    }

    /// Waits for the end of the connection.
    @discardableResult
    package func closeReason() async throws -> CloseReason {
        while let event = await next() {
            if case .closed(let reason) = event { return reason }
        }
        throw TestFailure("the server did not close in time")
    }

    /// All bytes that the server has sent so far.
    package var receivedBytes: [UInt8] { plaintext.withLock { $0 } }

    // MARK: ConnectionDelegate

    package func connectionEstablished(_ connection: Connection) {
        first.withUnsafeBytes { connection.write($0) }
        if leavesAtOnce { connection.close() }
        continuation.yield(.established)
    }

    package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        plaintext.withLock { $0.append(contentsOf: bytes) }
        do {
            try reader.read(bytes) { header, payload in
                if header.type == .ping, answersPings {
                    let pong = FrameWriter.frame(.pong, payload: Array(payload))
                    pong.withUnsafeBytes { connection.write($0) }
                }
                continuation.yield(.frame(ReceivedFrame(header, payload)))
                return true
            }
        } catch {
            preconditionFailure("the server sent a bad frame: \(error)")
        }
    }

    package func connectionDrained(_ connection: Connection) {}

    package func connectionClosed(_ connection: Connection, reason: CloseReason) {
        self.connection = nil
        continuation.yield(.closed(reason))
        continuation.finish()
    }
}
