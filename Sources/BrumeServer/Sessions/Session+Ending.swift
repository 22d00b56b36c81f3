internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeSystem

/// Deadlines, and how a session ends: by the server's stop, by the operator, or by what the peer did.
extension Session {
    /// Called by the table's sweep.
    func timePassed() {
        // The handshake has a deadline of its own.
        if isGone || isEnding || connection == nil || !connection.isOpen { return }
        if inputShortage != nil {
            reserveInput(reader.frameByteCount)
            resumeIfPossible()
        }
        if exchange(&waitsForOutputShare, with: false) { resumeStreams() }
        if isReadingPaused || isWaitingForTurn { machine.readingHeldBack(nowNanoseconds: shard.loop.nowNanoseconds) }
        let due = machine.timePassed(nowNanoseconds: shard.loop.nowNanoseconds)
        countCalls()
        if let violation = due.violation { return violate(violation) }
        if due.sendsPing { write(.ping, payload: Array(repeating: 0, count: 8)) }
        for call in due.expiredCalls { count(call, failure: .networkFailure) }
        for stream in due.expired {
            if !interceptedCalls.isEmpty { noteEnd(of: stream, .unanswered) }
            client?.cancelQuery(stream)
            writeStatus(
                stream: stream,
                CallStatus(
                    .networkFailure, "the call was not answered within its time; call again with the same operation id")
            )
        }
    }

    /// The server is about to stop. A session whose hello has not been answered yet is refused when the hello comes, or
    /// when the server closes it.
    func drain() {
        if isGone || isEnding || !machine.isServing { return }
        machine.drain()
        let reason = CallStatus(.serviceUnavailable, "the server is about to stop", retryAfterMilliseconds: 1_000)
        write(.goaway, payload: table.coder.encodeGoaway(Goaway(reason: reason, reconnectAfterMilliseconds: 1_000)))
        // Streams have no end of their own.
        for stream in machine.openStreams { refuse(stream, ServerCore.isStopping) }
    }

    /// Calls in flight; a drain waits for them.
    var unaryCallCount: Int { isGone || isEnding ? 0 : machine.unaryCallCount }

    /// The account's tokens were revoked, or the account removed.
    func end(_ reason: ServiceError?) {
        if isGone || isEnding { return }
        violate(CallStatus(reason ?? ServerCore.revokedToken))
    }

    /// Closes once what is pending has been sent: the server has drained. A client that was not welcomed is told why.
    func close() {
        if isGone || isEnding { return }
        if !machine.isServing, let connection, connection.isOpen { return violate(CallStatus(ServerCore.isStopping)) }
        isEnding = true
        connection?.close()
    }

    /// The peer broke the protocol, or may not go on: it is told, and the connection ends.
    func violate(_ status: CallStatus) {
        if isGone || isEnding { return }
        table.logRefusal(peer: connection.peerAddress, status)
        writeStatus(stream: 0, status)
        breakConnection()
    }

    /// Ends the session because it holds more than any other of its loop while the server has no room left: at once if
    /// it holds output, since its peer takes nothing; otherwise the peer is told why.
    func giveWay(holdingOutput: Bool) {
        if isGone || isEnding { return }
        table.figures.shedConnections += 1
        if !holdingOutput {
            return violate(
                CallStatus(
                    .requestRateLimited,
                    "a frame that was not whole gave way to others; send it again",
                    retryAfterMilliseconds: ServiceLimits.bytesRetryMilliseconds))
        }
        server.log.info(
            "connection dropped",
            [("peer", connection.peerAddress), ("unread", String(connection.pendingOutputBytes))])
        let connection = connection!
        breakConnection()
        connection.abort()
    }

    /// Ends the connection without reporting on the calls that are open.
    func breakConnection() {
        if isGone || isEnding { return }
        isEnding = true
        // The connection may take a while to close; the room for what it would have read is released now.
        share?.input.change(by: -reservedInput.bytes)
        reservedInput.bytes = 0
        client?.cancelQueries()
        endOpenCalls()
        connection.close()
    }
}
