import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

@Suite("Hostile numbers of connections and calls", .timeLimit(.minutes(4)))
struct HostileConnectionTests {
    typealias Method = HostileRequests.Method

    /// A hello that must be refused.
    private func refusal(_ server: RunningServer, token: String?) async throws -> ReceivedStatus {
        let hello = FrameClient.hello(token: token)
        return try await FrameClient.connect(server, first: FrameWriter.frame(.hello, payload: hello)).endingStatus()
    }

    @Test("an account with all the connections that it may have is told so, and locks nobody else out")
    func connectionsOfAccount() async throws {
        try await RunningServer.running(adjust: { $0.connectionsPerAccount = 4 }) { server in
            let (alice, bob) = (try server.addAccount("alice"), try server.addAccount("bob"))
            var peers: [FrameClient] = []
            for device in 0..<4 {
                peers.append(try await FrameClient.welcomed(server, token: alice, device: UInt8(device)))
            }
            let status = try await refusal(server, token: alice)
            #expect(status.code == .requestRateLimited)
            #expect(status.retryAfterMilliseconds > 0)
            #expect(status.isSentence)
            try await server.expectServes(token: bob)
            // What was refused took no place, and one that ends leaves its own.
            peers[0].abort()
            try await peers[0].closeReason()
            while true {
                let hello = FrameWriter.frame(.hello, payload: FrameClient.hello(token: alice))
                if try await FrameClient.connect(server, first: hello).nextFrame().type == .welcome { break }
            }
        }
    }

