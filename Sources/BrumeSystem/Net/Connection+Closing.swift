internal import Glibc

/// The ways in which a connection ends.
extension Connection {
    /// Sends what is pending and a close_notify, then closes. The peer gets
    /// ``ConnectionLimits/writeStallTimeoutMilliseconds`` to read it all. Input is dropped from now on.
    package func close() {
        switch state {
        case .resolving, .connecting, .handshaking:
            terminate(.localClose)
        case .open:
            state = .closing
            heldCiphertext.removeAll()
            heldPlaintext.removeAll()
            setDeadline(afterMilliseconds: limits.writeStallTimeoutMilliseconds, .localClose)
            updateInterest()
            flushAtEndOfTurn(.prompt)
        case .closing, .lingering, .closed, .detached:
            break
        }
    }

    /// Closes at once; what is pending is lost.
    package func abort() {
        terminate(.localClose)
    }

    /// All output is sent: sends a close_notify, and once that is sent too, waits for the end of the peer's stream.
    func finishClosing() {
        if !hasSentCloseNotify {
            hasSentCloseNotify = true
            session?.shutDown()
            sendOutput()
            guard state == .closing, outputCiphertextBytes == 0 else { return }
        }
        Socket.shutDownWriting(fd)
        state = .lingering
        updateInterest()
        setDeadline(afterMilliseconds: Limits.lingerMilliseconds, .localClose)
    }

    /// Releases everything now; the delegate is told at the end of the turn.
    func terminate(_ reason: CloseReason) {
        guard state != .closed, state != .detached else { return }
        state = .closed
        closeReason = reason
        if let listener {
            if reason == .handshakeEvicted || reason == .handshakeTimedOut { listener.noteGivenUp() }
            listener.openingEnded(self)
        }
        listener = nil
        admission?.ended()
        admission = nil
        endCounting()
        connecting = nil
        closeDescriptor()
        session?.close()
        session = nil
        changePlaintext { $0.removeAll() }
        changeCiphertext { $0.removeAll() }
        heldCiphertext.removeAll()
        heldPlaintext.removeAll()
        cancelTimers()
        loop.forget(self)
        flushAtEndOfTurn(.prompt)
    }

    func cancelTimers() {
        cancelDeadline()
        if let stallTimer { loop.cancel(stallTimer) }
        stallTimer = nil
    }

    func closeDescriptor() {
        unregister(isClosing: true)
        if fd >= 0 { SystemCall.close(fd) }
        fd = -1
    }

    func tellClosed() {
        guard let reason = closeReason else { return }
        closeReason = nil
        let delegate = delegate
        self.delegate = nil
        delegate?.connectionClosed(self, reason: reason)
    }
}
