import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import Foundation
import Synchronization

/// A transport whose clock the test turns and whose server the test plays.
///
/// `@unchecked Sendable`: the state belongs to the queue.
final class FakeTransport: ClientTransport, @unchecked Sendable {
    /// What the client did, in order.
    enum Event: Sendable {
        case connecting(FakeConnection)
        case frame(FakeConnection, ClientMessage)
        /// The client closed the connection.
        case closed(FakeConnection)
    }

    let queue = DispatchQueue(label: "fake transport")
    private var now: UInt64 = 1_000_000_000
    private var timers: [UInt64: (deadline: UInt64, body: @Sendable () -> Void)] = [:]
    private var lastTimer: UInt64 = 0
    private let events: AsyncStream<Event>
    fileprivate let report: AsyncStream<Event>.Continuation

    init() {
        (events, report) = AsyncStream.makeStream()
    }

    // MARK: For tests

    /// What the client does next. The test's time limit ends a wait in vain.
    func next() async throws -> Event {
        guard let event = await nextIfAny() else { throw CancellationError() }
        return event
    }

    /// The same; nil when the task is cancelled.
    func nextIfAny() async -> Event? {
        var iterator = events.makeAsyncIterator()
        return await iterator.next()
    }

    /// Turns the clock, and fires the timers that come due on the way.
    func advance(seconds: Double) {
        queue.sync { elapse(UInt64(seconds * 1_000_000_000)) }
    }

    /// On the queue.
    func elapse(_ nanoseconds: UInt64) {
        let end = now + nanoseconds
        while let (id, timer) = timers.filter({ $0.value.deadline <= end }).min(by: {
            $0.value.deadline < $1.value.deadline
        }) {
            timers[id] = nil
            now = max(now, timer.deadline)
            timer.body()
        }
        now = end
    }

    /// The next connection that the client asks for.
    func connecting() async throws -> FakeConnection {
        let event = try await next()
        guard case .connecting(let connection) = event else { throw Unexpected(event: event, instead: "connecting") }
        return connection
    }

    /// The client closes its connection next.
    func closed() async throws {
        let event = try await next()
        guard case .closed = event else { throw Unexpected(event: event, instead: "closing") }
    }

    /// The next connection, up and welcomed.
    func welcomed(_ limits: ConnectionLimits = ConnectionLimits(), user: String = "_me") async throws -> FakeConnection
    {
        let connection = try await connecting()
        connection.accept()
        _ = try await message(.hello)
        connection.welcome(limits, user: user)
        return connection
    }

    /// The next frame of the client, which has to be of the given type.
    func message(_ type: FrameType) async throws -> ClientMessage {
        let event = try await next()
        guard case .frame(_, let message) = event, message.header.type == type else {
            throw Unexpected(event: event, instead: "a \(type) frame")
        }
        return message
    }

    /// The next call of the client, with its first message.
    func call() async throws -> (stream: UInt32, header: CallHeader, payload: [UInt8]) {
        let call = try await message(.call)
        let message = try await message(.message)
        let header = try call.payload.withUnsafeBytes { try MessageCoder().decodeCall($0) }
        return (call.header.stream, header, message.payload)
    }

    // MARK: ClientTransport

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    var nowNanoseconds: UInt64 { now }

    func execute(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }

    func schedule(afterNanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) -> any TransportTimer {
        lastTimer += 1
        let (deadline, overflow) = now.addingReportingOverflow(afterNanoseconds)
        timers[lastTimer] = (overflow ? .max : deadline, body)
        return Timer(transport: self, id: lastTimer)
    }

    func connect(
        to endpoint: ServerEndpoint, timeoutMilliseconds: UInt64, receiver: any TransportReceiver
    ) -> any TransportConnection {
        let connection = FakeConnection(transport: self, receiver: receiver)
        report.yield(.connecting(connection))
        return connection.end
    }

    private struct Timer: TransportTimer {
        let transport: FakeTransport
        let id: UInt64

        func cancel() { transport.timers[id] = nil }
    }
}

/// The client did something else than the test expects.
struct Unexpected: Error {
    let event: FakeTransport.Event
    let instead: String
}

/// A frame of the client.
struct ClientMessage: Sendable {
    let header: FrameHeader
    let payload: [UInt8]
}

/// The server's end of a connection. What a test does with it happens on the queue, in order.
///
/// `@unchecked Sendable`: the state belongs to the queue.
final class FakeConnection: @unchecked Sendable {
    private let transport: FakeTransport
    private weak var receiver: (any TransportReceiver)?
    private var reader = FrameReader(payloadBytesLimit: 64 * 1024 * 1024)
    private var isClosed = false
    /// What the client holds. It holds this end, and lives as long.
    private var heldEnd: ClientEnd?

