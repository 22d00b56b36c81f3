package import BrumeModel
package import BrumeWire

/// What a client's session does about its server over many connections: when to connect, which calls wait, which are sent
/// again after a connection broke, and when they fail.
///
/// Pure: time is an argument (monotonic nanoseconds), chance comes from a seed, and each event returns everything that is to
/// be done, in order. Every call that was started is finished exactly once.
///
/// A session is `down` while nothing wants a connection or the next attempt has to wait; it goes to `connecting`, from there
/// to `connected` or back to `down`, and from `connected` to `down`.
package struct ClientSessionStateMachine: Sendable {
    /// What a call waits for.
    package enum Work: Sendable {
        case unary(UnaryCall)
        /// The welcome of an open connection.
        case welcome
        /// The same, or why there is none just now: fails with the first attempt to connect that fails.
        case probe
        /// A round trip.
        case ping
    }

    /// What a call comes to.
    package enum Answer: Equatable, Sendable {
        case message([UInt8])
        case welcome(Welcome)
        case roundTrip(nanoseconds: UInt64)
    }

    package enum Action: Equatable, Sendable {
        /// Open a connection; those before it are done with.
        case connect
        case send(ClientFrame)
        /// Close the connection when what was sent has left. Nothing of it counts any more.
        case disconnect
        /// The server took us in.
        case welcomed(Welcome)
        /// The server does not take the account, or not any more.
        case accountRefused(ServiceError)
        /// Hand the outcome to who started the call. Once for each.
        case finish(id: UInt64, Result<Answer, ServiceError>)
        /// A message of the notification stream.
        case streamReceived([UInt8])
        /// The notification stream won't come back by itself.
        case streamFailed(ServiceError)
    }

    private enum Link {
        case down
        case connecting
        case connected(Welcome?)
    }

    private struct Call: Sendable {
        var work: Work
        let deadlineNanoseconds: UInt64
        let startedNanoseconds: UInt64
        var isInFlight = false
        var sentNanoseconds: UInt64 = 0
        /// Connections that broke while it was in flight.
        var losses = 0
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
    private let serverName: String
    private var link = Link.down
    var connection: ClientConnectionStateMachine?
    private var calls: [UInt64: Call] = [:]
    /// Unary calls that are to be sent, those of higher priority first, each in their order; may hold ids of calls that ended.
    private var waiting: [UInt64] = []
    private var callBytes = 0
    private var bytesInFlight = 0
    /// No call's deadline is earlier.
    private var earliestDeadline = UInt64.max
    private var pause: RetryPause
    var notBeforeNanoseconds: UInt64 = 0
    /// Why the last attempt to connect failed, or why the connection broke.
    private var lastFailure: ServiceError?
    private var unfitAttempts = 0
    /// What the server said when it refused us; calls until the next attempt are told the same.
    var refusal: ServiceError?
    var stream: NotificationStream
    var account: AccountWatch

    package init(hello: Hello, serverName: String, seed: UInt64) {
        self.hello = hello
        self.serverName = serverName
        pause = RetryPause(seed: seed)
        stream = NotificationStream(pause: RetryPause(seed: ~seed))
        account = AccountWatch(seed: seed ^ 0xACC0)
    }

    /// Calls that have not ended.
    package var openCalls: Int { calls.count }

    /// The most that the server's next frame may hold.
    package var payloadBytesLimit: Int { connection?.payloadBytesLimit ?? ClientConnectionLimits.greetingFrameBytes }

    // MARK: Calls

    /// Someone wants an answer until the deadline. The id is new.
    package mutating func callStarted(id: UInt64, _ work: Work, deadline: UInt64, now: UInt64) -> [Action] {
        precondition(calls[id] == nil, "a call is started once")
        if let refusal, now < notBeforeNanoseconds { return [.finish(id: id, .failure(refusal))] }
        let bytes = work.byteCount
        guard calls.count < ClientSessionLimits.callsMax, callBytes + bytes <= ClientSessionLimits.callBytesMax else {
            return [.finish(id: id, .failure(.tooManyCalls))]
        }
        calls[id] = Call(work: work, deadlineNanoseconds: deadline, startedNanoseconds: now)
        callBytes += bytes
        earliestDeadline = min(earliestDeadline, deadline)
        if case .unary = work {
            // Calls that were cancelled while there was no connection leave their ids behind.
            if waiting.count >= 2 * ClientSessionLimits.callsMax { waiting.removeAll { calls[$0] == nil } }
            queue(id)
        }
        return advance(now: now) + serveWithoutQueue([id], now: now)
    }

    /// Puts a call behind those that wait with its priority, and before those with less.
    private mutating func queue(_ id: UInt64) {
        let priority = priority(id)
        var place = waiting.endIndex
        while place > 0, self.priority(waiting[place - 1]) < priority { place -= 1 }
        waiting.insert(id, at: place)
    }

    /// The priority of a call that waits; the least for one that ended.
    private func priority(_ id: UInt64) -> CallPriority {
        if case .unary(let call)? = calls[id]?.work { call.priority } else { .background }
    }

    /// Who started the call does not want its outcome any more. For a call that ended this does nothing.
    package mutating func callCancelled(id: UInt64, now: UInt64) -> [Action] {
        guard calls[id] != nil else { return [] }
        return withdraw(id, .cancelled, now: now) + advance(now: now)
    }

    /// Ends a call whose answer may still come.
    private mutating func withdraw(_ id: UInt64, _ error: ServiceError, now: UInt64) -> [Action] {
        let finish = finish(id, .failure(error))
        guard connection != nil else { return finish }
        return finish + perform(connection!.callCancelled(id: id), now: now)
    }

    private mutating func finish(_ id: UInt64, _ result: Result<Answer, ServiceError>) -> [Action] {
        guard let call = calls.removeValue(forKey: id) else { return [] }
        callBytes -= call.work.byteCount
        if call.isInFlight { bytesInFlight -= call.work.byteCount }
        return [.finish(id: id, result)]
    }

    private mutating func finishAll(_ error: ServiceError) -> [Action] {
        var actions: [Action] = []
        for id in calls.keys.sorted() { actions += finish(id, .failure(error)) }
        return actions
    }

    // MARK: Time

    /// When ``timePassed(now:)`` is to be called at the latest. It may come too early, which does nothing.
    package var deadlineNanoseconds: UInt64? {
        var deadline = earliestDeadline
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
        var actions: [Action] = []
        if now >= earliestDeadline {
            for id in calls.keys.sorted() {
                guard let call = calls[id], call.deadlineNanoseconds <= now else { continue }
                actions += withdraw(id, timeoutError(call), now: now)
            }
            earliestDeadline = calls.values.reduce(.max) { min($0, $1.deadlineNanoseconds) }
        }
        if connection != nil { actions += perform(connection!.timePassed(now: now), now: now) }
        return actions + advance(now: now)
    }

    private func timeoutError(_ call: Call) -> ServiceError {
        let seconds =
            (call.deadlineNanoseconds - min(call.startedNanoseconds, call.deadlineNanoseconds)) / 1_000_000_000
        if call.isInFlight { return .noAnswer(serverName, seconds: seconds) }
        if call.losses > 0, case .unary(let unary) = call.work, unary.effect != .none {
            return .answerLost(serverName)
        }
        return lastFailure ?? .noAnswer(serverName, seconds: seconds)
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
        actions += connectionEnded(error, isUnfit: isUnfit, now: now)
        if case .offline = failure { actions += finishOffline(error) }
        return actions + advance(now: now)
    }

    /// Nothing waits for a network that is known to be absent; those that ask until the next attempt are told the same. The
    /// notification stream stays wanted.
    private mutating func finishOffline(_ error: ServiceError) -> [Action] {
        refusal = error
        var actions: [Action] = []
        for id in calls.keys.sorted() {
            guard let call = calls[id] else { continue }
            var outcome = error
            if call.losses > 0, case .unary(let unary) = call.work, unary.effect != .none {
                outcome = .answerLost(serverName)
            }
            actions += finish(id, .failure(outcome))
        }
        return actions
    }

    /// What kept the session from its server may be over: the network came back, or the account did. The next attempt waits no
    /// longer.
    package mutating func circumstancesChanged(now: UInt64) -> [Action] {
        refusal = nil
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
                (refusal, unfitAttempts) = (nil, 0)
                account.accepted()
                result.append(.welcomed(welcome))
                result += serveWithoutQueue(calls.keys.sorted(), now: now)
            case .refused(let status): result += refused(ServiceError(status), now: now)
            case .callAnswered(let id, let payload):
                pause.reset()
                result += finish(id, .success(.message(payload)))
            case .callFailed(let id, let status):
                pause.reset()
                result += finish(id, .failure(ServiceError(status)))
            case .streamMessageReceived(let id, let payload):
                pause.reset()
                stream.pause.reset()
                result.append(.streamReceived(payload))
                // Taken at once: what waits for a slow consumer has a limit of its own, and a rule for what happens there.
                if let credit = connection?.streamMessagesTaken(id: id, count: 1) {
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
            let reason = lastFailure ?? .connectionLost(serverName, "the server said goodbye")
            actions += connectionEnded(reason, pauses: false, now: now)
        case .silence:
            actions += connectionEnded(.connectionLost(serverName, "the server fell silent"), now: now)
        case .violation(let message):
            actions += connectionEnded(.connectionLost(serverName, message), isUnfit: wasGreeting, now: now)
        case .status(let status):
            let error = ServiceError(status)
            if !wasGreeting { actions += accountRefused(error, now: now) }
            if !wasGreeting, !error.isWorthRepeating {
                // What was in flight may be what the server does not stand: it is not sent again.
                for id in calls.keys.sorted() where calls[id]?.isInFlight == true {
                    actions += finish(id, .failure(.connectionRefusedLater(error)))
                }
            }
            actions += connectionEnded(error, hintMilliseconds: error.retryAfterMilliseconds, now: now)
        }
        return actions
    }

    /// There is no connection any more: what was in flight waits again, or fails.
    private mutating func connectionEnded(
        _ reason: ServiceError, isUnfit: Bool = false, hintMilliseconds: UInt32 = 0, pauses: Bool = true, now: UInt64
    ) -> [Action] {
        link = .down
        connection = nil
        stream.id = nil
        stream.acknowledgement = nil
        lastFailure = reason
        if pauses {
            notBeforeNanoseconds = max(notBeforeNanoseconds, now + pause.next(hintMilliseconds: hintMilliseconds))
        }
        var actions: [Action] = []
        var again: [UInt64] = []
        for id in calls.keys.sorted() {
            if case .probe? = calls[id]?.work {
                actions += finish(id, .failure(reason))
                continue
            }
            guard var call = calls[id], call.isInFlight else { continue }
            call.losses += 1
            call.isInFlight = false
            bytesInFlight -= call.work.byteCount
            calls[id] = call
            guard case .unary(let unary) = call.work else { continue }
            if unary.effect == .once || call.losses >= ClientSessionLimits.lossesMax {
                actions += finish(id, .failure(.answerLost(serverName)))
            } else {
                again.append(id)
            }
        }
        // Those that were in flight are first among their like.
        let queued = again + waiting.filter { calls[$0] != nil }
        waiting = CallPriority.allCases.reversed().flatMap { priority in queued.filter { self.priority($0) == priority }
        }
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

    private mutating func startWaiting(now: UInt64) -> [Action] {
        var actions: [Action] = []
        var started = 0
        defer { if started > 0 { waiting.removeFirst(started) } }
        while started < waiting.count {
            let id = waiting[started]
            guard var call = calls[id], case .unary(let unary) = call.work else {
                started += 1
                continue
            }
            let limits = connection!.limits
            if unary.payload.count > limits.frameBytes {
                started += 1
                actions += finish(id, .failure(.tooLarge(unary.payload.count, limit: limits.frameBytes)))
                continue
            }
            // One place stays free for the notification stream.
            guard connection!.mayStartCall, connection!.openUnaryCalls + 1 < limits.concurrentCalls,
                bytesInFlight == 0 || bytesInFlight + unary.payload.count <= ClientSessionLimits.bytesInFlightMax
            else { break }
            started += 1
            call.isInFlight = true
            bytesInFlight += unary.payload.count
            calls[id] = call
            let left = (call.deadlineNanoseconds - min(now, call.deadlineNanoseconds)) / 1_000_000
            let header = CallHeader(
                method: unary.method, timeoutMilliseconds: UInt32(clamping: max(1, min(left, 60_000))),
                requestID: unary.requestID, operationGroup: unary.operationGroup)
            actions += perform(connection!.callStarted(id: id, header: header, payload: unary.payload), now: now)
        }
        return actions
    }

    /// What needs an open connection and no place in the queue.
    private mutating func serveWithoutQueue(_ ids: [UInt64], now: UInt64) -> [Action] {
        guard case .connected(let welcome?) = link, connection?.state == .open else { return [] }
        var actions: [Action] = []
        for id in ids {
            switch calls[id]?.work {
            case .welcome?, .probe?: actions += finish(id, .success(.welcome(welcome)))
            case .ping?:
                calls[id]!.isInFlight = true
                calls[id]!.sentNanoseconds = now
                actions += perform(connection!.pingRequested(id), now: now)
            case .unary?, nil: break
            }
        }
        return actions
    }
}
