import BrumeModel
import BrumeRandom
import BrumeServer
import BrumeService
import BrumeSystem
import BrumeTestKit
import Glibc
import Testing

@Suite("Hostile peers below TLS", .timeLimit(.minutes(4)))
struct HostileTransportTests {
    private static let noTLS: [[UInt8]] = [
        Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
        [UInt8](repeating: 0, count: 1024),
        [UInt8](repeating: 0xff, count: 100_000),
        // A hello in the clear.
        FrameClient.header(length: 4, type: 1) + [8, 1, 18, 0],
        // A TLS record that announces more than a record may hold.
        [22, 3, 1, 0xff, 0xff] + [UInt8](repeating: 1, count: 200),
        // A handshake message of a type that does not exist.
        [22, 3, 1, 0, 8, 99, 0, 0, 4, 1, 2, 3, 4],
    ]

    @Test("bytes that are no TLS end the connection and nothing else", arguments: noTLS.map(ByteArgument.init))
    func garbage(bytes: ByteArgument) async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let socket = try PlainSocket(port: server.port)
            socket.send(bytes.bytes)
            let answer = try socket.readToEnd(seconds: 20)
            // At most a TLS alert: never a frame, never a word of plaintext.
            #expect(answer.isEmpty || answer[0] == 21)
            try await server.expectServes()
        }
    }

    @Test("random bytes end the connection and nothing else")
    func randomBytes() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            for _ in 0..<50 {
                let socket = try PlainSocket(port: server.port)
                let count = Int.random(in: 1...2_000, using: &random)
                var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                if Bool.random(using: &random) { bytes = [22, 3, 1] + bytes }
                socket.send(bytes)
                let answer = try socket.readToEnd(seconds: 20)
                #expect(answer.isEmpty || answer[0] == 21, "seed \(seed)")
            }
            try await server.expectServes()
        }
    }

    @Test("a peer that stops in the middle of the handshake is closed at the deadline", arguments: [0, 1, 5, 100])
    func handshakeStops(byteCount: Int) async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let socket = try PlainSocket(port: server.port)
            // The beginning of a ClientHello of 512 bytes.
            let begin: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3] + [UInt8](repeating: 9, count: 200)
            socket.send(Array(begin.prefix(byteCount)))
            try await server.expectServes()
            _ = try socket.readToEnd(seconds: 20)
            try await server.expectServes()
        }
    }

    @Test("a thousand connections that say nothing are closed, and keep nobody out")
    func silence() async throws {
        var descriptors = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        descriptors.rlim_cur = min(descriptors.rlim_max, max(descriptors.rlim_cur, 8_192))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)

        func adjust(_ configuration: inout ServerConfiguration) {
            RunningServer.shortDeadlines(&configuration)
            configuration.connectionsPerAddress = 10_000
        }
        try await RunningServer.running(adjust: adjust) { server in
            let silent = try (0..<1_000).map { _ in try PlainSocket(port: server.port) }
            try await server.expectServes()
            for socket in silent { _ = try socket.readToEnd(seconds: 20) }
            try await server.expectServes()
        }
    }

    @Test("a handshake without a hello ends at the deadline, with a sentence")
    func noHello() async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let peer = try await FrameClient.connect(server)
            let status = try await peer.endingStatus()
            #expect(status.code == .networkFailure)
            #expect(status.isSentence)
            try await server.expectServes()
        }
    }

    @Test("a peer that cuts the line in the middle of a request leaves nothing behind")
    func vanishes() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            for _ in 0..<20 {
                let peer = try await FrameClient.welcomed(server, token: token)
                let stream = peer.openCall(HostileRequests.Method.recordsModify)
                peer.send(FrameClient.header(length: 1_000_000, type: 4, flags: 1, stream: stream) + [1, 2, 3])
                _ = await peer.pendingOutputBytes()
                peer.abort()
            }
            try await server.expectServes(token: token)
        }
    }
}
