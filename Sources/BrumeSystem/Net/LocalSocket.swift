internal import CBrume
internal import Glibc

/// Unix sockets by their path: how processes of one machine reach each other without a port.
package enum LocalSocket {
    /// The longest path in bytes that the kernel takes, with the zero at its end.
    private static let pathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

    /// Calls `body` with the address of the socket at `path`.
    ///
    /// The kernel takes 107 bytes of path. A longer one is reached through a descriptor of its folder and `/proc`,
    /// where the path is short whatever the folder is called.
    @discardableResult
    static func withAddress<Result>(
        _ path: String, _ body: (SocketAddress) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        if let address = address(path) { return try body(address) }
        let folder = FileSystem.directory(of: path)
        let fd = try SystemCall.run("open", folder) { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { SystemCall.close(fd) }
        let throughProc = "/proc/self/fd/\(fd)"
        guard FileSystem.isDirectory(throughProc), let address = address(throughProc + "/" + path.utf8Name) else {
            throw SystemError(
                call: "bind", errno: ENAMETOOLONG, context: path,
                message: "a socket's path has at most \(pathBytes - 1) bytes; choose a folder with a shorter one")
        }
        return try body(address)
    }

    /// The address of `path`. Returns nil when the path is too long or has a zero byte.
    private static func address(_ path: String) -> SocketAddress? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < pathBytes, !bytes.contains(0) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                SocketAddress($0, length: UInt32(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Whether a process listens at `path`. Connects, and disconnects at once.
    /// - Throws: Any error other than those that mean that nobody listens, such as a missing permission of this user.
    package static func isListening(_ path: String) throws(SystemError) -> Bool {
        let fd = try Socket.open(family: AF_UNIX)
        defer { SystemCall.close(fd) }
        do throws(SystemError) {
            try connect(fd, path)
            return true
        } catch {
            switch error.errno {
            case ENOENT, ECONNREFUSED, ENOTDIR: return false
            // The backlog is full: somebody listens.
            case EAGAIN: return true
            default: throw error
            }
        }
    }

    /// Connects. On one machine this succeeds or fails at once.
    static func connect(_ fd: Int32, _ path: String) throws(SystemError) {
        try withAddress(path) { (address) throws(SystemError) in
            try SystemCall.run("connect", path) { address.with { Glibc.connect(fd, $0, $1) } }
        }
    }

    /// The process and the user at the other end of a connected socket, as the kernel recorded them when it connected.
    static func peer(of fd: Int32) throws(SystemError) -> (process: Int32, user: UInt32) {
        var (process, user): (Int32, UInt32) = (0, 0)
        try SystemCall.run("getsockopt") { brume_peer(fd, &process, &user) }
        return (process, user)
    }
}

extension String {
    /// The last part of a path.
    fileprivate var utf8Name: Substring {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { self[utf8.index(after: $0)...] } ?? self[...]
    }
}
