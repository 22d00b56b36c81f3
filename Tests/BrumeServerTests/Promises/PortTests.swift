import BrumeServer
import BrumeService
import BrumeTestKit
import Glibc
import Testing

@Suite("The server's port", .timeLimit(.minutes(4)))
struct PortTests {
    @Test(
        "port and folder are free when the server has stopped, also while a process that is being started has its descriptors"
    )
    func freePort() throws {
        let server = try RunningServer { $0.loopCount = 2 }
        // What a fork leaves behind until the program runs.
        let copies = Self.copiesOfDescriptors(listeningOn: server.port, lockedIn: server.dataFolder)
        defer { for copy in copies { close(copy) } }
        #expect(copies.count == 3)
        server.stop()
        try server.start()
        #expect(server.server.port == server.port)
    }

    /// Duplicates of this process's descriptors of the sockets that listen on a port, and of a folder's lock.
    private static func copiesOfDescriptors(listeningOn port: UInt16, lockedIn folder: String) -> [Int32] {
        (0..<Int32(4096)).filter { fd in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(fd)", &target, target.count - 1)
            if count <= 0 { return false }
            let bytes = target[..<count].map(UInt8.init(bitPattern:))
            if String(decoding: bytes, as: UTF8.self) == folder + "/lock" { return true }
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isNamed = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) == 0 }
            }
            var isListening: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size)
            return isNamed && isListening != 0 && UInt16(bigEndian: address.sin_port) == port
        }.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
    }

    @Test("a port that another server has is refused: clients would reach the one or the other by chance")
    func takenPort() async throws {
        try await RunningServer.running { first in
            let error = #expect(throws: ServerError.self) { try RunningServer { $0.port = first.port } }
            #expect(error?.code == .listen)
        }
    }
}