    @Test("an address that opens connections without end is closed at its limit, and another address gets in")
    func connectionsOfAddress() async throws {
        // With one loop they are accepted in the order in which they came.
        func adjust(_ configuration: inout ServerConfiguration) {
            configuration.connectionsPerAddress = 8
            configuration.loopCount = 1
        }
        try await RunningServer.running(adjust: adjust) { server in
            let token = try server.addAccount("alice")
            let sockets = try (0..<40).map { _ in try PlainSocket(port: server.port, host: 2) }
            // The last ones are closed without a word.
            for socket in sockets[8...] { #expect(try socket.readToEnd(seconds: 20).isEmpty) }
            #expect(try await server.turnedAwayByAddress() == 32)
            try await server.expectServes(token: token)
            withExtendedLifetime(sockets) {}
        }
    }

    @Test("connections with an account don't count for their address")
    func accountsBehindOneAddress() async throws {
        try await RunningServer.running(adjust: { $0.connectionsPerAddress = 3 }) { server in
            let token = try server.addAccount("alice")
            var peers: [FrameClient] = []
            for device in 0..<10 {
                peers.append(try await FrameClient.welcomed(server, token: token, device: UInt8(device)))
            }
            for peer in peers { _ = try await peer.succeed(Method.healthCheck, []) }
        }
    }

    @Test("readers without an account get half of all connections, and are told when there are no more")
    func anonymousConnections() async throws {
        try await RunningServer.running(adjust: {
            $0.connections = 8
            $0.connectionsPerAddress = 8
            $0.connectionsPerAccount = 4
        }) { server in
            let token = try server.addAccount("alice")
            var peers: [FrameClient] = []
            for device in 0..<4 {
                peers.append(try await FrameClient.welcomed(server, token: nil, device: UInt8(device)))
            }
            let status = try await refusal(server, token: nil)
            #expect(status.code == .requestRateLimited)
            #expect(status.retryAfterMilliseconds > 0)
            let peer = try await FrameClient.welcomed(server, token: token)
            _ = try await peer.succeed(Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
            for peer in peers { _ = try await peer.succeed(Method.healthCheck, []) }
        }
    }

    @Test("a server with all the connections that it takes closes one more, and has room when one ends")
    func allConnections() async throws {
        try await RunningServer.running(adjust: {
            $0.connections = 4
            $0.connectionsPerAccount = 4
        }) { server in
            let token = try server.addAccount("alice")
            var peers: [FrameClient] = []
            for device in 0..<4 {
                peers.append(try await FrameClient.welcomed(server, token: token, device: UInt8(device)))
            }
            let socket = try PlainSocket(port: server.port, host: 2)
            #expect(try socket.readToEnd(seconds: 20).isEmpty)
            peers[0].abort()
            while (try? await FrameClient.welcomed(server, token: token)) == nil {}
        }
    }

    @Test("an account's open calls are bounded over all of its connections, and another account's are not touched")
    func callsOfAccount() async throws {
        try await RunningServer.running(adjust: { $0.callsPerAccount = 8 }) { server in
            let (alice, bob) = (try server.addAccount("alice"), try server.addAccount("bob"))
            let first = try await FrameClient.welcomed(server, token: alice, device: 1)
            let second = try await FrameClient.welcomed(server, token: alice, device: 2)
            let open = (0..<5).map { _ in first.openCall(Method.healthCheck) }
            // The server has read them all when it answers the pong that follows them.
            try await first.roundTrip()
            for _ in 0..<3 { _ = second.openCall(Method.healthCheck) }
            guard case .failure(let status) = try await second.answer(to: second.openCall(Method.healthCheck)) else {
                Issue.record("a ninth call was answered")
                return
            }
            #expect(status.code == .requestRateLimited)
            #expect(status.retryAfterMilliseconds > 0)
            #expect(status.isSentence)
            try await server.expectServes(token: bob)
            for stream in open { first.sendFrame(.message, stream: stream, isLast: true) }
            for _ in open { #expect(try await first.nextFrame().type == .message) }
            _ = try await second.succeed(Method.healthCheck, [])
            // A connection that ends takes its calls with it.
            second.abort()
            try await second.closeReason()
            let third = try await FrameClient.welcomed(server, token: alice, device: 3)
            var answered = 0
            while answered < 8 {
                if case .success = try await third.call(Method.healthCheck, []) { answered += 1 }
            }
        }
    }

    @Test("peers without an account who use up their address's connections and calls leave another address its own")
    func addresses() async throws {
        try await RunningServer.running(adjust: {
            $0.connectionsPerAddress = 4
            $0.callsPerAccount = 8
        }) { server in
            /// As many peers and open calls as an address may have; the call after them is refused.
            func useUp(host: UInt8, by proxy: FaultyProxy) async throws -> [FrameClient] {
                var peers: [FrameClient] = []
                for device in 0..<4 {
                    peers.append(
                        try await FrameClient.welcomed(server, token: nil, device: UInt8(device), port: proxy.port))
                }
                for peer in peers {
                    for _ in 0..<2 { _ = peer.openCall(Method.healthCheck) }
                    // The server has read them all when it answers the pong that follows them.
                    try await peer.roundTrip()
                }
                let refused = try await peers[0].answer(to: peers[0].openCall(Method.healthCheck))
                guard case .failure(let status) = refused else {
                    Issue.record("127.0.0.\(host) had a ninth call")
                    return peers
                }
                #expect(status.code == .requestRateLimited)
                return peers
            }
            let proxies = try [1, 2].map { try FaultyProxy(to: server.port, host: $0) }
            defer { for proxy in proxies { proxy.close() } }
            let others = try await useUp(host: 2, by: proxies[1])
            let socket = try PlainSocket(port: server.port, host: 2)
            #expect(try socket.readToEnd(seconds: 20).isEmpty, "a fifth connection of the address was taken")
            // The other one has as many of each.
            let own = try await useUp(host: 1, by: proxies[0])
            withExtendedLifetime((others, own)) {}
        }
    }

    @Test("an account's notification streams are bounded over all of its connections")
    func streamsOfAccount() async throws {
        try await RunningServer.running(adjust: { $0.connectionsPerAccount = 2 }) { server in
            let token = try server.addAccount("alice")
            let first = try await FrameClient.welcomed(server, token: token, device: 1)
            let second = try await FrameClient.welcomed(server, token: token, device: 2)
            _ = try await first.openNotifications()
            _ = try await second.openNotifications()
            guard
                case .failure(let status) = try await second.answer(to: second.openCall(Method.notificationsOpen))
            else {
                Issue.record("a third stream was opened")
                return
            }
            #expect(status.code == .requestRateLimited)
            #expect(status.retryAfterMilliseconds > 0)
            #expect(status.isSentence)
            _ = try await first.succeed(Method.healthCheck, [])
        }
    }
}

extension FrameClient {
    /// Returns when the server has read everything that was sent before.
    func roundTrip() async throws {
        sendFrame(.ping, payload: [UInt8](repeating: 0, count: 8))
        while try await nextFrame().type != .pong {}
    }
}

extension RunningServer {
    /// Connections that were closed because of their address, as the operator sees it.
    fileprivate func turnedAwayByAddress() async throws -> UInt64 {
        let admin = try await adminClient()
        defer { admin.abort() }
        return try await admin.succeed(HostileRequests.Method.adminStats, []).varint(43)
    }
}
