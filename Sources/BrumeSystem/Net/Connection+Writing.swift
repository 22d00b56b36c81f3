/// Output: from the user to the socket.
extension Connection {
    /// Appends bytes to the output, which is sent at the end of the turn or, where others go first (``FlushOrder``), of
    /// a later one. Does nothing after the connection was closed.
    ///
    /// The only limit here is ``ConnectionLimits/outputBytesMax``, which ends the connection: check `isOutputFull`.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        guard acceptsOutput, bytes.count > 0 else { return }
        appendPlaintext(isNews: false) { $0.append(bytes) }
        outputAppended()
    }

    /// Appends to the output in place.
    /// - Parameters:
    ///   - minimumCapacity: The number of bytes that `body` may write; the buffer may be larger.
    ///   - isNews: Whether the peer does not wait for it: it may be sent some turns later.
    ///   - body: Writes from the start of the buffer and returns how many bytes it wrote. Does nothing else with the
    ///     connection. Not called after the connection was closed.
    package func withOutput(
        minimumCapacity: Int, isNews: Bool, _ body: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        guard acceptsOutput else { return }
        appendPlaintext(isNews: isNews) { $0.append(minimumCapacity: minimumCapacity, body) }
        outputAppended()
    }

    private var acceptsOutput: Bool {
        switch state {
        case .resolving, .connecting, .handshaking, .open: true
        case .closing, .lingering, .closed, .detached: false
        }
    }

    private func outputAppended() {
        let pending = pendingOutputBytes
        if pending > Limits.uncountedOutputBytes { countOutput() }
        if pending > limits.outputBusyBytes {
            isWaitingForDrain = true
            if pending > limits.outputBytesMax { return terminate(.outputOverflow) }
        }
        // Before the handshake is done the bytes wait for it; while the kernel takes none, for the socket.
        if state == .open, outputCiphertextBytes == 0 { flushOutput() }
    }

    /// Sends what is pending, as far as the kernel and the quota of the turn reach.
    ///
    /// - Parameter count: The bytes of plaintext that are sent at most. 0 outside of a turn's end, which is where a
    ///   connection has its quota, once: what the kernel has room for then stands in line for it.
    func flush(atMost count: Int = Limits.writeBytesPerTurn) {
        guard state == .handshaking || state == .open || state == .closing else { return }
        sendPendingCiphertext()
        if count > 0, outputCiphertextBytes == 0, outputPlaintextBytes > 0, state != .handshaking {
            sendPlaintext(atMost: count)
        }
        guard state == .handshaking || state == .open || state == .closing else { return }
        if countedOutputBytes > 0 { countOutput() }
        if state == .closing, pendingOutputBytes == 0 { return finishClosing() }
        // The quota is used up and the kernel has room: the rest goes at the end of the next turn.
        if outputPlaintextBytes > 0, outputCiphertextBytes == 0, state != .handshaking { flushOutput() }
        if isWaitingForDrain, pendingOutputBytes <= limits.outputLowWaterBytes { continueNextTurn() }
        updateInterest()
        watchForStall()
    }

    /// Sends written bytes, encrypted if the connection is.
    private func sendPlaintext(atMost limit: Int) {
        let plaintext = outputPlaintext.bytes
        let part = UnsafeRawBufferPointer(rebasing: plaintext[..<min(plaintext.count, limit)])
        let count = part.count
        guard let session else {
            send(part)
            // A failed socket has dropped all of it.
            if fd >= 0 { changePlaintext { $0.removeFirst(count) } }
            return
        }
        do throws(TLSError) {
            try session.write(part)
        } catch {
            return terminate(.protocolViolation(error.message))
        }
        changePlaintext { $0.removeFirst(count) }
        sendOutput()
    }

    /// Sends the ciphertext that a run of TLS left in the loop's buffer, and queues what the kernel does not take.
    func sendOutput() {
        let buffers = loop.buffers
        let output = buffers.output
        guard output.count > 0 else { return }
        defer { buffers.clearOutput() }
        send(output)
    }

    private func send(_ output: UnsafeRawBufferPointer) {
        guard fd >= 0 else { return }
        var taken = 0
        if outputCiphertextBytes == 0 {
            do throws(SystemError) {
                taken = try Socket.write(fd, output)
            } catch {
                return writeFailed(error)
            }
            if taken > 0 {
                hasSentBytes = true
                lastProgressNanoseconds = loop.nowNanoseconds
            }
            if taken == output.count { return }
            lastProgressNanoseconds = loop.nowNanoseconds
        }
        changeCiphertext { $0.append(UnsafeRawBufferPointer(rebasing: output[taken...])) }
        // Encryption adds some bytes, and with them the output may become busy.
        if isOutputBusy { isWaitingForDrain = true }
        guard outputCiphertextBytes <= Limits.pendingCiphertextBytes else { return terminate(.outputOverflow) }
        updateInterest()
        watchForStall()
    }

    private func sendPendingCiphertext() {
        guard outputCiphertextBytes > 0 else { return }
        do throws(SystemError) {
            let taken = try Socket.write(fd, outputCiphertext.bytes)
            if taken > 0 {
                changeCiphertext { $0.removeFirst(taken) }
                lastProgressNanoseconds = loop.nowNanoseconds
            }
        } catch {
            writeFailed(error)
        }
    }

    private func writeFailed(_ error: SystemError) {
        switch state {
        case .closing, .lingering: terminate(.localClose)
        default: terminate(.io(error))
        }
    }

    /// Sends the alert that OpenSSL wrote. For what does not look like TLS at all it writes none, so one is made here.
    func sendAlert() {
        if loop.buffers.output.count == 0, !hasSentBytes, outputCiphertextBytes == 0, fd >= 0 {
            // Alert record, TLS 1.2 on the wire, 2 bytes: fatal, unexpected_message.
            let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 10]
            alert.withUnsafeBytes { _ = try? Socket.write(fd, $0) }
        }
        sendOutput()
    }

    // MARK: Stall

    private func watchForStall() {
        guard pendingOutputBytes > 0, stallTimer == nil, state == .open || state == .closing else { return }
        if outputCiphertextBytes == 0 { lastProgressNanoseconds = loop.nowNanoseconds }
        armStallTimer(afterMilliseconds: limits.writeStallTimeoutMilliseconds)
    }

    /// Arms the one timer that runs while output waits: it checks the last progress instead of being reset by each.
    private func armStallTimer(afterMilliseconds: UInt64) {
        stallTimer = loop.schedule(afterMilliseconds: afterMilliseconds) { [unowned self] in
            stallTimer = nil
            // What waits for its turn on the loop is not stalled: sending it arms the timer again.
            guard outputCiphertextBytes > 0 else { return }
            let waited = (loop.nowNanoseconds - min(lastProgressNanoseconds, loop.nowNanoseconds)) / 1_000_000
            if waited >= limits.writeStallTimeoutMilliseconds {
                terminate(.writeStalled)
            } else {
                armStallTimer(afterMilliseconds: limits.writeStallTimeoutMilliseconds - waited)
            }
        }
    }
}
