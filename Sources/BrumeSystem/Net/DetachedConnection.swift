/// A live connection between two loops: descriptor, TLS state, and the bytes under way in both directions.
///
/// `@unchecked Sendable`: it has one owner at a time, which passes it to `Connection.attach` once or releases it, which
/// closes the connection.
package final class DetachedConnection: @unchecked Sendable {
    package let peerAddress: String
    let limits: ConnectionLimits
    /// The TLS session; nil when the connection has no TLS.
    let session: TLSSession?
    let admission: AdmittedConnection?
    let isReadingPaused: Bool
    let isWaitingForDrain: Bool
    var fd: Int32
    var outputPlaintext = ByteQueue()
    var outputCiphertext = ByteQueue()
    var heldCiphertext = ByteQueue()
    var heldPlaintext = ByteQueue()

    fileprivate init(_ connection: Connection, session: TLSSession?) {
        peerAddress = connection.peerAddress
        limits = connection.limits
        self.session = session
        admission = connection.admission
        isReadingPaused = connection.isReadingPaused
        isWaitingForDrain = connection.isWaitingForDrain
        fd = connection.fd
        connection.changePlaintext { swap(&outputPlaintext, &$0) }
        connection.changeCiphertext { swap(&outputCiphertext, &$0) }
        swap(&heldCiphertext, &connection.heldCiphertext)
        swap(&heldPlaintext, &connection.heldPlaintext)
    }

    deinit {
        guard fd >= 0 else { return }
        admission?.ended()
        session?.close()
        SystemCall.close(fd)
    }
}

extension Connection {
    /// Takes the connection off its loop with everything in progress. This object is of no use afterwards, and its
    /// delegate is not called again.
    ///
    /// May be called from within the delegate's calls. The connection must be open: neither closed by us nor known to
    /// be closed by the peer (`isOpen`).
    /// - Parameter unconsumed: Bytes that were delivered but belong to the next owner, for example what follows the
    ///   first frame. They are delivered first on the other loop.
    package func detach(
        unconsumed: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> DetachedConnection {
        guard state == .open else { preconditionFailure("only an open connection can be detached") }
        heldPlaintext.append(unconsumed)
        if isFeeding {
            // What the run in progress has not decrypted yet is in the loop's buffer or in the queue it came from.
            heldCiphertext.append(loop.buffers.remainingInput)
        }
        opened(hasAccount: false)
        endCounting()
        cancelTimers()
        unregister()
        let detached = DetachedConnection(self, session: session)
        state = .detached
        fd = -1
        self.session = nil
        admission = nil
        delegate = nil
        return detached
    }

    /// Puts a detached connection on a loop. To be called on that loop's thread.
    ///
    /// `connectionEstablished` is not called again; bytes that came along are delivered from the next turn on. If the
    /// loop cannot take it, `connectionClosed` follows.
    package static func attach(
        _ detached: DetachedConnection, to loop: EventLoop, delegate: any ConnectionDelegate
    ) -> Connection {
        precondition(detached.fd >= 0, "a detached connection can be attached once")
        let connection = Connection(
            loop: loop, state: .open, peerAddress: detached.peerAddress, limits: detached.limits, delegate: delegate)
        connection.fd = detached.fd
        detached.fd = -1
        connection.session = detached.session
        connection.admission = detached.admission
        connection.isReadingPaused = detached.isReadingPaused
        connection.isWaitingForDrain = detached.isWaitingForDrain
        connection.hasSentBytes = true
        connection.appendPlaintext(isNews: false) { swap(&$0, &detached.outputPlaintext) }
        connection.changeCiphertext { swap(&$0, &detached.outputCiphertext) }
        swap(&connection.heldCiphertext, &detached.heldCiphertext)
        swap(&connection.heldPlaintext, &detached.heldPlaintext)
        detached.session?.move(to: loop.buffers)
        do throws(SystemError) {
            try connection.register()
        } catch {
            connection.terminate(.io(error))
            return connection
        }
        if connection.pendingOutputBytes > 0 || connection.isWaitingForDrain { connection.flushAtEndOfTurn(.prompt) }
        if connection.hasHeldInput { connection.continueNextTurn() }
        return connection
    }
}
