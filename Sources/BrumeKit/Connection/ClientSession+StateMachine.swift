internal import BrumeModel
package import BrumeProtocol

/// What a client's session does about its server over many connections: when to connect, which calls wait, which are
/// sent again after a connection broke, and when they fail.
///
/// Pure: time is an argument (monotonic nanoseconds), chance comes from a seed, and each event returns everything that
/// is to be done, in order. Every call that was started is finished exactly once.
///
/// A session is `down` while nothing wants a connection or the next attempt has to wait; it goes to `connecting`, from
/// there to `connected` or back to `down`, and from `connected` to `down`.
package struct ClientSessionStateMachine: Sendable {
    enum Link {
        case down
        case connecting
        case connected(Welcome?)
    }

    struct NotificationStream: Sendable {
        var isWanted = false
        /// Its id as a call of the connection, while it is open.
        var id: UInt64?
        /// The message that opens it, where it would resume now.
        var opening: [UInt8] = []
        /// The latest acknowledgement that could not be sent yet; it stands for those before it.
        var acknowledgement: [UInt8]?
        var notBeforeNanoseconds: UInt64 = 0
        var pause: RetryPause
        /// Counts openings, for their ids.
        var openings: UInt64 = 0
    }

    private let hello: Hello
    /// For error texts: host and port.
    let serverName: String
    private(set) var link = Link.down
    var connection: ClientConnectionStateMachine?
    var calls = ClientCalls()
    private var pause: RetryPause
    var notBeforeNanoseconds: UInt64 = 0
    /// Why the last attempt to connect failed, or why the connection broke.
    private(set) var lastFailure: ServiceError?
    private var unfitAttempts = 0
    /// What calls that don't wait end with: the last attempt to connect failed, and the server was not there just
    /// before.
    private(set) var absence: ServiceError?
    /// When the last attempt to connect failed, and when the last connection that was open broke.
    private(set) var lastAttemptNanoseconds: UInt64 = 0
    private var lastOpenNanoseconds: UInt64?
    /// What the server said when it refused us; calls until the next attempt are told the same.
    var refusal: ServiceError?
    var stream: NotificationStream
    /// Open streams of transfers.
    var transfers: Set<UInt64> = []
    var account: AccountWatch

    package init(hello: Hello, serverName: String, seed: UInt64) {
        self.hello = hello
        self.serverName = serverName
        pause = RetryPause(seed: seed)
        stream = NotificationStream(pause: RetryPause(seed: ~seed))
        account = AccountWatch(seed: seed ^ 0xACC0)
    }

    /// The most that the server's next frame may hold.
    package var payloadBytesLimit: Int { connection?.payloadBytesLimit ?? ClientConnectionLimits.greetingFrameBytes }

    // MARK: Time

    /// When ``timePassed(now:)`` is to be called at the latest. It may come too early, which does nothing.
    package var deadlineNanoseconds: UInt64? {
        var deadline = calls.earliestDeadline
        if let connection, let next = connection.deadlineNanoseconds { deadline = min(deadline, next) }
        switch link {
        case .down:
            if wantsConnection { deadline = min(deadline, notBeforeNanoseconds) }
            if let look = account.nextLookNanoseconds { deadline = min(deadline, max(look, notBeforeNanoseconds)) }
        case .connecting: break
        case .connected:
            if stream.isWanted, stream.id == nil, connection?.state == .open {
                deadline = min(deadline, stream.notBeforeNanoseconds)
            }
        }
        return deadline == .max ? nil : deadline
    }

    package mutating func timePassed(now: UInt64) -> [Action] {
        var actions = withdrawOverdue(now: now)
        if connection != nil { actions += perform(connection!.timePassed(now: now), now: now) }
        return actions + advance(now: now)
    }

    // MARK: The transport

    /// The connection asked for is up.
    package mutating func connected(now: UInt64) -> [Action] {
        guard case .connecting = link else { preconditionFailure("a connection comes up after it was asked for") }
        link = .connected(nil)
        connection = ClientConnectionStateMachine(now: now)
        return [.send(.hello(hello))]
    }

    /// The connection is gone, or did not come up.
    package mutating func disconnected(_ failure: TransportFailure, now: UInt64) -> [Action] {
        if case .down = link { preconditionFailure("a connection goes down after it was asked for, and once") }
        let error = ServiceError(failure, server: serverName)
        var actions: [Action] = []
        if case .misconfigured = failure { actions = refuseAll(error) }
        var isUnfit = false
        if case .unfit = failure { isUnfit = true }
        let wasOpen = isOpen
        // What was asked about the server is told that it can't be reached, as calls are that don't wait for it.
        let absence = wasOpen || isUnfit ? error : error.asAbsence
        actions += connectionEnded(error, probes: absence, isUnfit: isUnfit, now: now)
        if case .offline = failure {
            actions += finishOffline(error)
        } else if !wasOpen {
            actions += attemptFailed(absence, now: now)
        }
        return actions + advance(now: now)
    }

    /// What kept the session from its server may be over: the network came back, or the account did. The next attempt
    /// waits no longer.
    package mutating func circumstancesChanged(now: UInt64) -> [Action] {
        refusal = nil
        absence = nil
        notBeforeNanoseconds = now
        pause.reset()
        stream.notBeforeNanoseconds = now
        stream.pause.reset()
        account.circumstancesChanged(now: now)
        return advance(now: now)
    }

    /// Bytes came, be it a part of a frame.
    package mutating func bytesReceived(now: UInt64) {
        connection?.bytesReceived(now: now)
    }

    package mutating func frameReceived(_ frame: ServerFrame, now: UInt64) -> [Action] {
        guard connection != nil else { return [] }
        return perform(connection!.frameReceived(frame), now: now) + advance(now: now)
    }

    /// What came is no frame of the protocol.
    package mutating func violated(_ message: String, now: UInt64) -> [Action] {
        guard connection != nil else { return [] }
        return perform(connection!.violated(message), now: now) + advance(now: now)
    }

    // MARK: The connection

    /// Does what the connection's machine says, and turns it into this one's actions.
    mutating func perform(_ actions: [ClientConnectionStateMachine.Action], now: UInt64) -> [Action] {
        var result: [Action] = []
        for action in actions {
            switch action {
            case .send(let frame): result.append(.send(frame))
            case .welcomed(let welcome):
                link = .connected(welcome)
                (refusal, absence, unfitAttempts) = (nil, nil, 0)
                account.accepted()
                result.append(.welcomed(welcome))
                result += serveWithoutQueue(calls.ids, now: now)
            case .refused(let status): result += refused(ServiceError(status), now: now)
            case .callAnswered(let id, let payload):
                pause.reset()
                result += finish(id, .success(.message(payload)))
            case .callFailed(let id, let status):
                let error = ServiceError(status)
                if isTurnedAway(id, error) {
                    calls.notTaken(id)
                } else {
                    pause.reset()
                    result += finish(id, .failure(error))
                }
            case .streamMessageReceived(let id, let payload) where transfers.contains(id):
                pause.reset()
                result.append(.transferReceived(id: id, payload))
            case .streamBecameWritable(let id) where transfers.contains(id):
                result.append(.transferWritable(id: id))
            case .streamEnded(let id, let status) where transfers.contains(id):
                transfers.remove(id)
                let goodbye = ServiceError.connectionLost(serverName, "the server said goodbye")
                let error = status.map { $0.code == 0 ? nil : ServiceError($0) } ?? goodbye
                result.append(.transferEnded(id: id, error))
            case .streamMessageReceived(let id, let payload):
                pause.reset()
                stream.pause.reset()
                result.append(.streamReceived(payload))
                // Taken at once: what waits for a slow consumer has a limit of its own, and a rule for what happens
                // there.
                let taken = StreamCredit(messages: 1, bytes: payload.count)
                if let credit = connection?.streamMessagesTaken(id: id, taken) {
                    result += perform(credit, now: now)
                }
            case .streamBecameWritable: result += sendAcknowledgement(now: now)
            case .streamEnded(_, let status): result += streamEnded(status, now: now)
            case .pongReceived(let id):
                guard let call = calls[id] else { break }
                result += finish(id, .success(.roundTrip(nanoseconds: now - min(now, call.sentNanoseconds))))
            case .drainingStarted(let goaway):
                notBeforeNanoseconds = now + pause.next(hintMilliseconds: goaway.reconnectAfterMilliseconds)
                lastFailure = goaway.reason.error ?? .connectionLost(serverName, "the server said goodbye")
            case .close(let cause): result += closed(cause, now: now)
            }
        }
        return result
    }

    /// Whether a call failed because it met the server's goodbye on its way: the server did nothing of it, and it goes
    /// to the next connection as if it had been made a moment later. What else a server can't do then, such as a write
    /// when its disk is full, can be asked of the next connection as well. But not for ever.
    private func isTurnedAway(_ id: UInt64, _ error: ServiceError) -> Bool {
        // With the last call the connection is closed already.
        guard let state = connection?.state, state != .open, let call = calls[id], case .unary = call.work else {
            return false
        }
        return error.code == .serviceUnavailable && call.timesTurnedAway < ClientSessionLimits.lossesMax
    }

    /// The server answered our hello with a status.
    private mutating func refused(_ error: ServiceError, now: UInt64) -> [Action] {
        switch error.code {
        case .serviceUnavailable, .networkFailure, .requestRateLimited, .zoneBusy:
            // It comes back by itself; the calls wait as long as they may.
            lastFailure = error
            return []
        default:
            return accountRefused(error, now: now) + refuseAll(error)
        }
    }

    /// Nothing but another configuration, or the operator, can help.
    private mutating func refuseAll(_ error: ServiceError) -> [Action] {
        refusal = error
        lastFailure = error
        var actions = finishAll(error)
        if stream.isWanted {
            stream.isWanted = false
            actions.append(.streamFailed(error))
        }
        return actions
    }

    private mutating func closed(_ cause: ClientConnectionStateMachine.CloseCause, now: UInt64) -> [Action] {
        var actions: [Action] = [.disconnect]
        let wasGreeting: Bool
        if case .connected(nil) = link { wasGreeting = true } else { wasGreeting = false }
        switch cause {
        case .drained:
            lastOpenNanoseconds = now
            let reason = lastFailure ?? .connectionLost(serverName, "the server said goodbye")
            actions += connectionEnded(reason, pauses: false, now: now)
        case .silence:
            actions += connectionEnded(.connectionLost(serverName, "the server fell silent"), now: now)
        case .violation(let message):
            let error = ServiceError.connectionLost(serverName, message)
            actions += connectionEnded(error, isUnfit: wasGreeting, now: now)
            if wasGreeting { actions += attemptFailed(error, now: now) }
        case .status(let status):
            let error = ServiceError(status)
            if !wasGreeting { actions += accountRefused(error, now: now) }
            if !wasGreeting, !error.isWorthRepeating {
                // What was in flight may be what the server does not stand: it is not sent again.
                for id in calls.ids where calls[id]?.isInFlight == true {
                    actions += finish(id, .failure(.connectionRefusedLater(error)))
                }
            }
            actions += connectionEnded(error, hintMilliseconds: error.retryAfterMilliseconds, now: now)
            if wasGreeting { actions += attemptFailed(error, now: now) }
        }
        return actions
    }

    private var isOpen: Bool {
        if case .connected(_?) = link { true } else { false }
    }

    /// An attempt to connect failed: calls that don't wait end, unless the server was there a moment ago, as it may
    /// come back.
    private mutating func attemptFailed(_ error: ServiceError, now: UInt64) -> [Action] {
        lastAttemptNanoseconds = now
        if let lastOpenNanoseconds, now < lastOpenNanoseconds + ClientSessionLimits.comebackNanoseconds { return [] }
        absence = error
        var actions: [Action] = []
        for id in calls.ids {
            guard let call = calls[id], call.patience == .none else { continue }
            actions += finish(id, .failure(call.mayHaveHadEffect ? .answerLost(serverName) : error))
        }
        return actions
    }

    /// There is no connection any more: what was in flight waits again, or fails.
    ///
    /// - Parameter probes: What calls are told that ask about the connection itself; nil: the reason.
    private mutating func connectionEnded(
        _ reason: ServiceError, probes: ServiceError? = nil, isUnfit: Bool = false, hintMilliseconds: UInt32 = 0,
        pauses: Bool = true, now: UInt64
    ) -> [Action] {
        if isOpen { lastOpenNanoseconds = now }
        link = .down
        connection = nil
        stream.id = nil
        stream.acknowledgement = nil
        lastFailure = reason
        if pauses {
            notBeforeNanoseconds = max(notBeforeNanoseconds, now + pause.next(hintMilliseconds: hintMilliseconds))
        }
        var actions: [Action] = []
        for (id, fate) in calls.connectionLost() {
            switch fate {
            case .probe: actions += finish(id, .failure(probes ?? reason))
            case .answerLost: actions += finish(id, .failure(.answerLost(serverName)))
            }
        }
        actions += endTransfers(reason)
        unfitAttempts = isUnfit ? unfitAttempts + 1 : 0
        if unfitAttempts >= ClientSessionLimits.unfitAttemptsMax { actions += refuseAll(reason) }
        return actions
    }

    private var wantsConnection: Bool { !calls.isEmpty || stream.isWanted }

    /// Does what can be done now: connect, open the stream, start calls.
    mutating func advance(now: UInt64) -> [Action] {
        switch link {
        case .down:
            guard wantsConnection || account.isLookDue(now: now), now >= notBeforeNanoseconds else { return [] }
            link = .connecting
            refusal = nil
            account.looked(now: now)
            return [.connect]
        case .connecting: return []
        case .connected:
            guard let connection, connection.state == .open else { return [] }
            if connection.isUsedUp, connection.openUnaryCalls == 0 {
                return closed(.drained, now: now) + advance(now: now)
            }
            return openStream(now: now) + startWaiting(now: now)
        }
    }
}
