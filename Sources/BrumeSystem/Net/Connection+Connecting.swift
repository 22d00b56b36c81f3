internal import Glibc

/// A client's progress in connecting: its target, and the addresses that it has yet to try.
struct ClientConnecting {
    let host: String
    let port: UInt16
    let context: TLSClientContext
    var addresses: ArraySlice<SocketAddress> = []
    var current: SocketAddress?
    var lastError: SystemError?
}

/// How a client connects: name resolution, the addresses one after the other, TCP, TLS.
extension Connection {
    /// Connects to a server. Loop thread only; the outcome comes to the delegate, later.
    ///
    /// - Parameters:
    ///   - host: A name, whose addresses are tried in the resolver's order, or a literal address. The certificate must
    ///     carry it.
    ///   - timeoutMilliseconds: The limit for everything together: resolution, connecting, handshake.
    package static func connect(
        host: String, port: UInt16, tls: TLSClientContext, loop: EventLoop, timeoutMilliseconds: UInt64,
        limits: ConnectionLimits = ConnectionLimits(), delegate: any ConnectionDelegate
    ) -> Connection {
        let connection = Connection(
            loop: loop, state: .resolving, peerAddress: "\(host):\(port)", limits: limits, delegate: delegate)
        connection.connecting = ClientConnecting(host: host, port: port, context: tls)
        connection.setDeadline(afterMilliseconds: timeoutMilliseconds, .handshakeTimedOut)
        loop.remember(connection)
        NameResolver.resolve(host: host, port: port, loop: loop) { connection.resolved($0) }
        return connection
    }

    private func resolved(_ outcome: NameResolver.Outcome) {
        // It may have been closed, or have timed out, meanwhile.
        guard state == .resolving else { return }
        switch outcome {
        case .failed(let message):
            terminate(.resolutionFailed(message))
        case .addresses(let addresses):
            state = .connecting
            connecting?.addresses = addresses[...]
            connectToNext()
        }
    }

    private func connectToNext() {
        while let address = connecting?.addresses.popFirst() {
            connecting?.current = address
            do throws(SystemError) {
                fd = try Socket.open(family: address.family)
                try Socket.prepare(fd, sendBufferBytes: limits.sendBufferBytes)
                let isDone = try Socket.connect(fd, to: address)
                try register()
                if isDone { connectFinished() }
                return
            } catch {
                connecting?.lastError = error
                closeDescriptor()
            }
        }
        terminate(.io(connecting?.lastError ?? SystemError(call: "connect", errno: 0, message: "no address")))
    }

    /// TCP is connected, or has failed.
    func connectFinished() {
        guard let connecting, let address = connecting.current else { return }
        do throws(SystemError) {
            try Socket.connectResult(fd, address)
        } catch {
            self.connecting?.lastError = error
            closeDescriptor()
            return connectToNext()
        }
        do throws(TLSError) {
            session = try TLSSession(
                client: connecting.context, host: connecting.host, port: connecting.port, buffers: loop.buffers)
        } catch {
            return terminate(.handshakeFailed(error.message))
        }
        loop.forget(self)
        state = .handshaking
        updateInterest()
        feed(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
