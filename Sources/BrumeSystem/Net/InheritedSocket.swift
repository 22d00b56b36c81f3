internal import Glibc

/// A socket that a service manager opened and listens on for this process (sd_listen_fds(3)): connections wait in it
/// while nobody accepts them.
package struct InheritedSocket: Sendable {
    /// The first descriptor that a manager hands over.
    private static let first: Int32 = 3
    private let fd: Int32

    /// What is wrong with what the manager handed over, for its administrator.
    package struct Problem: Error, Sendable {
        package let message: String
    }

    /// The socket that was handed over; nil where none was.
    ///
    /// - Parameters:
    ///   - count: What `LISTEN_FDS` says.
    ///   - process: What `LISTEN_PID` says: the process that they are for.
    package init?(count: String?, process: String?) throws(Problem) {
        guard let count, let process, Int32(process) == getpid(), let number = Int32(count), number > 0 else {
            return nil
        }
        guard number == 1 else {
            throw Problem(message: "the service manager hands over \(number) sockets, and one is served")
        }
        fd = Self.first
        var isListening: Int32 = 0
        var length = UInt32(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0,
            let address = try? Socket.localAddress(fd), [AF_INET, AF_INET6].contains(address.family)
        else {
            throw Problem(message: "the service manager hands over a socket that does not listen for TCP connections")
        }
        // It is for no process that this one starts, and no loop may wait in it.
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK)
    }

    /// Another descriptor of the socket, for one who accepts.
    func copy() throws(SystemError) -> Int32 {
        let fd = fd
        return try SystemCall.run("fcntl") { fcntl(fd, F_DUPFD_CLOEXEC, 3) }
    }
}
