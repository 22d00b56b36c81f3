internal import Glibc

/// A TCP socket without TLS, for bytes that no TLS library would send. Does not block.
package final class PlainSocket {
    private let fd: Int32

    /// Connects to a port of this machine.
    /// - Parameter host: Where from: `127.0.0.` and this number.
    package init(port: UInt16, host: UInt8 = 1) throws {
        fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { throw TestFailure("socket: errno \(errno)") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if host != 1 {
            address.sin_addr.s_addr = (UInt32(0x7f00_0000) + UInt32(host)).bigEndian
            _ = withUnsafeBytes(of: &address) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { bind(fd, $0.baseAddress!, socklen_t(bytes.count)) }
            }
        }
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { connect(fd, $0.baseAddress!, socklen_t(bytes.count)) }
        }
        guard result == 0 else { throw TestFailure("connect: errno \(errno)") }
    }

    deinit { close(fd) }

    package func send(_ bytes: [UInt8]) {
        // A server that has closed already is a fine answer: no signal, no check.
        _ = Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// What the server sent until it closed; fails after `seconds`.
    package func readToEnd(seconds: Int = 20) throws -> [UInt8] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        var waited = 0
        while true {
            var descriptor = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 1000) > 0 else {
                waited += 1
                if waited >= seconds {
                    throw TestFailure("the server did not close within \(seconds) s")
                }
                continue
            }
            let count = recv(fd, &buffer, buffer.count, 0)
            if count <= 0 { return received }
            received += buffer[..<count]
        }
    }
}
