/// Input: from the socket to the delegate.
extension Connection {
    var hasHeldInput: Bool { !heldPlaintext.isEmpty || !heldCiphertext.isEmpty }

    /// Reads from the socket without waiting for the poller, and delivers what is available before it returns. Must not
    /// be called from within a call to the delegate.
    package func readNow() {
        if state == .open { readFromSocket() }
    }

    func readFromSocket() {
        guard takesInput else { return }
        if hasHeldInput, state == .open {
            // Older bytes come first.
            deliverHeldInput()
            guard !hasHeldInput else { return }
        }
        let buffer = loop.buffers.ciphertext
        var budget = Limits.readBytesPerTurn
        while takesInput, fd >= 0, budget > 0 {
            let isOpen = state == .open
            if isOpen {
                delegate?.connectionWillRead(self)
                guard takesInput, fd >= 0 else { return }
            }
            defer { if isOpen { delegate?.connectionDidRead(self) } }
            let outcome: Socket.ReadOutcome
            do throws(SystemError) {
                outcome = try Socket.read(fd, buffer)
            } catch {
                return readFailed(error)
            }
            switch outcome {
            case .wouldBlock:
                return
            case .endOfStream:
                return endOfStream()
            case .bytes(let count):
                // After `close()` input is read only so that the peer's end can be seen.
                if state == .handshaking || state == .open {
                    feed(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
                }
                // A short read took everything. What arrives meanwhile is reported in the next turn.
                if count < buffer.count { return }
                budget -= count
            }
        }
    }

    private func readFailed(_ error: SystemError) {
        switch state {
        case .closing, .lingering: terminate(.localClose)
        default: terminate(.io(error))
        }
    }

    private func endOfStream() {
        switch state {
        case .closing, .lingering: terminate(.localClose)
        // Without TLS a peer can only end its stream.
        default: terminate(session == nil ? .peerClosed : .peerVanished)
        }
    }

    /// Delivers what waited for `resumeReading`, or came along from another loop.
    func deliverHeldInput() {
        if !heldPlaintext.isEmpty {
            var plaintext = ByteQueue()
            swap(&plaintext, &heldPlaintext)
            delegate?.connection(self, received: plaintext.bytes)
        }
        guard state == .open, !isReadingPaused, !heldCiphertext.isEmpty else { return }
        var ciphertext = ByteQueue()
        swap(&ciphertext, &heldCiphertext)
        feed(ciphertext.bytes)
    }

    /// Runs TLS over ciphertext from the peer (none to begin a client's handshake) and delivers what comes out of it.
    func feed(_ ciphertext: UnsafeRawBufferPointer) {
        if session == nil, state == .open { return deliverPlain(ciphertext) }
        let buffers = loop.buffers
        precondition(!isFeeding, "decryption within decryption")
        isFeeding = true
        buffers.setInput(ciphertext)
        defer {
            isFeeding = false
            buffers.clearInput()
        }
        while true {
            switch state {
            case .handshaking:
                guard continueHandshake() else { return }
            case .open:
                guard !isReadingPaused else {
                    heldCiphertext.append(buffers.remainingInput)
                    return
                }
                guard decryptAndDeliver(buffers) else { return }
            default:
                return
            }
        }
    }

    /// - Returns: Whether the handshake is done and more input may wait.
    private func continueHandshake() -> Bool {
        if session == nil, let listener {
            // Made with the peer's first bytes: a peer that sends none costs only a descriptor.
            do throws(TLSError) {
                session = try listener.makeSession()
            } catch {
                terminate(.handshakeFailed(error.message))
                return false
            }
        }
        guard let session else { return false }
        switch session.handshake() {
        case .needsInput:
            sendOutput()
            return false
        case .failed(let error):
            sendAlert()
            terminate(.handshakeFailed(error.message))
            return false
        case .done:
            state = .open
            cancelDeadline()
            sendOutput()
            guard state == .open else { return false }
            if !limits.awaitsIdentity { opened(hasAccount: false) }
            connecting = nil
            if outputPlaintextBytes > 0 { flushOutput() }
            updateInterest()
            delegate?.connectionEstablished(self)
            return true
        }
    }

    private enum Ending {
        case needsInput
        case closedByPeer
        case failed(TLSError)
    }

    /// Decrypts what fits into the loop's buffer and delivers it in one piece.
    /// - Returns: Whether more input may wait.
    private func decryptAndDeliver(_ buffers: TransferBuffers) -> Bool {
        guard let session else { return false }
        let plaintext = buffers.plaintext
        var filled = 0
        var ending: Ending?
        // Only whole records are taken, so that nothing decrypted stays in OpenSSL.
        while ending == nil, plaintext.count - filled >= Limits.tlsPlaintextRecordBytes {
            switch session.read(into: UnsafeMutableRawBufferPointer(rebasing: plaintext[filled...])) {
            case .bytes(let count):
                filled += count
                // Mostly the input was one record: then OpenSSL need not be called once more in vain.
                if buffers.remainingInput.isEmpty, !session.holdsInput { ending = .needsInput }
            case .needsInput: ending = .needsInput
            case .closedByPeer: ending = .closedByPeer
            case .failed(let error): ending = .failed(error)
            }
        }
        // Answers to the peer's key updates, and the alert of a failure.
        sendOutput()
        guard state == .open else { return false }
        if filled > 0 {
            delegate?.connection(self, received: UnsafeRawBufferPointer(rebasing: plaintext[..<filled]))
            guard state == .open else { return false }
        }
        switch ending {
        case nil:
            return true
        case .needsInput:
            return false
        case .closedByPeer:
            peerClosed()
            return false
        case .failed(let error):
            terminate(.protocolViolation(error.message))
            return false
        }
    }

    /// The peer sent a close_notify. Answers with one if that is possible at once, and closes: pending output is
    /// dropped, as a peer that closes wants no more.
    private func peerClosed() {
        if pendingOutputBytes == 0 {
            session?.shutDown()
            sendOutput()
        }
        terminate(.peerClosed)
    }
}
