internal import BrumeKit
internal import BrumeLock

/// The process's transport, which keeps what passes behind TLS, in both directions.
final class RecordingTransport: ClientTransport {
    private let loop: LoopTransport
    private let passed = Lock<(sent: [UInt8], received: [UInt8])>(([], []))

    var sent: [UInt8] { passed.withLock { $0.sent } }
    var received: [UInt8] { passed.withLock { $0.received } }

    init() throws { loop = try LoopTransport.shared.get() }

    fileprivate func sends(_ bytes: [UInt8]) { passed.withLock { $0.sent += bytes } }

    fileprivate func receives(_ bytes: UnsafeRawBufferPointer) {
        passed.withLock { $0.received.append(contentsOf: bytes) }
    }

    // MARK: SerialExecutor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    func checkIsolated() { loop.checkIsolated() }

    func isIsolatingCurrentContext() -> Bool? { loop.isIsolatingCurrentContext() }

    // MARK: ClientTransport

    var nowNanoseconds: UInt64 { loop.nowNanoseconds }

    func execute(_ body: @escaping @Sendable () -> Void) { loop.execute(body) }

    func schedule(afterNanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) -> any TransportTimer {
        loop.schedule(afterNanoseconds: afterNanoseconds, body)
    }

    func connect(
        to endpoint: ServerEndpoint, timeoutMilliseconds: UInt64, receiver: any TransportReceiver
    ) -> any TransportConnection {
        let connection = RecordingConnection(receiver: receiver, transport: self)
        connection.open(loop.connect(to: endpoint, timeoutMilliseconds: timeoutMilliseconds, receiver: connection))
        return connection
    }
}

/// A connection whose bytes are kept.
///
/// `@unchecked Sendable`: the state belongs to the transport's executor.
private final class RecordingConnection: TransportConnection, TransportReceiver, @unchecked Sendable {
    private weak var receiver: (any TransportReceiver)?
    private let transport: RecordingTransport
    private var inner: (any TransportConnection)?

    init(receiver: any TransportReceiver, transport: RecordingTransport) {
        self.receiver = receiver
        self.transport = transport
    }

    func open(_ inner: any TransportConnection) { self.inner = inner }

    var isOutputBusy: Bool { inner?.isOutputBusy ?? false }

    func send(_ bytes: [UInt8]) {
        transport.sends(bytes)
        inner?.send(bytes)
    }

    func close() {
        receiver = nil
        inner?.close()
        inner = nil
    }

    func connectionEstablished(_ connection: any TransportConnection) { receiver?.connectionEstablished(self) }

    func connection(_ connection: any TransportConnection, received bytes: UnsafeRawBufferPointer) {
        transport.receives(bytes)
        receiver?.connection(self, received: bytes)
    }

    func connectionDrained(_ connection: any TransportConnection) { receiver?.connectionDrained(self) }

    func connectionEnded(_ connection: any TransportConnection, failure: TransportFailure) {
        let receiver = receiver
        close()
        receiver?.connectionEnded(self, failure: failure)
    }
}
