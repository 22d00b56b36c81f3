internal import Glibc

/// Tells the service manager that started the process what it is doing: sd_notify(3), a datagram with lines of
/// `NAME=value` to the socket that `NOTIFY_SOCKET` names.
///
/// Nothing depends on it: what can't be sent is dropped.
package struct ServiceNotifier: Sendable {
    package enum State: Equatable, Sendable {
        /// The service does what it is for.
        case ready
        /// It reads its configuration again; ``ready`` follows. The manager orders these by the time since boot.
        case reloading(nowMicroseconds: UInt64)
        case stopping
        /// A sentence for who asks how it is. What would end the line becomes a space.
        case status(String)
        /// It is alive: what watches it has looked just now.
        case watchdog
        /// Starting or stopping takes longer: not to be given up before so much time is over, from now.
        case extendedTimeout(microseconds: UInt64)
    }

    /// The longest status in bytes: more is of no use to who reads it.
    private static let statusBytesMax = 512
    /// A manager that does not read keeps nobody waiting for longer.
    private static let sendTimeoutSeconds = 2

    private let address: SocketAddress

    /// - Parameter socket: What `NOTIFY_SOCKET` says: a path from the root, or with `@` in front an abstract name.
    ///   Nil for nothing and for all else, such as sockets of virtual machines.
    package init?(socket: String?) {
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@"), socket.utf8.count > 1 else { return nil }
        var name = Array(socket.utf8)
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path), !name.dropFirst().contains(0) else {
            return nil
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        // An abstract name has no zero at its end.
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count + (name[0] == 0 ? 0 : 1)
        self.address = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0, length: UInt32(length)) }
        }
    }

    /// Sends states together: the manager takes all of them or none.
    package func send(_ states: State...) { send(states) }

    package func send(_ states: [State]) {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let fd = socket(AF_UNIX, type, 0)
        guard fd >= 0 else { return }
        defer { SystemCall.close(fd) }
        var timeout = timeval(tv_sec: Self.sendTimeoutSeconds, tv_usec: 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, UInt32(MemoryLayout<timeval>.size))
        let text = Array(Self.text(states).utf8)
        _ = address.with { sendto(fd, text, text.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }

    /// The states as the manager reads them.
    static func text(_ states: [State]) -> String {
        states.map { state in
            switch state {
            case .ready: "READY=1\n"
            case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)\n"
            case .stopping: "STOPPING=1\n"
            case .status(let sentence): "STATUS=\(line(sentence))\n"
            case .watchdog: "WATCHDOG=1\n"
            case .extendedTimeout(let microseconds): "EXTEND_TIMEOUT_USEC=\(microseconds)\n"
            }
        }.joined()
    }

    private static func line(_ sentence: String) -> String {
        var line = ""
        for scalar in sentence.unicodeScalars {
            let next = scalar.properties.generalCategory == .control ? " " : scalar
            if line.utf8.count + UTF8.width(next) > statusBytesMax { break }
            line.unicodeScalars.append(next)
        }
        return line
    }
}
