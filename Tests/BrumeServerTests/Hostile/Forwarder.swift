import BrumeTestKit
import Foundation

/// One TCP connection to a server of this machine, which is there at once; who connects to ``port`` goes on with it.
final class Forwarder: Sendable {
    let port: UInt16

    /// - Parameter host: Where the server sees it come from: `127.0.0.` and this number.
    init(to serverPort: UInt16, host: UInt8 = 1) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var (address, origin) = (Self.address(0), Self.address(0, host: host))
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound =
            Self.with(&address) { bind(listener, $0, count) == 0 && getsockname(listener, $0, &count) == 0 }
            && Self.with(&origin) { bind(server, $0, count) } == 0
        port = UInt16(bigEndian: address.sin_port)
        var target = Self.address(serverPort)
        guard isBound, listen(listener, 1) == 0, Self.with(&target, { connect(server, $0, count) }) == 0 else {
            let number = errno
            for fd in [listener, server] { close(fd) }
            throw TestFailure("the forwarder can't be made: errno \(number)")
        }
        Thread.detachNewThread {
            let client = accept(listener, nil, nil)
            close(listener)
            let forth = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                Self.copy(from: client, to: server)
                forth.signal()
            }
            Self.copy(from: server, to: client)
            forth.wait()
            for fd in [client, server] { close(fd) }
        }
    }

    private static func copy(from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            if count <= 0 { break }
            _ = send(target, buffer, count, Int32(MSG_NOSIGNAL))
        }
        shutdown(target, Int32(SHUT_WR))
    }

    private static func address(_ port: UInt16, host: UInt8 = 1) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (UInt32(0x7f00_0000) + UInt32(host)).bigEndian
        return address
    }

    private static func with<Value>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Value
    ) -> Value {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
