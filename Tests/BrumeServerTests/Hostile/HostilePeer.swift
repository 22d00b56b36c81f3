import BrumeLock
import BrumeModel
import BrumeProtocol
import BrumeSystem
import Testing

/// A TLS peer that sends whatever bytes a test wants and shows what comes back, frame by frame.
///
/// `@unchecked Sendable`: the connection is touched on its loop only, the iterator by the one test that owns the peer.
final class HostilePeer: ConnectionDelegate, @unchecked Sendable {
    struct ReceivedFrame {
        var type: FrameType
        var isLast: Bool
        var stream: UInt32
        var payload: [UInt8]
    }

    enum Event {
        case established
        case frame(ReceivedFrame)
        case closed(CloseReason)
    }

    /// Why a test can't go on. A test that waits for ever is ended by its time limit and gets here.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// One loop for the peers of all tests.
    private static let loop: EventLoop = {
        do {
            let loop = try EventLoop(name: "peers")
            loop.start()
            return loop
        } catch {
            fatalError("the loop of the test's peers did not start: \(error)")
        }
    }()

    private var iterator: AsyncStream<Event>.Iterator
    private let continuation: AsyncStream<Event>.Continuation
    /// Both are the loop's.
    private var connection: Connection?
    private var reader = FrameReader(payloadBytesLimit: 64 * 1024 * 1024)
    private let first: [UInt8]
    private let answersPings: Bool
    private let plaintext = Lock<[UInt8]>([])
    private var nextStream: UInt32 = 1

    private init(first: [UInt8], answersPings: Bool) {
        self.first = first
        self.answersPings = answersPings
        let (stream, continuation) = AsyncStream<Event>.makeStream()
        iterator = stream.makeAsyncIterator()
        self.continuation = continuation
    }

    /// Connects; returns when the handshake is done. `first` leaves at once with its end.
    ///
    /// - Parameter port: Another way to the server than its own port.
    static func connect(
        _ server: HostileServer, port: UInt16? = nil, first: [UInt8] = [], answersPings: Bool = true
    ) async throws -> HostilePeer {
        let peer = HostilePeer(first: first, answersPings: answersPings)
        let tls = try TLSClientContext(caPath: server.caPath)
        let port = port ?? server.port
        loop.execute {
            peer.connection = Connection.connect(
                host: "127.0.0.1", port: port, tls: tls, loop: loop, timeoutMilliseconds: 30_000, delegate: peer)
        }
        guard case .established = await peer.next() else { throw Failure(description: "no handshake") }
        return peer
    }

    /// Connects to the operator's socket.
    static func connect(door path: String, first: [UInt8] = []) async throws -> HostilePeer {
        let peer = HostilePeer(first: first, answersPings: true)
        loop.execute { peer.connection = Connection.connect(socketPath: path, loop: loop, delegate: peer) }
        guard case .established = await peer.next() else { throw Failure(description: "nobody listens at \(path)") }
        return peer
    }

    /// Connects and says hello with an account's token; the welcome is checked.
    ///
    /// - Parameter host: Where the server sees the peer come from: `127.0.0.` and this number.
    static func welcomed(
        _ server: HostileServer, token: String?, device: UInt8 = 7, answersPings: Bool = true, host: UInt8 = 1
    ) async throws -> HostilePeer {
        let hello = HostileRequests.hello(token: token, device: [UInt8](repeating: device, count: 16))
        let peer = try await connect(
            server, port: host == 1 ? nil : Forwarder(to: server.port, host: host).port,
            first: FrameWriter.frame(.hello, payload: hello), answersPings: answersPings)
        let welcome = try await peer.nextFrame()
        guard welcome.type == .welcome else { throw Failure(description: "no welcome: \(peer.describe(welcome))") }
        return peer
    }

    // MARK: Sending

    func send(_ bytes: [UInt8]) {
        Self.loop.execute { [self] in
            bytes.withUnsafeBytes { connection?.write($0) }
        }
    }

