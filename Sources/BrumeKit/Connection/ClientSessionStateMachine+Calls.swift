internal import BrumeModel
internal import BrumeProtocol

/// The calls of a session: started, sent, withdrawn, and finished, each exactly once.
extension ClientSessionStateMachine {
    /// Calls that have not ended.
    package var openCalls: Int { calls.count }

    /// Someone wants an answer until the deadline. The id is new.
    package mutating func callStarted(
        id: UInt64, _ work: Work, patience: Patience = .untilDeadline, deadline: UInt64, now: UInt64
    ) -> [Action] {
        if let failure = immediateFailure(patience, now: now) { return [.finish(id: id, .failure(failure))] }
        guard calls.start(id, work, patience: patience, deadline: deadline, now: now) else {
            return [.finish(id: id, .failure(.tooManyCalls))]
        }
        return advance(now: now) + serveWithoutQueue([id], now: now)
    }

    /// What a call that starts ends with at once, while the next attempt to connect has to wait.
    private mutating func immediateFailure(_ patience: Patience, now: UInt64) -> ServiceError? {
        guard now < notBeforeNanoseconds, case .down = link else { return nil }
        if let refusal {
            if case .unlimited = patience, refusal.code == .networkUnavailable { return nil }
            return refusal
        }
        guard let absence, patience == .none else { return nil }
        if absence.code != .networkUnavailable
            || now < lastAttemptNanoseconds + ClientSessionLimits.impatientPauseNanoseconds
        {
            return absence
        }
        // The server may be back by now.
        notBeforeNanoseconds = now
        return nil
    }

    /// The caller does not want the call's outcome any more. For a call that ended this does nothing.
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

    /// Ends the calls whose time is over.
    mutating func withdrawOverdue(now: UInt64) -> [Action] {
        var actions: [Action] = []
        for id in calls.overdue(now: now) {
            // As it is now: the end of one before it may have ended the connection.
            guard let call = calls[id] else { continue }
            actions += withdraw(id, timeoutError(call), now: now)
        }
        return actions
    }

    private func timeoutError(_ call: ClientCalls.Call) -> ServiceError {
        let seconds =
            (call.deadlineNanoseconds - min(call.startedNanoseconds, call.deadlineNanoseconds)) / 1_000_000_000
        if call.isInFlight { return .noAnswer(serverName, seconds: seconds) }
        if call.mayHaveHadEffect { return .answerLost(serverName) }
        return lastFailure ?? .noAnswer(serverName, seconds: seconds)
    }

    mutating func finish(_ id: UInt64, _ result: Result<Answer, ServiceError>) -> [Action] {
        calls.remove(id) ? [.finish(id: id, result)] : []
    }

    mutating func finishAll(_ error: ServiceError) -> [Action] {
        var actions: [Action] = []
        for id in calls.ids { actions += finish(id, .failure(error)) }
        return actions
    }

    /// The network is known to be absent: only calls of unlimited patience and the notification stream go on waiting
    /// for it. All other calls fail with this error, and so do those that begin before the next attempt to connect.
    mutating func finishOffline(_ error: ServiceError) -> [Action] {
        refusal = error
        var actions: [Action] = []
        for id in calls.ids {
            if case .unlimited? = calls[id]?.patience { continue }
            let isLost = calls[id]?.mayHaveHadEffect == true
            actions += finish(id, .failure(isLost ? .answerLost(serverName) : error))
        }
        return actions
    }

    /// Sends the unary calls that the connection takes now.
    mutating func startWaiting(now: UInt64) -> [Action] {
        var actions: [Action] = []
        while let (id, unary) = calls.next(), let call = calls[id], let limits = connection?.limits {
            if unary.payload.count > limits.frameBytes {
                actions += finish(id, .failure(.tooLarge(unary.payload.count, limit: limits.frameBytes)))
                continue
            }
            // One place stays free for the notification stream.
            guard connection!.mayStartCall, connection!.openUnaryCalls + 1 < limits.concurrentCalls,
                calls.hasRoomInFlight(for: unary.payload.count)
            else { break }
            calls.sent(id, now: now)
            let left = (call.deadlineNanoseconds - min(now, call.deadlineNanoseconds)) / 1_000_000
            let header = CallHeader(
                method: unary.method, timeoutMilliseconds: UInt32(clamping: max(1, min(left, 60_000))),
                requestID: unary.requestID, operationGroup: unary.operationGroup,
                traceParent: unary.traceParent)
            actions += perform(connection!.callStarted(id: id, header: header, payload: unary.payload), now: now)
        }
        return actions
    }

    /// What needs an open connection and no place in the queue.
    mutating func serveWithoutQueue(_ ids: [UInt64], now: UInt64) -> [Action] {
        guard case .connected(let welcome?) = link, connection?.state == .open else { return [] }
        var actions: [Action] = []
        for id in ids {
            switch calls[id]?.work {
            case .welcome?, .probe?: actions += finish(id, .success(.welcome(welcome)))
            case .ping?:
                calls.sent(id, now: now)
                actions += perform(connection!.pingRequested(id), now: now)
            case .unary?, nil: break
            }
        }
        return actions
    }
}
