import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeSystem
import BrumeTestKit
import Foundation
import Glibc
import Testing

/// The operator's socket, and who may not use it. What the operator does there is in the command line's tests.
@Suite("Hostile: the operator's door", .timeLimit(.minutes(3)))
struct HostileDoorTests {
    private typealias Method = HostileRequests.Method

    /// A process of another user is turned away, by the folder and, where that stands open, by the server, who asks the
    /// kernel.
    @Test("another user's process does not get in, not even past open permissions", .enabled(if: geteuid() == 0))
    func otherUser() async throws {
        try await RunningServer.running { server in
            let folder = FileSystem.directory(of: server.doorPath)
            #expect(try FileSystem.permissions(folder) == 0o700)
            #expect(try FileSystem.permissions(server.doorPath) == 0o600)
            #expect(try Self.nobodyConnects(to: server.doorPath) == "PermissionError")

            // The socket stands open, and so do its folder, the data folder and the test's.
            #expect(chmod(server.doorPath, 0o666) == 0)
            var path = folder
            for _ in 0..<3 {
                #expect(chmod(path, 0o755) == 0)
                path = FileSystem.directory(of: path)
            }
            #expect(try Self.nobodyConnects(to: server.doorPath) == "closed")
            try await server.log.wait(for: "a process of another user was sent away")
            try await server.expectServes(token: try server.addAccount("alice"))
        }
    }

    /// What a process of the user nobody meets who connects and says hello.
    private static func nobodyConnects(to path: String) throws -> String {
        let program = """
            import os, socket, sys
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(sys.argv[1])
                try: s.sendall(b"\\0" * 64)
                except BrokenPipeError: pass
                try: print("answered" if s.recv(1) else "closed")
                except ConnectionResetError: print("closed")
            except OSError as error: print(type(error).__name__)
            """
        let process = try ChildProcess(executable: "/usr/bin/python3", arguments: ["-c", program, path])
        let line = process.output.readLine(timeoutMilliseconds: 60_000)
        _ = process.wait()
        return line ?? "nothing"
    }

    @Test(
        "garbage on the socket ends its own connection with a sentence, and nothing else",
        arguments: [
            [UInt8](repeating: 0xFF, count: 64), [UInt8](repeating: 0, count: 64), Array("GET / HTTP/1.1\r\n\r\n".utf8),
            FrameClient.header(length: 0xFFFF_FFFF, type: 1),
        ])
    func garbage(bytes: [UInt8]) async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.connect(door: server.doorPath)
            peer.send(bytes)
            #expect(try await peer.endingStatus().isSentence)
            try await server.expectServes(token: try server.addAccount("alice"))
        }
    }

    @Test("who says nothing at the door is sent away when the time for a hello is over")
    func silent() async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let peer = try await FrameClient.connect(door: server.doorPath)
            #expect(try await peer.endingStatus().isSentence)
        }
    }

    @Test("who asks and never reads is cut off, and others are served meanwhile")
    func neverReads() async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let peer = try await server.adminClient()
            peer.pauseReading()
            // Far more answers than the socket and the output's limit hold; each is some kilobytes.
            for _ in 0..<64 { _ = try server.addAccount("a" + UUID().uuidString) }
            for _ in 0..<2_000 { peer.startCall(Method.adminListAccounts, []) }
            let other = try await server.adminClient()
            _ = try await other.succeed(Method.adminListAccounts, [])
            other.abort()
            try await server.log.wait(for: "the peer stopped reading")
            peer.resumeReading()
            _ = try await peer.closeReason()
            try await server.expectServes()
        }
    }

    @Test("an account's token opens nothing at the door, and the operator no database")
    func accounts() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.connect(door: server.doorPath)
            peer.sendFrame(.hello, payload: FrameClient.hello(token: token))
            #expect(try await peer.endingStatus().code == .notAuthenticated)
            let admin = try await server.adminClient()
            let status = try await admin.fail(Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
            #expect(status.code == .permissionFailure)
        }
    }

    @Test("the port takes no operator unless it is asked to, right token or wrong, and says where to go")
    func onPort() async throws {
        try await RunningServer.running { server in
            for token in [try server.adminToken(), "brume_" + String(repeating: "x", count: 40)] {
                let peer = try await FrameClient.connect(server)
                peer.sendFrame(
                    .hello, payload: FrameClient.hello(token: nil) + ProtobufField.encode([.text(7, token)]))
                let status = try await peer.endingStatus()
                #expect(status.code == .notAuthenticated)
                #expect(status.message.contains("--admin-on-port"))
            }
            // Nobody else has the methods there either.
            let account = try server.addAccount("alice")
            for token in [nil, account] {
                let peer = try await FrameClient.welcomed(server, token: token)
                for method in Array(UInt64(256)...268) + [272, 273, 274] {
                    #expect(try await peer.fail(method, []).code == .permissionFailure, "method \(method)")
                }
            }
        }
        try await RunningServer.running(adjust: { $0.takesOperatorOnPort = true }) { server in
            let hello = FrameClient.hello(token: nil) + ProtobufField.encode([.text(7, try server.adminToken())])
            let peer = try await FrameClient.connect(server, first: FrameWriter.frame(.hello, payload: hello))
            #expect(try await peer.nextFrame().type == .welcome)
            _ = try await peer.succeed(Method.adminListAccounts, [])
        }
    }

    @Test("more connections than the operator's commands can need are closed, and the door serves on")
    func tooMany() async throws {
        try await RunningServer.running { server in
            var peers: [FrameClient] = []
            for _ in 0..<64 { peers.append(try await server.adminClient()) }
            let oneMore = try await FrameClient.connect(door: server.doorPath)
            _ = try await oneMore.closeReason()
            for peer in peers { peer.abort() }
            while true {
                // Their ends take a moment to arrive.
                if let peer = try? await server.adminClient() {
                    _ = try await peer.succeed(Method.adminListAccounts, [])
                    break
                }
                try Task.checkCancellation()
            }
        }
    }

    @Test("a server that serves one container is administered whatever container the command names")
    func anyContainer() async throws {
        try await RunningServer.running(adjust: { $0.containers = ["iCloud.another"] }) { server in
            let admin = try await server.adminClient()
            _ = try await admin.succeed(Method.adminListAccounts, [])
        }
    }
}
