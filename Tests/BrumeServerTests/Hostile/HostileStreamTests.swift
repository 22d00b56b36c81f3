import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

/// What one session may leave undone for another loop, on a server whose turns the test makes: until then nothing is
/// done.
@Suite("Hostile notification streams")
struct HostileStreamTests {
    @Test("a client that opens and cancels notification streams as fast as it can waits for the public database's loop")
    func streamFlood() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
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
        let peer = try server.connect(account: "a", device: 3)
        let coder = MessageCoder()
        let stream = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
        server.settle()
        // Positions of before and after a commit there.
        let before = try #require(position(in: peer.takeFrames(), of: stream))
        let client = try server.connect(account: "a", device: 4)
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

    @Test("an acknowledgement with last has its effect, and then the stream ends with success")
    func lastAcknowledgement() throws {
        let server = try SteppedServer()
        let author = try server.connect(account: "a", device: 4)
        try author.makeZone("Notes")
        try author.subscribe(Subscription(id: "s", kind: .database(recordType: "")))
        let coder = MessageCoder()
        let peer = try server.connect(account: "a", device: 3)
        func open() -> UInt32 {
            let stream = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: false)
            server.settle()
            return stream
        }
        let stream = open()
        #expect(position(in: peer.takeFrames(), of: stream) != nil)
        try author.save(["x"], zone: ZoneID(name: "Notes"))
        let event = try #require(position(in: peer.takeFrames(), of: stream))
        let request = coder.encodeNotificationsRequest(position: event)
        peer.send(.message, stream: stream, isLast: true, payload: request)
        #expect(try status(in: peer.takeFrames(), of: stream) == .success)
        // Another message is late, and the event does not come again.
        peer.send(.message, stream: stream, payload: request)
        let again = open()
        let frames = peer.takeFrames()
        #expect(frames.map(\.stream) == [again] && frames[0].type == .message)
        #expect(ProtobufReader(frames[0].payload)?.has(8) == true)
    }

    @Test("a first message with last opens the stream, which then ends with success")
    func lastOpening() throws {
        let server = try SteppedServer()
        let coder = MessageCoder()
        let peer = try server.connect(account: "a", device: 3)
        let request = coder.encodeNotificationsRequest(position: [])
        let open = peer.start(.notificationsOpen, request, isLast: false)
        server.settle()
        _ = peer.takeFrames()
        let last = peer.start(.notificationsOpen, request, isLast: true)
        server.settle()
        let frames = peer.takeFrames()
        #expect(try status(in: frames, of: last) == .success)
        // It was opened: a device has one stream.
        #expect(try status(in: frames, of: open)?.code == ErrorCode.operationCancelled.rawValue)
        // What can't be opened fails as ever.
        let bad = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: [1, 2, 3]), isLast: true)
        server.settle()
        let statuses = peer.takeFrames().filter { $0.stream == bad }
        #expect(statuses.count == 1)
        #expect(try status(in: statuses, of: bad)?.code == ErrorCode.invalidArguments.rawValue)
        #expect(peer.isOpen)
    }

    @Test("a stream that ends while its database is being loaded ends when what it said has had its effect")
    func lastWhileLoading() throws {
        let disk = SimulatedDisk()
        let coder = MessageCoder()
        do {
            let server = try SteppedServer(disk: disk)
            let author = try server.connect(account: "a", device: 4)
            try author.save((0..<400).map { "r\($0)" })
            server.snapshot()
            author.disconnect()
            server.settle()
            disk.endProcess()
        }
        let server = try SteppedServer(disk: disk) { $0.shortLoadBytes = 0 }
        server.isLoaderHeld = true
        let peer = try server.connect(account: "a", device: 3)
        _ = peer.takeFrames()
        let stream = peer.start(.notificationsOpen, coder.encodeNotificationsRequest(position: []), isLast: true)
        server.settle()
        #expect(peer.takeFrames().isEmpty)
        server.isLoaderHeld = false
        server.settle()
        let frames = peer.takeFrames()
        #expect(frames.count == 1)
        #expect(try status(in: frames, of: stream) == .success)
    }

    private func status(in frames: [ReceivedFrame], of stream: UInt32) throws -> CallStatus? {
        guard let frame = frames.last(where: { $0.stream == stream && $0.type == .status }) else { return nil }
        return try frame.payload.withUnsafeBytes { try MessageCoder().decodeStatus($0) }
    }

    private func position(in frames: [ReceivedFrame], of stream: UInt32) -> [UInt8]? {
        frames.last { $0.stream == stream && $0.type == .message }.flatMap { ProtobufReader($0.payload)?.bytes(1) }
    }
}
