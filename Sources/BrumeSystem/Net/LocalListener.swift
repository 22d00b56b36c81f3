internal import Glibc

/// Accepts connections on a Unix socket, without TLS, from processes of this process's user and of root.
///
/// `@unchecked Sendable`, so that a reference may travel in a task to the loop: all members are for the loop's thread,
/// or for the thread that sets the loop up before it runs.
package final class LocalListener: @unchecked Sendable {
    private let path: String
    private let loop: EventLoop
    private let limits: ConnectionLimits
    private let refused: (_ user: UInt32) -> Void
    private let accept: (Connection) -> (any ConnectionDelegate)?
    private let admission: ConnectionAdmission
    private var fd: Int32
    private var registration: Registration?
    private var resumeTimer: TimerID?

    /// Begins to listen. Replaces a socket that an ended process left at `path`, so the caller has to ensure, by a
    /// lock, that no other process listens there.
    ///
    /// - Parameters:
    ///   - path: The socket's path. Its folder is made if it is missing, and made accessible to its owner alone.
    ///   - refused: Called for each process of another user, whose connection is closed.
    ///   - accept: Called for each connection; `nil` refuses it. The connection is open.
    package init(
        path: String, loop: EventLoop, limits: ConnectionLimits, refused: @escaping (_ user: UInt32) -> Void,
        accept: @escaping (Connection) -> (any ConnectionDelegate)?
    ) throws(SystemError) {
        self.path = path
        self.loop = loop
        self.limits = limits
        admission = ConnectionAdmission(limits: limits)
        self.refused = refused
        self.accept = accept
        try Self.makePrivate(folder: FileSystem.directory(of: path))
        do throws(SystemError) { try FileSystem.remove(path) } catch  where error.isNotFound {}
        fd = try Socket.open(family: AF_UNIX)
        do throws(SystemError) {
            let fd = fd
            try LocalSocket.withAddress(path) { (address) throws(SystemError) in
                try SystemCall.run("bind", path) { address.with { bind(fd, $0, $1) } }
            }
            // Nobody can connect before `listen`.
            try SystemCall.run("chmod", path) { chmod(path, 0o600) }
            try SystemCall.run("listen", path) { listen(fd, Limits.localBacklog) }
            registration = try loop.register(fd, readable: true, writable: false, self)
        } catch {
            SystemCall.close(fd)
            fd = -1
            throw error
        }
    }

    deinit {
        if fd >= 0 { SystemCall.close(fd) }
    }

    /// Stops accepting and removes the socket. Existing connections stay open.
    package func close() {
        guard fd >= 0 else { return }
        if let resumeTimer { loop.cancel(resumeTimer) }
        resumeTimer = nil
        if let registration { loop.unregister(registration, fd) }
        registration = nil
        try? FileSystem.remove(path)
        SystemCall.close(fd)
        fd = -1
    }

    /// Makes the folder, or closes an existing one to everybody but its owner, which has to be this user (unless the
    /// process is root's).
    private static func makePrivate(folder: String) throws(SystemError) {
        try FileSystem.makeDirectory(folder)
        // Not the target of a link.
        let fd = try SystemCall.run("open", folder) { open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        defer { SystemCall.close(fd) }
        try SystemCall.run("fchmod", folder) { fchmod(fd, 0o700) }
    }

    private func acceptSome() {
        for _ in 0..<Limits.acceptsPerTurn {
            guard fd >= 0 else { return }
            do throws(SystemError) {
                guard let (client, _) = try Socket.accept(fd) else { return }
                accepted(client)
            } catch {
                switch error.errno {
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause()
                default: continue
                }
            }
        }
    }

    private func accepted(_ client: Int32) {
        guard let peer = try? LocalSocket.peer(of: client) else { return SystemCall.close(client) }
        guard Self.mayEnter(user: peer.user, of: geteuid()) else {
            SystemCall.close(client)
            return refused(peer.user)
        }
        guard case .success(let admitted) = admission.admit(.local) else { return SystemCall.close(client) }
        let connection = Connection(
            loop: loop, state: .open, peerAddress: "process \(peer.process) of user \(peer.user)", limits: limits,
            delegate: nil)
        guard let delegate = accept(connection) else {
            admitted.ended()
            return SystemCall.close(client)
        }
        connection.delegate = delegate
        connection.fd = client
        connection.admission = admitted
        // The kernel has identified the peer.
        admitted.opened(hasAccount: true)
        do throws(SystemError) {
            try connection.register()
        } catch {
            return connection.terminate(.io(error))
        }
        delegate.connectionEstablished(connection)
    }

    /// Whether a process of `user` may connect to a process of `owner`.
    static func mayEnter(user: UInt32, of owner: UInt32) -> Bool { user == owner || user == 0 }

    /// Pauses accepting: the connection stays in the backlog, and would be reported again at once.
    private func pause() {
        guard let registration, resumeTimer == nil else { return }
        loop.update(registration, fd, readable: false, writable: false)
        resumeTimer = loop.schedule(afterMilliseconds: Limits.acceptBackoffMilliseconds) { [weak self] in
            guard let self, let registration = self.registration else { return }
            resumeTimer = nil
            loop.update(registration, fd, readable: true, writable: false)
        }
    }
}

extension LocalListener: LoopHandler {
    func socketReady(readable: Bool, writable: Bool) { acceptSome() }
    func turnEnding(_ order: FlushOrder) {}
    func turnContinuing() {}
    func loopStopped() { close() }
}
