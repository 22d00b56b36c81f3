internal import BrumeLock
internal import BrumeSystem
internal import Glibc

/// A TCP proxy before a server that may harm connections: each one as the next fault of a list says, the others not at
/// all.
///
/// Plain sockets, two threads a connection. Closed with ``close()``.
package final class FaultyProxy: Sendable {
    /// What happens to a connection when so many bytes have gone one way.
    package struct Fault: Sendable {
        package enum Kind: Sendable {
            /// Both sides are closed; what is under way is lost.
            case cut
            /// Nothing goes on, in either direction, and nothing is closed.
            case stall
        }

        let kind: Kind
        let isDown: Bool
        let byteCount: Int

        package init(kind: Kind = .cut, isDown: Bool, byteCount: Int) {
            (self.kind, self.isDown, self.byteCount) = (kind, isDown, byteCount)
        }
    }

    /// The bytes that went through a connection.
    package struct Traffic: Sendable {
        package fileprivate(set) var up = 0
        package fileprivate(set) var down = 0
    }

    private struct State {
        var faults: [Fault] = []
        package var traffic: [Traffic] = []
        var sockets: [Int32] = []
        /// Connected to the server before a client came.
        var early: Int32?
        var isClosed = false
    }

    private let state = Lock(State())
    private let listener: Int32
    private let target: UInt16
    private let host: UInt8
    package let port: UInt16

    package var address: String { "127.0.0.1:\(port)" }
    /// Connections so far.
    package var traffic: [Traffic] { state.withLock { $0.traffic } }
    /// Faults that no connection has had yet.
    package var faultsLeft: Int { state.withLock { $0.faults.count } }

    /// - Parameters:
    ///   - server: The server's port on this machine.
    ///   - host: Where the server sees connections come from: `127.0.0.` and this number.
    ///   - connectsAtOnce: Whether the first connection is at the server before a client has come.
    package init(to server: UInt16, host: UInt8 = 1, connectsAtOnce: Bool = false) throws {
        (target, self.host) = (server, host)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard let port = Self.bound(listener, host: 1), listen(listener, 64) == 0 else {
            throw TestFailure("no socket for the proxy: errno \(errno)")
        }
        self.port = port
        if connectsAtOnce {
            let early = connected()
            guard early >= 0 else { throw TestFailure("the proxy does not reach the server: errno \(errno)") }
            state.withLock { $0.early = early }
        }
        SystemThread(needed: "the proxy") { [self] in accept() }.detach()
    }

    /// The connections to come have these, one each.
    package func add(_ faults: [Fault]) { state.withLock { $0.faults += faults } }

    /// Ends the connections that there are.
    package func cutAll() {
        for fd in state.withLock({ $0.sockets }) { shutdown(fd, Int32(SHUT_RDWR)) }
    }

    package func close() {
        let sockets = state.withLock { state in
            state.isClosed = true
            return state.sockets + (state.early.map { [$0] } ?? [])
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for fd in sockets { shutdown(fd, Int32(SHUT_RDWR)) }
    }

    /// Binds a socket to a free port of a loopback address, which is returned.
    private static func bound(_ fd: Int32, host: UInt8) -> UInt16? {
        var address = address(host: host, port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(fd, pointer, length) | getsockname(fd, pointer, &length)
            }
        }
        return status == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }

    private static func address(host: UInt8, port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(host)).bigEndian
        return address
    }

    /// A connection to the server; negative when it can't be made.
    private func connected() -> Int32 {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = Self.address(host: 1, port: target)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Self.bound(server, host: host) == nil
                    ? -1 : connect(server, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status == 0 { return server }
        Glibc.close(server)
        return -1
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if client < 0 {
                if state.withLock({ $0.isClosed }) { break }
                continue
            }
            let server = state.withLock({ $0.early.take() }) ?? connected()
            let (index, fault) = state.withLock { state in
                state.traffic.append(Traffic())
                return (state.traffic.count - 1, state.faults.isEmpty ? nil : state.faults.removeFirst())
            }
            if server < 0 {
                Glibc.close(client)
                continue
            }
            state.withLock { $0.sockets += [client, server] }
            let end = ConnectionEnd()
            for (isDown, source, target) in [(false, client, server), (true, server, client)] {
                SystemThread(needed: "the proxy") { [self] in
                    pump(index, fault, end, isDown: isDown, from: source, to: target)
                    ended(end, client, server)
                }.detach()
            }
        }
        Glibc.close(listener)
    }

    /// The last of a connection's two threads closes its sockets.
    private func ended(_ end: ConnectionEnd, _ client: Int32, _ server: Int32) {
        let isLast = end.state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        guard isLast else { return }
        state.withLock { $0.sockets.removeAll { $0 == client || $0 == server } }
        Glibc.close(client)
        Glibc.close(server)
    }

    private func pump(
        _ index: Int, _ fault: Fault?, _ end: ConnectionEnd, isDown: Bool, from source: Int32, to target: Int32
    ) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var total = 0
        while true {
            var room = buffer.count
            if let fault, fault.isDown == isDown { room = min(room, fault.byteCount - total) }
            if room == 0 {
                guard fault!.kind == .stall else { break }
                return end.state.withLock { $0.isStalled = true }
            }
            let count = recv(source, &buffer, room, 0)
            if end.state.withLock({ $0.isStalled }) { return }
            if count == 0 {
                // What goes the other way arrives, as without a proxy.
                shutdown(target, Int32(SHUT_WR))
                return
            }
            guard count > 0 else { break }
            total += count
            state.withLock { state in
                if isDown { state.traffic[index].down = total } else { state.traffic[index].up = total }
            }
            guard forward(buffer[..<count], to: target) else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    private func forward(_ bytes: ArraySlice<UInt8>, to target: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(target, $0.baseAddress!, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// What the two threads of a connection share.
private final class ConnectionEnd: Sendable {
    struct State {
        var isStalled = false
        var threads = 2
    }

    let state = Lock(State())
}
