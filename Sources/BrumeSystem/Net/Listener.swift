internal import Glibc

/// Accepts connections on one address and takes them through the TLS handshake.
///
/// `@unchecked Sendable`, so that a reference may travel in a task to the loop: all members but `port`, `address` and
/// `connectionCount` are for the loop's thread, or for the thread that sets the loop up before it runs.
package final class Listener: @unchecked Sendable {
    /// The actual port, also when 0 was requested.
    package let port: UInt16
    /// Address and port, for logs.
    package let address: String

    private let loop: EventLoop
    private var tls: TLSServerContext
    private let limits: ConnectionLimits
    private let accept: (Connection) -> (any ConnectionDelegate)?
    private let admission: ConnectionAdmission
    private var fd: Int32
    /// Whether another process listens on the socket, too: a service manager that opened it.
    private let isShared: Bool
    private var registration: Registration?
    private var isPaused = false
    private var resumeTimer: TimerID?

    /// Connections whose peers are not identified yet.
    private var opening = OpeningConnections<Connection>()
    /// Opening connections whose handshakes wait for a later turn.
    private var waiting = HandshakeQueue<Connection>()
    private var continuesNextTurn = false
    /// The number and the time of the handshakes in the turn with this number.
    private var slice: (turn: UInt64, count: Int, nanoseconds: UInt64) = (0, 0, 0)

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - host: A literal address or a name (its first address is taken); empty for all addresses, IPv6 and IPv4.
    ///   - port: 0 takes any free one.
    ///   - backlog: Connections that the kernel holds until they are accepted; it may cut the number.
    ///   - admission: Counts the connections of several listeners together; nil counts those of this one alone.
    ///   - sharesPort: Several listeners, one per loop, may take the same port; the kernel spreads connections over
    ///     them.
    ///   - accept: Called for each connection before its handshake; `nil` refuses it.
    package convenience init(
        host: String, port: UInt16, tls: TLSServerContext, loop: EventLoop, backlog: Int32 = 1024,
        limits: ConnectionLimits = ConnectionLimits(), admission: ConnectionAdmission? = nil, sharesPort: Bool = false,
        accept: @escaping (Connection) -> (any ConnectionDelegate)?
    ) throws(SystemError) {
        let fd = try Listener.open(host: host, port: port, backlog: backlog, sharesPort: sharesPort)
        try self.init(fd, isShared: false, tls: tls, loop: loop, limits: limits, admission: admission, accept: accept)
    }

    /// Begins to accept on a socket that a service manager listens on for this process, beside others that do: each
    /// connection is one's. It stays open there when this one ends, and connections wait for the next process.
    package convenience init(
        on socket: InheritedSocket, tls: TLSServerContext, loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(), admission: ConnectionAdmission? = nil,
        accept: @escaping (Connection) -> (any ConnectionDelegate)?
    ) throws(SystemError) {
        try self.init(
            try socket.copy(), isShared: true, tls: tls, loop: loop, limits: limits, admission: admission,
            accept: accept)
    }

    private init(
        _ fd: Int32, isShared: Bool, tls: TLSServerContext, loop: EventLoop, limits: ConnectionLimits,
        admission: ConnectionAdmission?, accept: @escaping (Connection) -> (any ConnectionDelegate)?
    ) throws(SystemError) {
        self.loop = loop
        self.tls = tls
        self.limits = limits
        self.admission = admission ?? ConnectionAdmission(limits: limits)
        self.accept = accept
        self.fd = fd
        self.isShared = isShared
        do throws(SystemError) {
            let local = try Socket.localAddress(fd)
            self.port = local.port
            address = local.description
        } catch {
            SystemCall.close(fd)
            self.fd = -1
            throw error
        }
        do throws(SystemError) {
            registration = try loop.register(fd, readable: true, writable: false, self)
        } catch {
            SystemCall.close(fd)
            self.fd = -1
            throw error
        }
    }

    deinit {
        if fd >= 0 { stopListening() }
    }

    /// Closes the socket, and frees its port at once: a process that another thread is just starting has a copy of the
    /// descriptor until it runs its program, and would hold the port. A service manager goes on listening.
    private func stopListening() {
        if !isShared { shutdown(fd, Int32(SHUT_RDWR)) }
        SystemCall.close(fd)
    }

    /// The number of open connections that were accepted here, on whatever loop. Any thread.
    package var connectionCount: Int { admission.count }

    /// Makes future connections use another certificate. Existing ones stay as they are.
    package func use(_ tls: TLSServerContext) { self.tls = tls }

    /// Stops accepting. Existing connections stay open.
    package func close() {
        guard fd >= 0 else { return }
        if let resumeTimer { loop.cancel(resumeTimer) }
        resumeTimer = nil
        if let registration { loop.unregister(registration, fd) }
        registration = nil
        stopListening()
        fd = -1
    }

    /// Opens a socket that listens, for a library that accepts connections by itself.
    ///
    /// - Returns: The descriptor, which the caller closes, and the port, also where 0 was asked for.
    package static func socket(
        host: String, port: UInt16, backlog: Int32
    ) throws(SystemError) -> (fd: Int32, port: UInt16) {
        let fd = try open(host: host, port: port, backlog: backlog, sharesPort: false)
        do throws(SystemError) {
            return (fd, try Socket.localAddress(fd).port)
        } catch {
            SystemCall.close(fd)
            throw error
        }
    }

    /// Finds out whether this process could listen on an address now.
    ///
    /// - Throws: Why it can't.
    package static func probe(host: String, port: UInt16) throws(SystemError) {
        _ = Glibc.close(try open(host: host, port: port, backlog: 1, sharesPort: false))
    }

    /// A socket that listens; see `init`.
    static func open(host: String, port: UInt16, backlog: Int32, sharesPort: Bool) throws(SystemError) -> Int32 {
        // One IPv6 socket accepts IPv4 as well; on a machine without IPv6, all IPv4 addresses.
        let candidates = host.isEmpty ? ["::", "0.0.0.0"] : [host]
        var lastError: SystemError?
        for candidate in candidates {
            switch NameResolver.resolve(host: candidate, port: port, isNumeric: false, isPassive: true) {
            case .failed(let message):
                lastError = SystemError(call: "getaddrinfo", errno: 0, message: message)
            case .addresses(let addresses):
                do throws(SystemError) {
                    return try open(addresses[0], backlog: backlog, sharesPort: sharesPort)
                } catch {
                    lastError = error
                }
            }
        }
        throw lastError!
    }

    private static func open(_ address: SocketAddress, backlog: Int32, sharesPort: Bool) throws(SystemError) -> Int32 {
        let fd = try Socket.open(family: address.family)
        do throws(SystemError) {
            try Socket.setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1)
            if sharesPort { try Socket.setOption(fd, SOL_SOCKET, SO_REUSEPORT, 1) }
            if address.family == AF_INET6 { try Socket.setOption(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
            try SystemCall.run("bind", address.description) { address.with { bind(fd, $0, $1) } }
            try SystemCall.run("listen", address.description) { listen(fd, backlog) }
        } catch {
            SystemCall.close(fd)
            throw error
        }
        return fd
    }

    // MARK: Accepting

    private func acceptSome() {
        for _ in 0..<Limits.acceptsPerTurn {
            guard fd >= 0, makeRoom() else { return }
            do throws(SystemError) {
                guard let (client, peer) = try Socket.accept(fd) else { return }
                accepted(client, peer)
            } catch {
                switch error.errno {
                case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                    // The connection stays in the backlog, and would be reported again at once.
                    return pause(milliseconds: Limits.acceptBackoffMilliseconds)
                default:
                    // The peer, or its network, is gone already: this is not an error of ours.
                    continue
                }
            }
        }
    }

    private func accepted(_ client: Int32, _ peer: SocketAddress) {
        guard let place = admit(PeerNetwork(peer)) else { return SystemCall.close(client) }
        let connection = Connection(
            loop: loop, state: .handshaking, peerAddress: peer.description, limits: limits, delegate: nil)
        guard let delegate = accept(connection) else {
            place.ended()
            return SystemCall.close(client)
        }
        connection.delegate = delegate
        connection.fd = client
        connection.listener = self
        connection.admission = place
        opening.append(connection, of: place.network, nowNanoseconds: loop.nowNanoseconds)
        do throws(SystemError) {
            try Socket.prepare(client, sendBufferBytes: limits.sendBufferBytes)
            try connection.register()
        } catch {
            return connection.terminate(.io(error))
        }
        connection.setDeadline(afterMilliseconds: limits.handshakeTimeoutMilliseconds, .handshakeTimedOut)
    }

    /// Returns a place for a connection of the network, or nil when the network or the server has too many.
    private func admit(_ network: PeerNetwork) -> AdmittedConnection? {
        switch admission.admit(network) {
        case .success(let place): return place
        case .failure(let error):
            // The network's own oldest opening connection is closed in its favour.
            if error.refusal == .opening, let oldest = opening.oldest(of: network), giveUp(oldest),
                case .success(let place) = admission.admit(network)
            {
                return place
            }
            admission.noteRefusal(error.refusal)
            return nil
        }
    }

    // MARK: Opening connections

    /// The connection is no longer opening: its peer has been identified, or it has ended.
    func openingEnded(_ connection: Connection) {
        guard let network = connection.admission?.network else { return }
        opening.remove(connection, of: network)
        if connection.isWaitingForHandshake {
            connection.isWaitingForHandshake = false
            waiting.remove(connection, of: network)
        }
        if isPaused, resumeTimer == nil || opening.count < limits.handshakesMax { resume() }
    }

    /// - Returns: Whether one more connection may be opened; otherwise accepting pauses until one may.
    private func makeRoom() -> Bool {
        guard opening.count >= limits.handshakesMax, let oldest = opening.oldestOfLargest else { return true }
        if giveUp(oldest) { return true }
        pause(
            milliseconds: max(
                1, Limits.handshakeGraceMilliseconds - min(age(oldest), Limits.handshakeGraceMilliseconds)))
        return false
    }

    private func age(_ entry: OpeningConnections<Connection>.Entry) -> UInt64 {
        (loop.nowNanoseconds - min(entry.sinceNanoseconds, loop.nowNanoseconds)) / 1_000_000
    }

    private func giveUp(_ entry: OpeningConnections<Connection>.Entry) -> Bool {
        guard age(entry) >= Limits.handshakeGraceMilliseconds else { return false }
        entry.element.terminate(.handshakeEvicted)
        return true
    }

    /// Counts an opening connection that was evicted or timed out. Those that ended by themselves are not counted.
    func noteGivenUp() { admission.noteGivenUp() }

    // MARK: Handshakes

    /// The server's side of a handshake that begins.
    func makeSession() throws(TLSError) -> TLSSession { try TLSSession(server: tls, buffers: loop.buffers) }

    /// A peer has sent a part of its handshake: continues the handshake now, or in a later turn.
    func handshakeReady(_ connection: Connection) {
        if waiting.isEmpty, hasTime { return handshake(connection) }
        guard !connection.isWaitingForHandshake, let network = connection.admission?.network else { return }
        connection.isWaitingForHandshake = true
        waiting.append(connection, of: network)
        goOnNextTurn()
    }

    /// Whether handshakes may take more of this turn.
    private var hasTime: Bool {
        if slice.turn != loop.turnNumber { slice = (loop.turnNumber, 0, 0) }
        return slice.count == 0 || slice.nanoseconds < limits.handshakeSliceNanoseconds
    }

    private func handshake(_ connection: Connection) {
        let began = MonotonicClock.nowNanoseconds
        connection.readFromSocket()
        slice.count += 1
        slice.nanoseconds += MonotonicClock.nowNanoseconds - began
    }

    private func goOnNextTurn() {
        guard !continuesNextTurn else { return }
        continuesNextTurn = true
        loop.continueNextTurn(self)
    }

    private func handshakeSome() {
        while hasTime, let connection = waiting.next() {
            connection.isWaitingForHandshake = false
            handshake(connection)
        }
        if !waiting.isEmpty { goOnNextTurn() }
    }

    private func pause(milliseconds: UInt64) {
        guard !isPaused, let registration else { return }
        isPaused = true
        loop.update(registration, fd, readable: false, writable: false)
        resumeTimer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            self?.resumeTimer = nil
            self?.resume()
        }
    }

    private func resume() {
        guard isPaused, let registration else { return }
        isPaused = false
        if let resumeTimer { loop.cancel(resumeTimer) }
        resumeTimer = nil
        loop.update(registration, fd, readable: true, writable: false)
    }
}

extension Listener: LoopHandler {
    func socketReady(readable: Bool, writable: Bool) { acceptSome() }
    func turnEnding(_ order: FlushOrder) {}
    func turnContinuing() {
        continuesNextTurn = false
        handshakeSome()
    }
    func loopStopped() { close() }
}
