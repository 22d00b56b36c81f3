internal import BrumeModel

/// Signs of life, and what is due when time has passed.
extension ServerConnectionStateMachine {
    package enum PingAction: Equatable {
        case pong
        case violate(Violation)
    }

    /// A ping frame came.
    package mutating func pingReceived(byteCount: Int, nowNanoseconds: UInt64) -> PingAction {
        guard isServing else { return .violate(Self.beforeWelcome) }
        guard byteCount == 8 else { return .violate(Self.violation("a ping holds eight bytes")) }
        if nowNanoseconds - pingWindowNanoseconds > 1_000_000_000 {
            pingWindowNanoseconds = nowNanoseconds
            pingsInWindow = 0
        }
        pingsInWindow += 1
        guard pingsInWindow <= limits.pingsPerSecond else {
            return .violate(
                CallStatus(
                    .requestRateLimited, "more than \(limits.pingsPerSecond) pings in a second",
                    retryAfterMilliseconds: 1_000))
        }
        return .pong
    }

    /// Bytes came. `isInsideFrame` says whether a frame has begun that is not whole.
    package mutating func bytesReceived(isInsideFrame: Bool, didCompleteFrame: Bool, nowNanoseconds: UInt64) {
        lastReceivedNanoseconds = nowNanoseconds
        pingSentNanoseconds = nil
        if !isInsideFrame {
            frameBeganNanoseconds = nil
        } else if didCompleteFrame || frameBeganNanoseconds == nil {
            frameBeganNanoseconds = nowNanoseconds
        }
    }

    /// The host doesn't read, because the peer has not taken its answers yet. The peer can't be heard, so its silence
    /// means nothing. The socket watches whether it takes bytes at all.
    package mutating func readingHeldBack(nowNanoseconds: UInt64) {
        lastReceivedNanoseconds = nowNanoseconds
        pingSentNanoseconds = nil
        frameBeganNanoseconds = nil
    }

    /// The actions that are due at a time.
    package struct DueActions: Equatable {
        package var sendsPing = false
        /// Calls whose deadline has passed: each ends with `networkFailure`.
        package var expired: [UInt32] = []
        /// The same calls, in the same order.
        package var expiredCalls: [EndedCall] = []
        /// The violation of a deadline by the peer: send it and close.
        package var violation: Violation?

        package init() {}
    }

    /// Time went on. Called about every second.
    package mutating func timePassed(nowNanoseconds now: UInt64) -> DueActions {
        var due = DueActions()
        func isOver(_ start: UInt64, _ milliseconds: UInt64) -> Bool { now >= start + milliseconds * 1_000_000 }
        switch phase {
        case .closed: return due
        case .awaitingHello, .authenticating:
            if isOver(openedNanoseconds, limits.helloTimeoutMilliseconds) {
                due.violation = CallStatus(.networkFailure, "no hello within \(limits.helloTimeoutMilliseconds) ms")
            }
            return due
        case .serving, .draining: break
        }
        if let began = frameBeganNanoseconds, isOver(began, limits.frameTimeoutMilliseconds) {
            due.violation = CallStatus(
                .networkFailure, "a frame was not whole within \(limits.frameTimeoutMilliseconds) ms")
            return due
        }
        if let sent = pingSentNanoseconds {
            if isOver(sent, max(1, limits.idleMilliseconds / 3)) {
                due.violation = CallStatus(.networkFailure, "no byte came after a ping")
                return due
            }
        } else if isOver(lastReceivedNanoseconds, limits.idleMilliseconds) {
            pingSentNanoseconds = now
            due.sendsPing = true
        }
        streams.removeAll { stream in
            guard stream.deadlineNanoseconds != 0, now >= stream.deadlineNanoseconds else { return false }
            due.expired.append(stream.id)
            due.expiredCalls.append(EndedCall(stream))
            return true
        }
        return due
    }
}
