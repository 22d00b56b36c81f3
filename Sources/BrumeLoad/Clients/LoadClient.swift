internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// One connection of a load, with a device of its own. Used on the loop of its thread.
///
/// Simpler than the SDK's session: nothing is queued, retried or reconnected here; the driver decides what happens.
///
/// `@unchecked Sendable`: belongs to its thread's loop.
final class LoadClient: ConnectionDelegate, @unchecked Sendable {
    typealias Answer = Result<[UInt8], LoadFailure>

    let index: Int
    let token: String
    private unowned let thread: LoadThread
    private let deviceID: [UInt8]
    private var machine: ClientConnectionStateMachine?
    private var reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
    private var connection: Connection?
    private var nextID: UInt64 = 0
    private var calls: [UInt64: (Answer) -> Void] = [:]
    private var eventID: UInt64?
    private var received: ([UInt8]) -> Void = { _ in }
    private var opened: ((LoadFailure?) -> Void)?
    /// Called when the connection ends without this side's closing it.
    var lost: (LoadFailure) -> Void = { _ in }
    /// Called when a call has ended: there is room for another one.
    var freed: () -> Void = {}

    init(index: Int, token: String, thread: LoadThread) {
        self.index = index
        self.token = token
        self.thread = thread
        deviceID = SecureRandom.bytes(16)
    }

    var isOpen: Bool { machine?.state == .open }

    /// Whether a call may be started now.
    var mayCall: Bool { machine?.mayStartCall ?? false }

    var openCalls: Int { calls.count }

    // MARK: Coming and going

    /// Connects. `done` is called once, with the reason if it fails; ``lost`` is not called then.
    func open(_ done: @escaping (LoadFailure?) -> Void) {
        precondition(connection == nil, "a client is opened once at a time")
        opened = done
        reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
        let server = thread.configuration.server
        connection = Connection.connect(
            host: server.host, port: server.port, tls: thread.tls, loop: thread.loop,
            timeoutMilliseconds: thread.configuration.connectTimeoutNanoseconds / 1_000_000, delegate: self)
    }

    /// Closes the connection from this side. Calls in flight are dropped without a callback.
    func close() {
        let connection = connection
        forget()
        connection?.close()
    }

    /// Drops the connection without a goodbye, as a network failure does.
    func abort() {
        let connection = connection
        forget()
        connection?.abort()
    }

    private func forget() {
        connection = nil
        machine = nil
        opened = nil
        calls = [:]
        eventID = nil
        received = { _ in }
    }

    private func ended(_ failure: LoadFailure) {
        let (opened, calls) = (opened, calls)
        let connection = connection
        forget()
        connection?.close()
        if let opened { return opened(failure) }
        for call in calls.sorted(by: { $0.key < $1.key }) { call.value(.failure(failure)) }
        lost(failure)
    }

    // MARK: Calls

    /// A unary call; ``mayCall`` has to hold. `done` is called once, unless this side ends the connection.
    func call(_ method: Method, _ payload: [UInt8], _ done: @escaping (Answer) -> Void) {
        nextID += 1
        calls[nextID] = done
        perform(machine!.callStarted(id: nextID, header: CallHeader(method: method), payload: payload))
    }

    /// Opens the device's notification stream. `received` gets each event's bytes.
    func listen(_ payload: [UInt8], _ received: @escaping ([UInt8]) -> Void) {
        nextID += 1
        eventID = nextID
        self.received = received
        perform(
            machine!.streamStarted(id: nextID, header: CallHeader(method: .notificationsOpen), payload: payload))
    }

    /// Called about every second.
    func timePassed() {
        guard let actions = machine?.timePassed(now: thread.loop.nowNanoseconds), !actions.isEmpty else { return }
        perform(actions)
    }

    // MARK: Actions

    private func perform(_ actions: [ClientConnectionStateMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let frame): send(frame)
            case .welcomed:
                let opened = opened
                self.opened = nil
                opened?(nil)
            case .refused: break
            case .callAnswered(let id, let payload):
                calls.removeValue(forKey: id)?(.success(payload))
                freed()
            case .callFailed(let id, let status):
                calls.removeValue(forKey: id)?(.failure(LoadFailure(status)))
                freed()
            case .streamMessageReceived(let id, let payload):
                let taken = StreamCredit(messages: 1, bytes: payload.count)
                if let grants = machine?.streamMessagesTaken(id: id, taken), !grants.isEmpty { perform(grants) }
                received(payload)
            case .streamEnded(_, let status):
                if let status { return ended(LoadFailure(status)) }
            case .streamBecameWritable, .pongReceived, .drainingStarted: break
            case .close(let cause): return ended(Self.failure(cause))
            }
        }
    }

    private func send(_ frame: ClientFrame) {
        var bytes: [UInt8] = []
        frame.encode(to: &bytes, coder: thread.coder)
        bytes.withUnsafeBytes { connection?.write($0) }
    }

    private static func failure(_ cause: ClientConnectionStateMachine.CloseCause) -> LoadFailure {
        switch cause {
        case .violation(let message): .lost(message)
        case .silence: .lost("the server said nothing for too long")
        case .status(let status): LoadFailure(status)
        case .drained: .lost("the server is about to stop")
        }
    }

    // MARK: ConnectionDelegate

    func connectionEstablished(_ connection: Connection) {
        guard connection === self.connection else { return }
        thread.noteHandshake(isResumed: connection.isResumed)
        machine = ClientConnectionStateMachine(now: thread.loop.nowNanoseconds)
        let server = thread.configuration.server
        send(
            .hello(
                Hello(
                    clientVersion: "brume load", deviceID: deviceID, container: server.container,
                    environment: server.environment, credentials: .account(token))))
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        guard connection === self.connection else { return }
        machine?.bytesReceived(now: thread.loop.nowNanoseconds)
        var frames: [ServerFrame] = []
        var problem: String?
        do throws(FrameError) {
            try reader.read(bytes) { header, payload in
                do throws(ServerFrame.Violation) {
                    frames.append(try ServerFrame(header, payload, coder: thread.coder))
                } catch {
                    problem = error.message
                }
                return problem == nil
            }
        } catch {
            problem = error.message
        }
        // After the reader is done: handling a frame may reopen the connection, with another reader.
        for frame in frames where connection === self.connection {
            if let actions = machine?.frameReceived(frame) { perform(actions) }
        }
        guard connection === self.connection else { return }
        if let problem { return ended(.lost(problem)) }
        if let limit = machine?.payloadBytesLimit { reader.payloadBytesLimit = limit }
    }

    func connectionDrained(_ connection: Connection) {}

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        guard connection === self.connection else { return }
        self.connection = nil
        ended(.closed(reason))
    }
}

extension LoadFailure {
    fileprivate init(_ status: CallStatus) {
        let code = ErrorCode(rawValue: status.code)
        self.init(code: code.name, message: status.message, cause: .service(code))
    }
}
