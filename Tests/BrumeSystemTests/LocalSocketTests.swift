import BrumeTestKit
import Foundation
import Glibc
import Testing

@testable import BrumeSystem

@Suite("Unix sockets", .timeLimit(.minutes(1)))
struct LocalSocketTests {
    /// Answers each byte with itself.
    private final class Echo: ConnectionDelegate {
        func connectionEstablished(_ connection: Connection) {}
        func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) { connection.write(bytes) }
        func connectionDrained(_ connection: Connection) {}
        func connectionClosed(_ connection: Connection, reason: CloseReason) {}
    }

    /// Collects what comes until there is enough, or the end.
    private final class Client: ConnectionDelegate, @unchecked Sendable {
        private let expected: Int
        private let finished: (Result<[UInt8], CloseReasonError>) -> Void
        private var received: [UInt8] = []
        private var isFinished = false

        struct CloseReasonError: Error {
            let reason: CloseReason
        }

        init(expecting count: Int, _ finished: @escaping (Result<[UInt8], CloseReasonError>) -> Void) {
            expected = count
            self.finished = finished
        }

        func connectionEstablished(_ connection: Connection) {}
        func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
            received += bytes
            guard received.count >= expected, !isFinished else { return }
            isFinished = true
            finished(.success(received))
            connection.close()
        }
        func connectionDrained(_ connection: Connection) {}
        func connectionClosed(_ connection: Connection, reason: CloseReason) {
            if !isFinished { finished(.failure(CloseReasonError(reason: reason))) }
        }
    }

    private static func running(_ path: String, _ body: (EventLoop, LocalListener) async throws -> Void) async throws {
        let loop = try EventLoop(name: "sockets")
        let listener = try LocalListener(
            path: path, loop: loop, limits: ConnectionLimits(), refused: { _ in }, accept: { _ in Echo() })
        loop.start()
        try await body(loop, listener)
        loop.stop()
        loop.join()
        #expect(!FileSystem.exists(path))
    }

    /// Sends bytes to the socket and returns what came back.
    private static func exchange(_ bytes: [UInt8], at path: String, _ loop: EventLoop) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute {
                let client = Client(expecting: bytes.count) { continuation.resume(with: $0) }
                let connection = Connection.connect(socketPath: path, loop: loop, delegate: client)
                bytes.withUnsafeBytes { connection.write($0) }
            }
        }
    }

    @Test(
        "what is written on one side is read on the other, in its order, also far more than the socket holds",
        arguments: [1, 70_000, 8 * 1024 * 1024])
    func echo(count: Int) async throws {
        let folder = try TestFolder()
        let path = folder.path + "/door/socket"
        try await Self.running(path) { loop, _ in
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 257) }
            let answer = try await Self.exchange(bytes, at: path, loop)
            #expect(answer == bytes)
        }
    }

    @Test("a folder whose path is longer than an address may be is as good as any", arguments: [90, 110, 240])
    func longPath(length: Int) async throws {
        let temporary = try TestFolder()
        var folder = temporary.path
        while folder.utf8.count < length {
            folder += "/" + String(repeating: "d", count: min(100, max(1, length - folder.utf8.count - 1)))
            try FileSystem.makeDirectory(folder)
        }
        let path = folder + "/door/socket"
        #expect(try !LocalSocket.isListening(path))
        try await Self.running(path) { loop, _ in
            #expect(try LocalSocket.isListening(path))
            let answer = try await Self.exchange([1, 2, 3], at: path, loop)
            #expect(answer == [1, 2, 3])
        }
    }

    @Test("the socket that a killed process left behind is replaced, and nobody takes it for a server")
    func stale() async throws {
        let folder = try TestFolder()
        let path = folder.path + "/door/socket"
        try FileSystem.makeDirectory(folder.path + "/door", permissions: 0o755)
        let fd = try Socket.open(family: AF_UNIX)
        try LocalSocket.withAddress(path) { (address) throws(SystemError) in
            try SystemCall.run("bind") { address.with { bind(fd, $0, $1) } }
        }
        SystemCall.close(fd)
        #expect(FileSystem.exists(path))
        #expect(try !LocalSocket.isListening(path))
        try await Self.running(path) { loop, _ in
            #expect(try FileSystem.permissions(folder.path + "/door") == 0o700)
            let answer = try await Self.exchange([7], at: path, loop)
            #expect(answer == [7])
        }
    }

    @Test("a link in the place of the socket's folder is not followed")
    func link() throws {
        let folder = try TestFolder()
        try FileSystem.makeDirectory(folder.path + "/elsewhere", permissions: 0o755)
        #expect(symlink("elsewhere", folder.path + "/door") == 0)
        let loop = try EventLoop(name: "sockets")
        #expect(throws: SystemError.self) {
            try LocalListener(
                path: folder.path + "/door/socket", loop: loop, limits: ConnectionLimits(), refused: { _ in },
                accept: { _ in nil })
        }
        #expect(try FileSystem.permissions(folder.path + "/elsewhere") == 0o755)
        #expect(try FileSystem.list(folder.path + "/elsewhere").isEmpty)
    }

    @Test("the server's user and root may enter, and nobody else")
    func users() {
        #expect(LocalListener.mayEnter(user: 1_000, of: 1_000))
        #expect(LocalListener.mayEnter(user: 0, of: 1_000))
        #expect(!LocalListener.mayEnter(user: 1_001, of: 1_000))
        #expect(!LocalListener.mayEnter(user: 1_000, of: 0))
    }

    @Test("the end of a peer's stream is its good-bye")
    func endOfStream() async throws {
        let folder = try TestFolder()
        let path = folder.path + "/door/socket"
        let loop = try EventLoop(name: "sockets")
        let listener = try LocalListener(
            path: path, loop: loop, limits: ConnectionLimits(), refused: { _ in },
            accept: { connection in
                loop.execute { connection.close() }
                return Echo()
            })
        loop.start()
        let error = await #expect(throws: Client.CloseReasonError.self) {
            try await Self.exchange([], at: path, loop)
        }
        #expect(error?.reason == .peerClosed)
        loop.stop()
        loop.join()
        withExtendedLifetime(listener) {}
    }
}
