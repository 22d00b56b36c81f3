import BrumeTestKit
import BrumeLock
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeServer
import BrumeSystem
import Foundation
import Testing

/// What clients are told while the server stops.
@Suite("A server that drains", .timeLimit(.minutes(4)))
struct DrainTests {
    /// Begins to stop a server that is kept from it by one call; `body` runs meanwhile.
    private static func draining(
        before: (RunningServer) async throws -> Void = { _ in },
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        func adjust(_ configuration: inout ServerConfiguration) {
            (configuration.loopCount, configuration.drainTimeoutMilliseconds) = (1, 60_000)
        }
        try await RunningServer.running(adjust: adjust) { server in
            let busy = try await FrameClient.welcomed(server, token: nil)
            let call = busy.openCall(HostileRequests.Method.healthCheck)
            // It is open once the next one is answered.
            _ = try await busy.succeed(HostileRequests.Method.healthCheck, [])
            try await before(server)
            server.server.drain()
            #expect(try await busy.nextFrame().type == .goaway)
            try await body(server)
            busy.sendFrame(.message, stream: call, isLast: true)
            _ = try await busy.answer(to: call).get()
        }
    }

    private static func expectRefusal(
        _ peer: FrameClient, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let first = try await peer.nextFrame()
        #expect(first.type == .status && first.stream == 0, sourceLocation: sourceLocation)
        let status = ReceivedStatus(first.payload)
        #expect(status.code == .serviceUnavailable, sourceLocation: sourceLocation)
        #expect(status.retryAfterMilliseconds > 0, sourceLocation: sourceLocation)
        #expect(status.isSentence, sourceLocation: sourceLocation)
        try await peer.closeReason()
    }

    @Test("a hello that comes while the server drains is refused with a time to come back")
    func hello() async throws {
        let waiting = Lock<FrameClient?>(nil)
        try await Self.draining { server in
            let peer = try await FrameClient.connect(server)
            waiting.withLock { $0 = peer }
        } _: { _ in
            let peer = try #require(waiting.withLock { $0 })
            peer.sendFrame(.hello, payload: FrameClient.hello(token: nil))
            try await Self.expectRefusal(peer)
        }
    }

    @Test("a client that has not said hello when the server has drained is told the same")
    func silence() async throws {
        try await RunningServer.running(adjust: { $0.loopCount = 1 }) { server in
            let peer = try await FrameClient.connect(server)
            // The server's end is open too when a later one has been welcomed.
            _ = try await FrameClient.welcomed(server, token: nil, device: 9)
            server.server.drain()
            try await Self.expectRefusal(peer)
        }
    }

    @Test("a connection whose handshake ends while the server drains is refused in the same way")
    func handshake() async throws {
        let early = Lock<FaultyProxy?>(nil)
        try await Self.draining { server in
            let proxy = try FaultyProxy(to: server.port, connectsAtOnce: true)
            early.withLock { $0 = proxy }
            // The server has accepted it when it has accepted a later one.
            _ = try await FrameClient.welcomed(server, token: nil, device: 9)
        } _: { server in
            let proxy = try #require(early.withLock { $0 })
            defer { proxy.close() }
            let hello = FrameWriter.frame(.hello, payload: FrameClient.hello(token: nil))
            let peer = try await FrameClient.connect(server, port: proxy.port, first: hello)
            try await Self.expectRefusal(peer)
        }
    }

    @Test("notification streams end with a status and a time to come back, unary calls are answered")
    func streams() throws {
        let server = try SteppedServer()
        let coder = MessageCoder()
        let peer = try server.connect(account: "a")
        let stream = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
        server.settle()
        // One that is not open yet ends too.
        let other = try server.connect(account: "a", device: 4)
        let opening = other.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
        _ = (peer.takeFrames(), other.takeFrames())
        server.drain()
        let call = peer.start(.zonesList, coder.encodeListZonesRequest(.private))
        server.settle()
        for (peer, stream) in [(peer, stream), (other, opening)] {
            let frames = peer.frames.filter { $0.stream == stream || $0.stream == 0 }
            #expect(frames.map(\.type) == [.goaway, .status])
            let status = try #require(frames.last).payload.withUnsafeBytes { try coder.decodeStatus($0) }
            #expect(status.code == ErrorCode.serviceUnavailable.rawValue)
            #expect(status.retryAfterMilliseconds > 0)
            #expect(peer.isOpen)
        }
        #expect(peer.frames.contains { $0.stream == call && $0.type == .message })
    }

    @Test("a hello whose answer is on its way when the server begins to drain is refused, and not welcomed first")
    func helloOnItsWay() throws {
        let server = try SteppedServer()
        let peer = server.greet(account: "a")
        try #require(peer.frames.isEmpty)
        server.drain()
        server.settle()
        let frames = peer.takeFrames()
        #expect(frames.map(\.type) == [.status] && frames[0].stream == 0)
        let status = try frames[0].payload.withUnsafeBytes { try MessageCoder().decodeStatus($0) }
        #expect(status.code == ErrorCode.serviceUnavailable.rawValue)
        #expect(status.retryAfterMilliseconds > 0)
        #expect(!peer.isOpen)
    }
}
