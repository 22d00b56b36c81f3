internal import BrumeLock
internal import BrumeTestKit
internal import Foundation

/// A TCP proxy before a server that harms connections: each one as the next fault of a list says, the others not at
/// all.
///
/// Plain sockets, two threads a connection. Closed with ``close()``.
final class FaultyProxy: Sendable {
    /// What happens to a connection when so many bytes have gone one way.
    struct Fault: Sendable {
        enum Kind: Sendable {
            /// Both sides are closed; what is under way is lost.
            case cut
            /// Nothing goes on, in either direction, and nothing is closed.
            case stall
        }

        var kind = Kind.cut
        var isDown: Bool
        var byteCount: Int
    }

    /// The bytes that went through a connection.
    struct Traffic: Sendable {
        var up = 0
        var down = 0
    }

    private struct State {
        var faults: [Fault] = []
        var traffic: [Traffic] = []
        var sockets: [Int32] = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let listener: Int32
    private let target: UInt16
    let port: UInt16

    var address: String { "127.0.0.1:\(port)" }
    /// Connections so far.
    var traffic: [Traffic] { state.withLock { $0.traffic } }
    /// Faults that no connection has had yet.
    var faultsLeft: Int { state.withLock { $0.faults.count } }

    /// - Parameter server: `host:port` of the server, on this machine.
    init(server: String) throws {
        target = UInt16(server.split(separator: ":").last ?? "") ?? 0
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) | listen(listener, 64) | getsockname(listener, pointer, &length)
            }
        }
        guard status == 0 else { throw TestFailure("no socket for the proxy: errno \(errno)") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    /// The connections to come have these, one each.
    func add(_ faults: [Fault]) { state.withLock { $0.faults += faults } }

    /// Ends the connections that there are.
    func cutAll() {
        for fd in state.withLock({ $0.sockets }) { shutdown(fd, Int32(SHUT_RDWR)) }
    }

    func close() {
        let sockets = state.withLock { state in
            state.isClosed = true
            return state.sockets
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for fd in sockets { shutdown(fd, Int32(SHUT_RDWR)) }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func accept() {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            if client < 0 {
                if state.withLock({ $0.isClosed }) { break }
                continue
            }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.loopback(port: target)
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            let (index, fault) = state.withLock { state in
                state.sockets += [client, server]
                state.traffic.append(Traffic())
                return (state.traffic.count - 1, state.faults.isEmpty ? nil : state.faults.removeFirst())
            }
            if status != 0 {
                state.withLock { $0.sockets.removeAll { $0 == client || $0 == server } }
                Foundation.close(client)
                Foundation.close(server)
                continue
            }
            let end = ConnectionEnd()
            Thread.detachNewThread { [self] in
                pump(index, fault, end, isDown: false, from: client, to: server)
                ended(end, client, server)
            }
            Thread.detachNewThread { [self] in
                pump(index, fault, end, isDown: true, from: server, to: client)
                ended(end, client, server)
            }
        }
        Foundation.close(listener)
    }

    /// The last of a connection's two threads closes its sockets.
    private func ended(_ end: ConnectionEnd, _ client: Int32, _ server: Int32) {
        let isLast = end.state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        guard isLast else { return }
        state.withLock { $0.sockets.removeAll { $0 == client || $0 == server } }
        Foundation.close(client)
        Foundation.close(server)
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
