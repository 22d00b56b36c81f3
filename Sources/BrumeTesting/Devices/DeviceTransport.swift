internal import BrumeKit
internal import Synchronization

/// The process's transport as one device sees it: with a network that can be taken away, and an end.
final class DeviceTransport: ClientTransport {
    private enum Link {
        case online
        case offline
        /// For good, with the sentence that calls are given.
        case ended(String)

        var failure: TransportFailure? {
            switch self {
            case .online: nil
            case .offline: .offline("the test took the device's network away")
            case .ended(let sentence): .misconfigured(sentence)
            }
        }
    }

    private struct State {
        var link = Link.online
        var connections: [ObjectIdentifier: DeviceConnection] = [:]
        /// Whoever connected last.
        weak var session: ClientSession?
    }

    private let loop: LoopTransport
    private let state = Mutex(State())

    init(loop: LoopTransport) {
        self.loop = loop
    }

    // MARK: For the test

    var isOnline: Bool {
        state.withLock { state in
            if case .online = state.link { true } else { false }
        }
    }

    func setOnline(_ isOnline: Bool) {
        state.withLock { state in
            if case .ended = state.link { return }
            state.link = isOnline ? .online : .offline
        }
        settle()
        if isOnline { circumstancesChanged() }
    }

    /// What kept the device from its server may be over: it tries again at once where something waits.
    func circumstancesChanged() {
        state.withLock { $0.session }?.circumstancesChanged()
    }

    func end(_ sentence: String) {
        state.withLock { state in
            if case .ended = state.link { return }
            state.link = .ended(sentence)
        }
        settle()
    }

    /// Breaks the connections that may not be. Behind what the executor does already.
    private func settle() {
        execute { [self] in
            let (failure, broken) = state.withLock { state in
                guard let failure = state.link.failure else { return (nil as TransportFailure?, [DeviceConnection]()) }
                defer { state.connections = [:] }
                return (failure, Array(state.connections.values))
            }
            guard let failure else { return }
            for connection in broken { connection.fail(failure) }
        }
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
        let connection = DeviceConnection(receiver: receiver, transport: self)
        let failure = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            state.session = receiver as? ClientSession
            return state.link.failure
        }
        if let failure {
            // Also when the network is back by then: what was asked for without one has no connection under it.
            execute { connection.fail(failure) }
        } else {
            connection.open(loop.connect(to: endpoint, timeoutMilliseconds: timeoutMilliseconds, receiver: connection))
        }
        return connection
    }

    fileprivate func ended(_ connection: DeviceConnection) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
    }
}

/// A connection of a device, which the test may break.
///
/// `@unchecked Sendable`: the state belongs to the transport's executor.
private final class DeviceConnection: TransportConnection, TransportReceiver, @unchecked Sendable {
    private weak var receiver: (any TransportReceiver)?
    private let transport: DeviceTransport
    private var inner: (any TransportConnection)?

    init(receiver: any TransportReceiver, transport: DeviceTransport) {
        self.receiver = receiver
        self.transport = transport
    }

    func open(_ inner: any TransportConnection) { self.inner = inner }

    /// The connection ends with a failure, unless it has ended.
    func fail(_ failure: TransportFailure) {
        let receiver = receiver
        close()
        receiver?.connectionEnded(self, failure: failure)
    }

    // MARK: TransportConnection

    func send(_ bytes: [UInt8]) { inner?.send(bytes) }

    func close() {
        receiver = nil
        inner?.close()
        inner = nil
        transport.ended(self)
    }

    // MARK: TransportReceiver

    func connectionEstablished(_ connection: any TransportConnection) { receiver?.connectionEstablished(self) }

    func connection(_ connection: any TransportConnection, received bytes: UnsafeRawBufferPointer) {
        receiver?.connection(self, received: bytes)
    }

    func connectionEnded(_ connection: any TransportConnection, failure: TransportFailure) {
        self.fail(failure)
    }
}
