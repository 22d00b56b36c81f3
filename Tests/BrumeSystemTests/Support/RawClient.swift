import Glibc

/// A blocking TCP socket without TLS, for peers that misbehave. Reads give up after ten seconds.
final class RawClient {
    private let fd: Int32

    init(port: UInt16) {
        fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, UInt32(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = UInt16(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, UInt32(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(result == 0, "cannot connect")
    }

    deinit { close(fd) }

    func write(_ bytes: [UInt8]) {
        _ = send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Everything until the peer's end; `nil` when there was none in time.
    func readToEnd() -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(fd, &buffer, buffer.count, 0)
            if count == 0 { return bytes }
            if count < 0 { return errno == ECONNRESET ? bytes : nil }
            bytes += buffer[..<count]
        }
    }
}