    func sendFrame(_ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8] = []) {
        send(FrameWriter.frame(type, stream: stream, isLast: isLast, payload: payload))
    }

    /// A frame's header with anything in it.
    static func header(length: UInt32, type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0) -> [UInt8] {
        withUnsafeBytes(of: length.bigEndian) { Array($0) } + [type, flags]
            + withUnsafeBytes(of: stream.bigEndian) { Array($0) }
    }

    /// Opens a call and sends its request. Returns the stream.
    @discardableResult
    func startCall(_ method: UInt64, _ request: [UInt8], timeoutMilliseconds: UInt64 = 0) -> UInt32 {
        let stream = openCall(method, timeoutMilliseconds: timeoutMilliseconds)
        sendFrame(.message, stream: stream, isLast: true, payload: request)
        return stream
    }

    func openCall(_ method: UInt64, timeoutMilliseconds: UInt64 = 0) -> UInt32 {
        let stream = nextStream
        nextStream += 1
        sendFrame(
            .call, stream: stream,
            payload: HostileRequests.call(method, timeoutMilliseconds: timeoutMilliseconds))
        return stream
    }

    /// Stops taking bytes from the server.
    func pauseReading() { Self.loop.execute { [self] in connection?.pauseReading() } }
    func resumeReading() { Self.loop.execute { [self] in connection?.resumeReading() } }

    /// Bytes that the server has not let us send.
    func pendingOutputBytes() async -> Int {
        await withCheckedContinuation { continuation in
            Self.loop.execute { [self] in continuation.resume(returning: connection?.pendingOutputBytes ?? 0) }
        }
    }

    func abort() { Self.loop.execute { [self] in connection?.abort() } }

    // MARK: Receiving

    func next() async -> Event? { await iterator.next() }

    /// The next frame that is no ping.
    func nextFrame() async throws -> ReceivedFrame {
        while let event = await next() {
            switch event {
            case .established: continue
            case .frame(let frame) where frame.type == .ping: continue
            case .frame(let frame): return frame
            case .closed(let reason): throw Failure(description: "the server closed instead of answering: \(reason)")
            }
        }
        throw Failure(description: "no frame came in time")
    }

    /// What ends a call: its last message, or its status.
    func answer(to stream: UInt32) async throws -> Result<[UInt8], HostileStatus> {
        while true {
            let frame = try await nextFrame()
            guard frame.stream == stream else {
                if frame.type == .status, frame.stream == 0 { throw HostileStatus(frame.payload) }
                continue
            }
            switch frame.type {
            case .message: return .success(frame.payload)
            case .status: return .failure(HostileStatus(frame.payload))
            default: continue
            }
        }
    }

    func call(_ method: UInt64, _ request: [UInt8]) async throws -> Result<[UInt8], HostileStatus> {
        try await answer(to: startCall(method, request))
    }

    /// A call that must succeed.
    func succeed(_ method: UInt64, _ request: [UInt8]) async throws -> ProtobufReader {
        guard let answer = ProtobufReader(try await call(method, request).get()) else {
            throw Failure(description: "the answer is no protobuf message")
        }
        return answer
    }

    /// A call that must fail.
    func fail(_ method: UInt64, _ request: [UInt8]) async throws -> HostileStatus {
        switch try await call(method, request) {
        case .success: throw Failure(description: "the call succeeded")
        case .failure(let status): return status
        }
    }

    /// The status on stream 0, which the end of the connection follows.
    func endingStatus() async throws -> HostileStatus {
        while true {
            let frame = try await nextFrame()
            guard frame.type == .status, frame.stream == 0 else { continue }
            let status = HostileStatus(frame.payload)
            _ = try await closeReason()
            return status
        }
    }

    /// Waits for the end of the connection.
    @discardableResult
    func closeReason() async throws -> CloseReason {
        while let event = await next() {
            if case .closed(let reason) = event { return reason }
        }
        throw Failure(description: "the server did not close in time")
    }

    /// All bytes that the server has sent so far.
    var receivedBytes: [UInt8] { plaintext.withLock { $0 } }

    private func describe(_ frame: ReceivedFrame) -> String {
        frame.type == .status ? "\(HostileStatus(frame.payload))" : "frame \(frame.type)"
    }

    // MARK: ConnectionDelegate

    func connectionEstablished(_ connection: Connection) {
        first.withUnsafeBytes { connection.write($0) }
        continuation.yield(.established)
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        plaintext.withLock { $0.append(contentsOf: bytes) }
        do {
            try reader.read(bytes) { header, payload in
                if header.type == .ping, answersPings {
                    let pong = FrameWriter.frame(.pong, payload: Array(payload))
                    pong.withUnsafeBytes { connection.write($0) }
                }
                continuation.yield(
                    .frame(
                        ReceivedFrame(
                            type: header.type, isLast: header.isLast, stream: header.stream, payload: Array(payload))))
                return true
            }
        } catch {
            Issue.record("the server broke the protocol: \(error)")
        }
    }

    func connectionDrained(_ connection: Connection) {}

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        self.connection = nil
        continuation.yield(.closed(reason))
        continuation.finish()
    }
}

/// A status frame's or an item's error.
struct HostileStatus: Error, CustomStringConvertible {
    var code: ErrorCode
    var message: String
    var retryAfterMilliseconds: UInt64

    init(_ payload: [UInt8]) {
        let fields = ProtobufReader(payload)
        code = ErrorCode(rawValue: Int32(fields?.signed(1) ?? -1))
        message = fields?.text(2) ?? ""
        retryAfterMilliseconds = fields?.varint(3) ?? 0
    }

    var description: String { "\(code.rawValue): \(message)" }

    /// A reader is told what was wrong: words, not a word.
    var isSentence: Bool { message.split(separator: " ").count >= 3 }
}
