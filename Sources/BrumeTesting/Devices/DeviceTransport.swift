internal import BrumeKit
internal import BrumeLock

/// The process's transport as one device sees it: with a network that can be taken away, and an end.
final class DeviceTransport: ClientTransport {
    private enum Link {
        case online
        case offline
        /// For good, with the sentence that calls are given.
        case ended(String)
    }

    private struct State {
        var link = Link.online
        var isServerReachable = true
        /// By number.
        var connections: [UInt64: DeviceConnection] = [:]
        var connectionsMade: UInt64 = 0
        /// Whoever connected last.
        weak var session: ClientSession?
        /// Callers that wait for connections to end, with the numbers of those that are still open.
        var endWaiters: [EndWaiter] = []

        /// Why there is no way to the server.
        var failure: TransportFailure? {
            switch link {
            case .online where isServerReachable: nil
            // What waits for no server fails at once, also when it was connected a moment ago.
            case .online: .offline("the test made the server unreachable")
            case .offline: .offline("the test took the device's network away")
            case .ended(let sentence): .misconfigured(sentence)
            }
        }
    }

    private struct EndWaiter {
        var numbers: Set<UInt64>
        let continuation: CheckedContinuation<Void, Never>
    }

    private let loop: LoopTransport
    private let state = Lock(State())
    private let deviceName: String
    private let list: DeviceList?

    /// - Parameter list: Nil for a device without a server.
    init(loop: LoopTransport, deviceName: String = "", list: DeviceList? = nil) {
        (self.loop, self.deviceName, self.list) = (loop, deviceName, list)
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

    func setServerReachable(_ isReachable: Bool) {
        state.withLock { $0.isServerReachable = isReachable }
        settle()
        if isReachable { circumstancesChanged() }
    }

    /// What kept the device from its server may be over: it tries again at once where something waits.
    func circumstancesChanged() {
        state.withLock { $0.session }?.circumstancesChanged()
    }

    /// The numbers of the connections that a user's session has or is opening now; none where the device is another's.
    func connections(ofUser userRecordName: String) -> Set<UInt64> {
        state.withLock { state in
            state.session?.currentUser == userRecordName ? Set(state.connections.keys) : []
        }
    }

    /// Waits until the device knows that these connections are over.
    func ended(_ numbers: Set<UInt64>) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let open = numbers.intersection(state.connections.keys)
                if !open.isEmpty { state.endWaiters.append(EndWaiter(numbers: open, continuation: continuation)) }
                return open.isEmpty
            }
            if isOver { continuation.resume() }
        }
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
                (state.failure, state.failure == nil ? [] : Array(state.connections.values))
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
        let (connection, failure) = state.withLock { state in
            state.connectionsMade += 1
            let connection = DeviceConnection(number: state.connectionsMade, receiver: receiver, transport: self)
            state.connections[connection.number] = connection
            state.session = receiver as? ClientSession
            return (connection, state.failure)
        }
        if let failure {
            // Also when the network is back by then: what was asked for without one has no connection under it.
            execute { connection.fail(failure) }
        } else {
            connection.open(loop.connect(to: endpoint, timeoutMilliseconds: timeoutMilliseconds, receiver: connection))
        }
        return connection
    }

    /// The answer as the server lies about it; nil where it does not.
    fileprivate func told(_ answer: ServerAnswer, to call: AnsweredCall) -> ServerAnswer? {
        list?.script?.told(answer, to: call, of: deviceName)
    }

    /// Whom the server calls the device's user; nil where it does not lie about that.
    fileprivate func toldUser() -> String? { list?.script?.toldUser(of: deviceName) }

    fileprivate func ended(_ connection: DeviceConnection) {
        let over = state.withLock { state in
            state.connections[connection.number] = nil
            for index in state.endWaiters.indices { state.endWaiters[index].numbers.remove(connection.number) }
            defer { state.endWaiters.removeAll(where: \.numbers.isEmpty) }
            return state.endWaiters.filter(\.numbers.isEmpty).map(\.continuation)
        }
        for continuation in over { continuation.resume() }
    }
}

/// A connection of a device, which the test may break.
///
/// `@unchecked Sendable`: the state belongs to the transport's executor.
private final class DeviceConnection: TransportConnection, TransportReceiver, @unchecked Sendable {
    let number: UInt64
    private weak var receiver: (any TransportReceiver)?
    private let transport: DeviceTransport
    private var inner: (any TransportConnection)?
    private var answers = AnswerFilter()

    init(number: UInt64, receiver: any TransportReceiver, transport: DeviceTransport) {
        self.number = number
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

    var isOutputBusy: Bool { inner?.isOutputBusy ?? false }

    func send(_ bytes: [UInt8]) {
        answers.sent(bytes)
        inner?.send(bytes)
    }

    func close() {
        receiver = nil
        inner?.close()
        inner = nil
        transport.ended(self)
    }

    // MARK: TransportReceiver

    func connectionEstablished(_ connection: any TransportConnection) { receiver?.connectionEstablished(self) }

    func connection(_ connection: any TransportConnection, received bytes: UnsafeRawBufferPointer) {
        let told = answers.received(bytes, user: transport.toldUser) { call, answer in
            transport.told(answer, to: call)
        }
        if told.isEmpty { return }
        told.withUnsafeBytes { receiver?.connection(self, received: $0) }
    }

    func connectionDrained(_ connection: any TransportConnection) { receiver?.connectionDrained(self) }

    func connectionEnded(_ connection: any TransportConnection, failure: TransportFailure) {
        self.fail(failure)
    }
}
