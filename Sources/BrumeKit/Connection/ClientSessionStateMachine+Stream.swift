internal import BrumeModel
internal import BrumeProtocol

/// The notification stream of a session: open while it is wanted, on whatever connection there is.
extension ClientSessionStateMachine {
    /// Somebody listens. `opening` is the message that opens the stream.
    package mutating func streamWanted(opening: [UInt8], now: UInt64) -> [Action] {
        stream.opening = opening
        guard !stream.isWanted else { return [] }
        // Listening that begins without a network waits for it.
        if let refusal, refusal.code != .networkUnavailable, now < notBeforeNanoseconds {
            return [.streamFailed(refusal)]
        }
        stream.isWanted = true
        return advance(now: now)
    }

    /// The stream would now resume with another message.
    package mutating func streamAdvanced(opening: [UInt8]) {
        stream.opening = opening
    }

    /// Nobody listens any more.
    package mutating func streamUnwanted(now: UInt64) -> [Action] {
        guard stream.isWanted else { return [] }
        stream.isWanted = false
        stream.acknowledgement = nil
        guard let id = stream.id, connection != nil else { return [] }
        stream.id = nil
        return perform(connection!.callCancelled(id: id), now: now)
    }

    /// Everything up to a position has been handled. Where the stream is not open this does nothing: it resumes behind
    /// what was received.
    package mutating func streamAcknowledged(_ message: [UInt8], now: UInt64) -> [Action] {
        guard stream.id != nil else { return [] }
        stream.acknowledgement = message
        return sendAcknowledgement(now: now)
    }

    mutating func sendAcknowledgement(now: UInt64) -> [Action] {
        guard let id = stream.id, let message = stream.acknowledgement, connection != nil,
            connection!.sendCredit(ofStream: id).allowsMessage
        else { return [] }
        stream.acknowledgement = nil
        return perform(connection!.streamMessageSent(id: id, payload: message), now: now)
    }

    mutating func streamEnded(_ status: CallStatus?, now: UInt64) -> [Action] {
        stream.id = nil
        stream.acknowledgement = nil
        guard let status, stream.isWanted else { return [] }
        let error = ServiceError(status)
        switch error.code {
        case .notAuthenticated, .badContainer, .incompatibleVersion:
            stream.isWanted = false
            return [.streamFailed(error)]
        case .operationCancelled:
            stream.notBeforeNanoseconds = now + ClientSessionLimits.displacedStreamNanoseconds
            return [.streamDisplaced]
        case .invalidArguments, .changeTokenExpired:
            // The position comes from another version of the server, or another data folder: proto/README.md, section
            // 9.
            stream.notBeforeNanoseconds = now + stream.pause.next(hintMilliseconds: error.retryAfterMilliseconds)
            return [.streamPositionRefused]
        default:
            stream.notBeforeNanoseconds = now + stream.pause.next(hintMilliseconds: error.retryAfterMilliseconds)
        }
        return []
    }

    /// On an open connection.
    mutating func openStream(now: UInt64) -> [Action] {
        guard stream.isWanted, stream.id == nil, now >= stream.notBeforeNanoseconds, connection!.mayStartCall else {
            return []
        }
        // Ids of calls count up from 1 and never come here.
        stream.openings += 1
        let id = 1 << 63 | stream.openings
        stream.id = id
        let header = CallHeader(method: .notificationsOpen)
        return perform(connection!.streamStarted(id: id, header: header, payload: stream.opening), now: now)
    }
}
