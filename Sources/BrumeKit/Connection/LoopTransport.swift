internal import BrumeLock
internal import BrumeSystem
internal import Glibc

/// The transport of Linux: BrumeSystem's sockets and TLS on one event loop, whose thread all sessions of the process
/// share.
package final class LoopTransport: ClientTransport {
    /// The process's transport, or why there is none.
    package static let shared: Result<LoopTransport, TransportFailure> = {
        do throws(SystemError) {
            let transport = LoopTransport(loop: try EventLoop(name: "brume-client"))
            transport.loop.start()
            return .success(transport)
        } catch {
            return .failure(.misconfigured("the client's event loop can't be made: \(error)"))
        }
    }()

    private let loop: EventLoop
    /// One TLS context for each CA file, so that connections resume each other's sessions. Few: an app has one or two.
    private let contexts = Lock<[String: TLSClientContext]>([:])
    private static let contextsMax = 64

    private init(loop: EventLoop) {
        self.loop = loop
    }

    // MARK: SerialExecutor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        precondition(loop.isCurrent, "a session's state is touched on the transport's thread only")
    }

    package func isIsolatingCurrentContext() -> Bool? { loop.isCurrent }

    // MARK: ClientTransport

    package var nowNanoseconds: UInt64 { loop.nowNanoseconds }

    package func execute(_ body: @escaping @Sendable () -> Void) {
        loop.execute(body)
    }

    package func schedule(
        afterNanoseconds: UInt64, _ body: @escaping @Sendable () -> Void
    ) -> any TransportTimer {
        // Rounded up, so that a deadline has passed when its timer fires.
        let milliseconds = afterNanoseconds / 1_000_000 + (afterNanoseconds % 1_000_000 == 0 ? 0 : 1)
        return LoopTimer(loop: loop, id: loop.schedule(afterMilliseconds: milliseconds, body))
    }

    package func connect(
        to endpoint: ServerEndpoint, timeoutMilliseconds: UInt64, receiver: any TransportReceiver
    ) -> any TransportConnection {
        let connection = LoopConnection(receiver: receiver)
        if let path = endpoint.socketPath {
            connection.open(Connection.connect(socketPath: path, loop: loop, delegate: connection))
            return connection
        }
        do throws(TLSError) {
            connection.open(
                Connection.connect(
                    host: endpoint.host, port: endpoint.port, tls: try context(caPath: endpoint.caPath), loop: loop,
                    timeoutMilliseconds: timeoutMilliseconds, delegate: connection))
        } catch {
            let message = error.message
            loop.execute {
                connection.failed(.misconfigured("\(message); set BRUME_CA to the CA certificate's PEM file"))
            }
        }
        return connection
    }

    private func context(caPath: String?) throws(TLSError) -> TLSClientContext {
        let key = caPath ?? ""
        if let context = contexts.withLock({ $0[key] }) { return context }
        let context = try TLSClientContext(caPath: caPath)
        contexts.withLock { contexts in
            if contexts.count >= Self.contextsMax { contexts.removeAll() }
            contexts[key] = context
        }
        return context
    }
}

private struct LoopTimer: TransportTimer {
    let loop: EventLoop
    let id: TimerID

    func cancel() { loop.cancel(id) }
}

/// `@unchecked Sendable`: the state belongs to the loop's thread.
private final class LoopConnection: TransportConnection, ConnectionDelegate, @unchecked Sendable {
    private weak var receiver: (any TransportReceiver)?
    private var connection: Connection?
    private var isEstablished = false

    init(receiver: any TransportReceiver) {
        self.receiver = receiver
    }

    func open(_ connection: Connection) {
        self.connection = connection
    }

    var isOutputBusy: Bool { connection?.isOutputBusy ?? false }

    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { connection?.write($0) }
    }

    func close() {
        receiver = nil
        connection?.close()
    }

    func failed(_ failure: TransportFailure) {
        receiver?.connectionEnded(self, failure: failure)
        receiver = nil
    }

    func connectionEstablished(_ connection: Connection) {
        isEstablished = true
        receiver?.connectionEstablished(self)
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        receiver?.connection(self, received: bytes)
    }

    func connectionDrained(_ connection: Connection) { receiver?.connectionDrained(self) }

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        self.connection = nil
        failed(failure(reason))
    }

    private func failure(_ reason: CloseReason) -> TransportFailure {
        switch reason {
        case .resolutionFailed(let message): .noNetwork(message)
        case .handshakeFailed(let message): .unfit(message)
        case .io(let error) where [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(error.errno): .noNetwork("\(error)")
        default: isEstablished ? .lost("\(reason)") : .unreachable("\(reason)")
        }
    }
}
