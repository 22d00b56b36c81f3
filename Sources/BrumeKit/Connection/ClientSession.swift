internal import BrumeLock
package import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord

/// A client's relation to one server, with one account in one container: connects when something is to be done, comes
/// back by itself after the connection broke, and gives every call exactly one outcome.
///
/// The decisions are ``ClientSessionStateMachine``'s; this actor gives it time and bytes, and does what it says. It
/// lives on its transport's executor, so that a call costs one hop there and back. When the last reference to it goes,
/// its connection closes.
package actor ClientSession {
    /// What tells sessions apart: those with one key are one.
    package struct Key: Hashable, Sendable {
        package var endpoint: ServerEndpoint
        /// Nil: the public database is read without an account.
        package var accountToken: String?
        /// The operator's token, which opens the Admin service instead of an account's databases.
        package var adminToken: String?
        package var container: String
        package var environment: UInt8
        package var deviceID: [UInt8]
    }

    package nonisolated let transport: any ClientTransport
    package nonisolated let key: Key

    package nonisolated var unownedExecutor: UnownedSerialExecutor { transport.asUnownedSerialExecutor() }

    /// The account's user record, as the last welcome named it.
    private nonisolated let userRecordName = Lock<String?>(nil)

    var machine: ClientSessionStateMachine
    private var reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
    let coder = MessageCoder()
    private var connection: (any TransportConnection)?
    private var callers: [UInt64: Caller] = [:]
    var transfers: [UInt64: Transfer] = [:]
    /// Counts the messages of transfers.
    var lastTransferTurn: UInt64 = 0
    var lastID: UInt64 = 0
    private var timer: (any TransportTimer)?
    private var timerNanoseconds = UInt64.max

    var fanOut = NotificationFanOut()
    var listeners: [UInt64: CheckedContinuation<Result<NotificationEvent, ServiceError>, Never>] = [:]
    /// Why the notification stream ended, for consumers that have not been told.
    var failedConsumers: [UInt64: ServiceError] = [:]
    /// For whom consumers listen, where it matters.
    var consumerOwners: [UInt64: ObjectIdentifier] = [:]

    /// Whether the developer was told that another process takes this device's notifications.
    var isDisplacementSaid = false

    /// What the server said of the account last, and who wants to hear it.
    var accountAnswer: AccountAnswer?
    var accountReceivers: [ObjectIdentifier: AccountReceiver] = [:]

    /// Who waits for a call.
    private struct Caller {
        let continuation: CheckedContinuation<Result<ClientSessionStateMachine.Answer, ServiceError>, Never>
        let owner: ObjectIdentifier?
    }

    package init(key: Key, transport: any ClientTransport, seed: UInt64 = .random(in: .min ... .max)) {
        self.key = key
        self.transport = transport
        let credentials: Hello.Credentials =
            key.adminToken.map { .admin($0) } ?? key.accountToken.map { .account($0) } ?? .none
        machine = ClientSessionStateMachine(
            hello: Hello(
                clientVersion: Self.version, deviceID: key.deviceID, container: key.container,
                environment: Environment(rawValue: key.environment), credentials: credentials),
            serverName: key.endpoint.name, seed: seed)
    }

    deinit {
        // Nobody waits: whoever does holds the session.
        guard let connection else { return }
        transport.execute { connection.close() }
    }

    /// The account's user record name, which answers hold where apps see ``CKCurrentUserDefaultName``. Nil without an
    /// account, and before the first connection.
    package nonisolated var currentUser: String? { userRecordName.withLock { $0 } }

    /// For the server's log.
    private static let version = "BrumeKit \(BrumeVersion.text)"

    // MARK: Calls

    /// Calls that wait or are in flight.
    var openCallCount: Int { machine.openCalls }

    /// Sends a request and gives the message that answers it.
    ///
    /// Waits for a connection within the timeout and as its patience says, and sends again after a broken one where the
    /// call's effect allows it.
    ///
    /// - Throws: What the server says of the call; `networkUnavailable`, `networkFailure` or `serverResponseLost` when
    ///   there was no answer in time; what the server says of the account when it does not take it;
    ///   `operationCancelled` when the task is cancelled; `requestRateLimited` beyond ``ClientSessionLimits/callsMax``.
    ///
    /// - Parameter owner: For whom the call is made; see ``endCalls(of:)``.
    func unary(
        _ call: UnaryCall, timeoutNanoseconds: UInt64,
        patience: ClientSessionStateMachine.Patience = .untilDeadline, owner: ObjectIdentifier? = nil
    ) async throws(ServiceError) -> [UInt8] {
        guard case .message(let payload) = try await answer(.unary(call), timeoutNanoseconds, patience, owner).get()
        else {
            preconditionFailure("a unary call was answered with something else than a message")
        }
        return payload
    }

    /// What the server said when it took the connection in; connects when there is none.
    ///
    /// - Parameter isPatient: Whether to wait for a server that can't be reached, within the timeout.
    package func welcome(
        timeoutNanoseconds: UInt64 = ClientSession.defaultTimeoutNanoseconds, isPatient: Bool = true,
        patience: ClientSessionStateMachine.Patience = .untilDeadline, owner: ObjectIdentifier? = nil
    ) async throws(ServiceError) -> SessionWelcome {
        let work: ClientSessionStateMachine.Work = isPatient ? .welcome : .probe
        guard case .welcome(let welcome) = try await answer(work, timeoutNanoseconds, patience, owner).get() else {
            preconditionFailure("who asked for the welcome got something else")
        }
        return SessionWelcome(
            userRecordName: welcome.userRecordName.isEmpty ? nil : welcome.userRecordName,
            serverVersion: welcome.serverVersion, serverEpoch: welcome.serverEpoch)
    }

    /// Nanoseconds from a ping to its answer; connects when there is no connection.
    package func ping(
        timeoutNanoseconds: UInt64 = ClientSession.defaultTimeoutNanoseconds
    ) async throws(ServiceError) -> UInt64 {
        guard case .roundTrip(let nanoseconds) = try await answer(.ping, timeoutNanoseconds, .untilDeadline, nil).get()
        else {
            preconditionFailure("a ping was answered with something else than a round trip")
        }
        return nanoseconds
    }

    /// How long a call takes at most when the caller says nothing.
    package static let defaultTimeoutNanoseconds = ClientSessionLimits.callNanoseconds

    private func answer(
        _ work: ClientSessionStateMachine.Work, _ timeoutNanoseconds: UInt64,
        _ patience: ClientSessionStateMachine.Patience, _ owner: ObjectIdentifier?
    ) async -> Result<ClientSessionStateMachine.Answer, ServiceError> {
        // What was cancelled before it began is not sent: a save that is told to be cancelled would be done.
        if Task.isCancelled { return .failure(.cancelled) }
        lastID += 1
        let id = lastID
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                callers[id] = Caller(continuation: continuation, owner: owner)
                let now = transport.nowNanoseconds
                let (deadline, overflow) = now.addingReportingOverflow(timeoutNanoseconds)
                perform(
                    machine.callStarted(
                        id: id, work, patience: patience, deadline: overflow ? .max : deadline, now: now))
            }
        } onCancel: {
            // Behind the start of the call.
            onExecutor { session in
                session.perform(session.machine.callCancelled(id: id, now: session.transport.nowNanoseconds))
            }
        }
    }

    /// What kept the session from its server may be over: it tries again at once. Any thread.
    package nonisolated func circumstancesChanged() {
        onExecutor { $0.perform($0.machine.circumstancesChanged(now: $0.transport.nowNanoseconds)) }
    }

    /// Ends the calls that wait or are in flight for an owner, with `operationCancelled`.
    func cancelCalls(of owner: ObjectIdentifier) {
        for (id, caller) in callers where caller.owner == owner {
            perform(machine.callCancelled(id: id, now: transport.nowNanoseconds))
        }
        cancelTransfers(of: owner)
    }

    // MARK: Doing what the machine says

    nonisolated func onExecutor(_ body: @escaping @Sendable (isolated ClientSession) -> Void) {
        transport.execute { [weak self] in self?.assumeIsolated { body($0) } }
    }

    func perform(_ actions: [ClientSessionStateMachine.Action]) {
        var output: [UInt8] = []
        func flush() {
            if !output.isEmpty { connection?.send(output) }
            output = []
        }
        for action in actions {
            switch action {
            case .send(let frame): frame.encode(to: &output, coder: coder)
            case .connect:
                reader = FrameReader(payloadBytesLimit: ClientConnectionLimits.greetingFrameBytes)
                connection = transport.connect(
                    to: key.endpoint, timeoutMilliseconds: ClientSessionLimits.connectMilliseconds, receiver: self)
            case .disconnect:
                flush()
                connection?.close()
                connection = nil
            case .welcomed(let welcome):
                let name = welcome.userRecordName
                userRecordName.withLock { $0 = name.isEmpty ? nil : name }
                if !name.isEmpty { accountAnswered(.accepted(userRecordName: name)) }
            case .accountRefused(let error): accountAnswered(.refused(error.code))
            case .finish(let id, let result):
                guard let caller = callers.removeValue(forKey: id) else {
                    preconditionFailure("a call was finished twice, or never started")
                }
                caller.continuation.resume(returning: result)
            case .transferReceived(let id, let payload): transferReceived(id, payload)
            case .transferWritable(let id): transferWritable(id)
            case .transferEnded(let id, let error): transferEnded(id, error)
            case .streamReceived(let payload):
                flush()
                streamReceived(payload)
            case .streamFailed(let error): streamFailed(error)
            case .streamDisplaced: sayDisplaced()
            case .streamPositionRefused: streamPositionRefused()
            }
        }
        flush()
        armTimer()
    }

    /// One timer for the machine's next deadline. A deadline that moved to later leaves it as it is: it fires early
    /// then, and is set again.
    private func armTimer() {
        guard let deadline = machine.deadlineNanoseconds, deadline < timerNanoseconds else { return }
        timer?.cancel()
        timerNanoseconds = deadline
        let now = transport.nowNanoseconds
        timer = transport.schedule(afterNanoseconds: deadline - min(now, deadline)) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    private func timerFired() {
        timer = nil
        timerNanoseconds = .max
        perform(machine.timePassed(now: transport.nowNanoseconds))
        armTimer()
    }

    // MARK: The connection

    private func established(_ connection: any TransportConnection) {
        guard connection === self.connection else { return }
        perform(machine.connected(now: transport.nowNanoseconds))
    }

    private func received(_ bytes: UnsafeRawBufferPointer, _ connection: any TransportConnection) {
        guard connection === self.connection else { return }
        let now = transport.nowNanoseconds
        machine.bytesReceived(now: now)
        var input = bytes
        // A welcome changes the size that the frames behind it may have: the reader stops there and goes on with it.
        while connection === self.connection {
            let limit = machine.payloadBytesLimit
            reader.payloadBytesLimit = limit
            var actions: [ClientSessionStateMachine.Action] = []
            do throws(FrameError) {
                try reader.read(input) { header, payload in
                    do throws(ServerFrame.Violation) {
                        actions += machine.frameReceived(try ServerFrame(header, payload, coder: coder), now: now)
                    } catch {
                        actions += machine.violated(error.message, now: now)
                    }
                    return machine.payloadBytesLimit == limit
                }
            } catch {
                actions += machine.violated(error.message, now: now)
            }
            let isDone = machine.payloadBytesLimit == limit
            perform(actions)
            if isDone { return }
            input = UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Whether so much output waits that uploads pause, so that calls don't wait behind them.
    var isOutputBusy: Bool { connection?.isOutputBusy ?? false }

    private func ended(_ connection: any TransportConnection, _ failure: TransportFailure) {
        guard connection === self.connection else { return }
        self.connection = nil
        perform(machine.disconnected(failure, now: transport.nowNanoseconds))
    }
}

extension ClientSession: TransportReceiver {
    package nonisolated func connectionEstablished(_ connection: any TransportConnection) {
        assumeIsolated { $0.established(connection) }
    }

    package nonisolated func connection(
        _ connection: any TransportConnection, received bytes: UnsafeRawBufferPointer
    ) {
        // The bytes stay where they are: the closure runs here, during this call.
        nonisolated(unsafe) let bytes = bytes
        assumeIsolated { $0.received(bytes, connection) }
    }

    package nonisolated func connectionDrained(_ connection: any TransportConnection) {
        assumeIsolated { if connection === $0.connection { $0.transfersMaySend() } }
    }

    package nonisolated func connectionEnded(_ connection: any TransportConnection, failure: TransportFailure) {
        assumeIsolated { $0.ended(connection, failure) }
    }
}

/// What the server says of itself and of the account.
package struct SessionWelcome: Equatable, Sendable {
    /// The account's user record in this container and environment; nil without an account.
    package let userRecordName: String?
    package let serverVersion: String
    package let serverEpoch: UInt32
}

extension [UInt8] {
    /// Decodes a message from the array's bytes.
    func decoded<Value>(
        _ body: (UnsafeRawBufferPointer) throws(ServiceError) -> Value
    ) throws(ServiceError) -> Value {
        try withUnsafeBytes { bytes in
            Result { () throws(ServiceError) in try body(bytes) }
        }.get()
    }
}
