internal import CBrume
internal import Glibc

/// The calls on TCP sockets that connections and listeners need. All sockets are non-blocking and close on exec.
enum Socket {
    /// What a read came to.
    enum ReadOutcome {
        case bytes(Int)
        case endOfStream
        case wouldBlock
    }

    static func open(family: Int32) throws(SystemError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return try SystemCall.run("socket") { socket(family, type, 0) }
    }

    static func setOption(_ fd: Int32, _ level: Int32, _ name: Int32, _ value: Int32) throws(SystemError) {
        var value = value
        try SystemCall.run("setsockopt") { setsockopt(fd, level, name, &value, 4) }
    }

    /// Sends small frames at once; the loop joins them itself.
    private static func disableDelay(_ fd: Int32) throws(SystemError) {
        try setOption(fd, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// Sets what every TCP connection needs: its frames are sent at once, and little waits in the kernel.
    static func prepare(_ fd: Int32, sendBufferBytes: Int?) throws(SystemError) {
        try disableDelay(fd)
        try setOption(fd, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Limits.kernelUnsentBytes)
        if let sendBufferBytes { try setOption(fd, SOL_SOCKET, SO_SNDBUF, Int32(clamping: sendBufferBytes)) }
    }

    /// Begins to connect.
    /// - Returns: Whether it is done already; otherwise the socket becomes writable when it is, or has failed.
    static func connect(_ fd: Int32, to address: SocketAddress) throws(SystemError) -> Bool {
        let result = address.with { Glibc.connect(fd, $0, $1) }
        if result == 0 { return true }
        let code = errno
        // Interrupted: it goes on in the background like EINPROGRESS.
        if code == EINPROGRESS || code == EINTR { return false }
        throw SystemError(call: "connect", errno: code, context: address.description)
    }

    /// The result of a connect in the background.
    static func connectResult(_ fd: Int32, _ address: SocketAddress) throws(SystemError) {
        var code: Int32 = 0
        var length: UInt32 = 4
        try SystemCall.run("getsockopt") { getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) }
        if code != 0 { throw SystemError(call: "connect", errno: code, context: address.description) }
    }

    static func read(_ fd: Int32, _ target: UnsafeMutableRawBufferPointer) throws(SystemError) -> ReadOutcome {
        let outcome = try SystemCall.runNonBlocking("recv") { recv(fd, target.baseAddress, target.count, 0) }
        switch outcome {
        case .wouldBlock: return .wouldBlock
        case .done(0): return .endOfStream
        case .done(let count): return .bytes(count)
        }
    }

    /// - Returns: How many bytes the kernel took.
    static func write(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        // A write to a closed peer has to fail with an error, never with a signal.
        let outcome = try SystemCall.runNonBlocking("send") {
            send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        switch outcome {
        case .wouldBlock: return 0
        case .done(let count): return count
        }
    }

    static func shutDownWriting(_ fd: Int32) {
        _ = shutdown(fd, Int32(SHUT_WR))
    }

    /// - Returns: `nil` when no connection waits to be accepted.
    static func accept(_ listener: Int32) throws(SystemError) -> (fd: Int32, peer: SocketAddress)? {
        var fd: Int32 = -1
        let peer = try SocketAddress { (address, length) throws(SystemError) in
            let outcome = try SystemCall.runNonBlocking("accept4") { brume_accept(listener, address, length) }
            if case .done(let value) = outcome { fd = Int32(value) }
        }
        return fd < 0 ? nil : (fd, peer)
    }

    static func localAddress(_ fd: Int32) throws(SystemError) -> SocketAddress {
        try SocketAddress { (address, length) throws(SystemError) in
            try SystemCall.run("getsockname") { getsockname(fd, address, length) }
        }
    }
}
