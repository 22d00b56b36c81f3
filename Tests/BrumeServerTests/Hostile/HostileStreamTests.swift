import BrumeModel
import BrumeServer
import BrumeTestKit
import BrumeWire
import Testing

/// What one session may leave undone for another loop, on a server whose turns the test makes: until then nothing is
/// done.
@Suite("Hostile notification streams")
struct HostileStreamTests {
    @Test("a client that opens and cancels notification streams as fast as it can waits for the public database's loop")
    func streamFlood() throws {
        let server = try SteppedServer()
        let peer = try server.connection(account: "a")
        peer.waitsWhilePaused = true
        var sent = 0
        while !peer.isReadingPaused, sent < 1_000 {
            let stream = peer.start(
                .notificationsOpen, MessageCoder().encodeNotificationsRequest(position: []), isLast: false)
            peer.send(.cancel, stream: stream)
            sent += 1
        }
        #expect(sent < 20, "the loop's mailbox holds \(sent) openings and ends")
        // When the loop has answered, reading goes on, and the stream that is opened last is ready.
        let last = peer.start(
            .notificationsOpen, MessageCoder().encodeNotificationsRequest(position: []), isLast: false)
        server.settle()
        #expect(!peer.isReadingPaused)
        peer.deliver()
        server.settle()
        #expect(peer.frames.contains { $0.stream == last && $0.type == .message })
    }

    @Test("acknowledgements earn credit when the public database knows them, and of many the newest goes there")
    func acknowledgementsEarnCreditLate() throws {
        let server = try SteppedServer { $0.connectionLimits.streamCredit = 8 }
        let author = try server.connect(account: "b")
        let peer = try server.connection(account: "a", device: 3)
        let coder = MessageCoder()
        let stream = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
        server.settle()
        // Positions of before and after a commit there.
        let before = try #require(position(in: peer.takeFrames(), of: stream))
        let client = SteppedPeer(server: server, connection: try server.connection(account: "a", device: 4))
        try client.subscribe(
            Subscription(
                id: "s",
                kind: .query(
                    QuerySubscription(recordType: "Note", predicate: .constant(true), options: .creation))), in: .public
        )
        try author.save(["x"], database: .public)
        server.settle()
        let after = try #require(position(in: peer.takeFrames(), of: stream))
        #expect(before != after)
        for index in 0..<7 {
            peer.send(
                .message, stream: stream,
                payload: coder.encodeNotificationsRequest(position: index % 2 == 0 ? after : before))
        }
        #expect(!peer.frames.contains { $0.type == .credit }, "credit came before the work")
        server.settle()
        #expect(peer.frames.contains { $0.type == .credit })
    }

    private func position(in frames: [FramePeer.Frame], of stream: UInt32) -> [UInt8]? {
        frames.last { $0.stream == stream && $0.type == .message }.flatMap { ProtobufReader($0.payload)?.bytes(1) }
    }
}