    private var clientEnd: ClientEnd {
        if let heldEnd { return heldEnd }
        let end = ClientEnd(connection: self)
        heldEnd = end
        return end
    }

    init(transport: FakeTransport, receiver: any TransportReceiver) {
        self.transport = transport
        self.receiver = receiver
    }

    var end: any TransportConnection { clientEnd }

    // MARK: For tests

    func accept() {
        onQueue { $0.receiver?.connectionEstablished($0.clientEnd) }
    }

    func fail(_ failure: TransportFailure = .lost("the test cut it")) {
        onQueue { connection in
            connection.isClosed = true
            connection.receiver?.connectionEnded(connection.clientEnd, failure: failure)
            (connection.receiver, connection.heldEnd) = (nil, nil)
        }
    }

    func send(_ bytes: [UInt8]) {
        onQueue { connection in
            bytes.withUnsafeBytes { connection.receiver?.connection(connection.clientEnd, received: $0) }
        }
    }

    func welcome(_ limits: ConnectionLimits = ConnectionLimits(), user: String = "_me") {
        let welcome = Welcome(serverVersion: "fake", userRecordName: user, serverEpoch: 1, limits: limits)
        send(FrameWriter.frame(.welcome, payload: MessageCoder().encodeWelcome(welcome)))
    }

    /// Whether so much waits to leave that transfers pause. When it ends, the client is told.
    func setOutputBusy(_ isBusy: Bool) {
        onQueue { connection in
            connection.clientEnd.isOutputBusy = isBusy
            if !isBusy { connection.receiver?.connectionDrained(connection.clientEnd) }
        }
    }

    /// There is room for so many frames of transfers; after them the connection is busy again.
    func makeRoom(frames: Int) {
        onQueue { connection in
            connection.clientEnd.framesUntilBusy = frames
            connection.clientEnd.isOutputBusy = false
            connection.receiver?.connectionDrained(connection.clientEnd)
        }
    }

    func answer(_ stream: UInt32, _ payload: [UInt8] = []) {
        send(FrameWriter.frame(.message, stream: stream, isLast: true, payload: payload))
    }

    func status(_ stream: UInt32, _ code: ErrorCode, _ message: String = "no", retryAfterMilliseconds: UInt32 = 0) {
        let status = CallStatus(code: code.rawValue, message: message, retryAfterMilliseconds: retryAfterMilliseconds)
        send(FrameWriter.frame(.status, stream: stream, payload: MessageCoder().encodeStatus(status)))
    }

    func event(_ stream: UInt32, _ event: NotificationEvent) {
        send(FrameWriter.frame(.message, stream: stream, payload: EventCoder().encode(event)))
    }

    func goaway(reconnectAfterMilliseconds: UInt32) {
        let goaway = Goaway(
            reason: CallStatus(code: 6, message: "stopping"), reconnectAfterMilliseconds: reconnectAfterMilliseconds)
        send(FrameWriter.frame(.goaway, payload: MessageCoder().encodeGoaway(goaway)))
    }

    private func onQueue(_ body: @escaping @Sendable (FakeConnection) -> Void) {
        transport.queue.async { [self] in if !isClosed { body(self) } }
    }

    // MARK: What the client does

    fileprivate func sent(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        bytes.withUnsafeBytes { bytes in
            try! reader.read(bytes) { header, payload in
                transport.report.yield(.frame(self, ClientMessage(header: header, payload: Array(payload))))
                return true
            }
        }
    }

    fileprivate func closed() {
        guard !isClosed else { return }
        isClosed = true
        (receiver, heldEnd) = (nil, nil)
        transport.report.yield(.closed(self))
    }
}

private final class ClientEnd: TransportConnection, @unchecked Sendable {
    // Sendable: the connection's state belongs to the queue.
    private let connection: FakeConnection
    var isOutputBusy = false
    /// After how many sends the output is busy; nil when it doesn't change by them.
    var framesUntilBusy: Int?

    init(connection: FakeConnection) {
        self.connection = connection
    }

    func send(_ bytes: [UInt8]) {
        if let left = framesUntilBusy {
            framesUntilBusy = left > 1 ? left - 1 : nil
            isOutputBusy = left <= 1
        }
        connection.sent(bytes)
    }

    func close() { connection.closed() }
}
