internal import Glibc

/// Connections to a process of the same machine, on a Unix socket. They have no TLS: bytes are sent as they are
/// written.
extension Connection {
    /// Connects to the socket at `path`. Loop thread only; the outcome comes to the delegate, later.
    package static func connect(
        socketPath path: String, loop: EventLoop, limits: ConnectionLimits = ConnectionLimits(),
        delegate: any ConnectionDelegate
    ) -> Connection {
        let connection = Connection(
            loop: loop, state: .resolving, peerAddress: path, limits: limits, delegate: delegate)
        loop.remember(connection)
        loop.execute { connection.connectLocally(path) }
        return connection
    }

    private func connectLocally(_ path: String) {
        // It may have been closed meanwhile.
        guard state == .resolving else { return }
        do throws(SystemError) {
            fd = try Socket.open(family: AF_UNIX)
            try LocalSocket.connect(fd, path)
            state = .open
            try register()
        } catch {
            return terminate(.io(error))
        }
        loop.forget(self)
        if outputPlaintextBytes > 0 { flushOutput() }
        delegate?.connectionEstablished(self)
    }

    /// Delivers what was read from a socket without TLS.
    func deliverPlain(_ bytes: UnsafeRawBufferPointer) {
        guard !isReadingPaused else { return heldPlaintext.append(bytes) }
        delegate?.connection(self, received: bytes)
    }
}
