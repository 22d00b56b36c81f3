import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

@Suite("Hostile flow", .timeLimit(.minutes(4)))
struct HostileFlowTests {
    typealias Method = HostileRequests.Method

    static let notes = HostileRequests.zone("Notes")

    @Test("one call more than allowed fails with requestRateLimited and a time to come back")
    func tooManyCalls() async throws {
        try await RunningServer.running(adjust: { $0.connectionLimits.concurrentCalls = 8 }) { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let open = (0..<8).map { _ in peer.openCall(Method.healthCheck) }
            let refused = peer.openCall(Method.healthCheck)
            guard case .failure(let status) = try await peer.answer(to: refused) else {
                Issue.record("a ninth call was answered")
                return
            }
            #expect(status.code == .requestRateLimited)
            #expect(status.retryAfterMilliseconds > 0)
            #expect(status.isSentence)
            // The refused one cost the others nothing, and its place is free again.
            for stream in open { peer.sendFrame(.message, stream: stream, isLast: true) }
            for _ in open { #expect(try await peer.nextFrame().type == .message) }
            _ = try await peer.succeed(Method.healthCheck, [])
            try await server.expectServes()
        }
    }

    @Test("a client that fetches large pages and never reads is no longer read, and closed in the end")
    func neverReads() async throws {
        try await RunningServer.running(adjust: RunningServer.shortDeadlines) { server in
            let token = try server.addAccount("alice")
            let writer = try await FrameClient.welcomed(server, token: token)
            try await writer.makeZone("Notes")
            for name in ["a", "b"] {
                let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 900_000))
                try await writer.take(
                    HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save(name, fields: [field])]))
            }

            let residentBefore = ResidentMemory.byteCount
            let peer = try await FrameClient.welcomed(server, token: token, device: 8)
            peer.pauseReading()
            // Answers of 40 GB, if the server made them all.
            for _ in 0..<200 {
                for _ in 0..<100 { peer.startCall(Method.recordsChanges, HostileRequests.changes(zone: Self.notes)) }
                // Others are served all the while.
                _ = try await writer.succeed(Method.healthCheck, [])
            }
            // What the tests beside this one take is counted too.
            #expect(ResidentMemory.byteCount - residentBefore < 1024 * 1024 * 1024)
            // It reads nothing for longer than the server allows.
            try await peer.expectToBeCut(by: server)
            try await server.expectServes(token: token)
        }
    }

    @Test("a client that reads slowly gets every answer")
    func readsSlowly() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("Notes")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 500_000))
            try await peer.take(
                HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("a", fields: [field])]))
            peer.pauseReading()
            var expected = Set(
                (0..<60).map { _ in
                    peer.startCall(Method.recordsFetch, HostileRequests.fetch(zone: Self.notes, names: ["a"]))
                })
            _ = await peer.pendingOutputBytes()
            peer.resumeReading()
            while !expected.isEmpty {
                let frame = try await peer.nextFrame()
                #expect(frame.type == .message)
                #expect(frame.payload.count > 500_000)
                #expect(expected.remove(frame.stream) != nil)
            }
        }
    }

    @Test("a client that takes longer to read than it may be silent is not taken for a dead one")
    func slowIsNotDead() async throws {
        try await RunningServer.running(adjust: { $0.connectionLimits.idleMilliseconds = 1_200 }) { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("Notes")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 500_000))
            try await peer.take(
                HostileRequests.modifyRecords(zone: Self.notes, [HostileRequests.save("a", fields: [field])]))
            // More than the kernel keeps for a reader who rests: the server waits for it, and reads nothing meanwhile.
            peer.pauseReading()
            var expected = Set(
                (0..<60).map { _ in
                    peer.startCall(Method.recordsFetch, HostileRequests.fetch(zone: Self.notes, names: ["a"]))
                })
            // The clock: one that is silent and not excused, on the same loop.
            let silent = try await FrameClient.welcomed(server, token: token, device: 8, answersPings: false)
            try await silent.closeReason()

            peer.resumeReading()
            while !expected.isEmpty { #expect(expected.remove(try await peer.nextFrame().stream) != nil) }
            _ = try await peer.succeed(Method.healthCheck, [])
        }
    }

    @Test(
        "credit of nothing, or beyond what a client can use, ends its call alone",
        arguments: [
            .none, StreamCredit(messages: Int(UInt32.max), bytes: 1), StreamCredit(messages: 1, bytes: Int(UInt32.max)),
        ])
    func creditOutOfRange(credit: StreamCredit) async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            let stream = try await peer.openNotifications()
            // The first one ends the stream, and the others come too late.
            for _ in 0..<3 { peer.sendFrame(.credit, stream: stream, payload: FrameWriter.creditPayload(credit)) }
            guard case .failure(let status) = try await peer.answer(to: stream) else {
                Issue.record("an event came instead of a status")
                return
            }
            #expect(status.code == .invalidArguments)
            #expect(status.isSentence)
            // The connection goes on, and so may the device.
            _ = try await peer.succeed(Method.healthCheck, [])
            _ = try await peer.openNotifications()
        }
    }

    @Test("credit of nothing for a unary call ends that call alone")
    func creditOfNothingForUnaryCall() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let stream = peer.openCall(Method.healthCheck)
            peer.sendFrame(.credit, stream: stream, payload: FrameWriter.creditPayload(.none))
            peer.sendFrame(.message, stream: stream, isLast: true)
            guard case .failure(let status) = try await peer.answer(to: stream) else {
                Issue.record("the call was answered")
                return
            }
            #expect(status.code == .invalidArguments)
            _ = try await peer.succeed(Method.healthCheck, [])
        }
    }

    @Test("a stream without credit waits, others go on, and with credit again nothing is missing")
    func noCredit() async throws {
        try await RunningServer.running(adjust: { $0.connectionLimits.streamCredit = 4 }) { server in
            let token = try server.addAccount("alice")
            let writer = try await FrameClient.welcomed(server, token: token)
            try await writer.makeZone("Notes")
            _ = try await writer.succeed(
                Method.subscriptionsModify, HostileRequests.saveZoneSubscription(id: "s", zone: Self.notes))
            let peer = try await FrameClient.welcomed(server, token: token, device: 8)
            let stream = try await peer.openNotifications()
            for index in 0..<40 { try await writer.mustSave("n\(index)", in: Self.notes) }

            // Three more of the four, `ready` was the first; then silence, although calls are answered.
            var events: [ProtobufReader] = []
            func collect(until answered: UInt32) async throws {
                while true {
                    let frame = try await peer.nextFrame()
                    if frame.stream == answered { return }
                    if frame.stream == stream, frame.type == .message {
                        events.append(try #require(ProtobufReader(frame.payload)))
                    }
                }
            }
            try await collect(until: peer.startCall(Method.healthCheck, []))
            #expect(events.count == 3)

            while !events.contains(where: { $0.has(11) }), events.filter({ $0.has(9) }).count < 40 {
                peer.sendFrame(
                    .credit, stream: stream,
                    payload: FrameWriter.creditPayload(StreamCredit(messages: 4, bytes: 1 << 16)))
                try await collect(until: peer.startCall(Method.healthCheck, []))
            }
            #expect(Set(events.map { $0.bytes(1) }).count == events.count, "an event came twice")
            try await server.expectServes(token: token)
        }
    }

    @Test(
        "acknowledgements of anything end at most their stream",
        arguments: [
            [], [0xff], ProtobufField.encode([.bytes(1, [1, 2, 3])]),
            ProtobufField.encode([.bytes(1, [UInt8](repeating: 0xff, count: 60_000))]),
        ].map(ByteArgument.init))
    func acknowledgementFlood(payload: ByteArgument) async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            let stream = try await peer.openNotifications()
            for _ in 0..<500 { peer.sendFrame(.message, stream: stream, payload: payload.bytes) }
            _ = try await peer.succeed(Method.healthCheck, [])
            try await server.expectServes(token: token)
        }
    }

    @Test("a flood of pings is answered up to its limit, then ended")
    func pingFlood() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            for _ in 0..<5_000 { peer.sendFrame(.ping, payload: [UInt8](repeating: 5, count: 8)) }
            let status = try await peer.endingStatus()
            #expect(status.code == .requestRateLimited)
            #expect(status.isSentence)
            try await server.expectServes()
        }
    }

    @Test("calls that are opened and cancelled as fast as possible cost the server their bytes only")
    func rapidReset() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("Notes")
            let residentBefore = ResidentMemory.byteCount
            for _ in 0..<5_000 {
                let stream = peer.startCall(Method.recordsChanges, HostileRequests.changes(zone: Self.notes))
                peer.sendFrame(.cancel, stream: stream)
            }
            _ = try await peer.succeed(Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
            #expect(ResidentMemory.byteCount - residentBefore < 512 * 1024 * 1024)
            try await server.expectServes(token: token)
        }
    }
}

extension FrameClient {
    /// Waits until the server has given this peer up, and sees it when reading again.
    func expectToBeCut(by server: RunningServer) async throws {
        try await server.log.wait(for: "the peer stopped reading")
        resumeReading()
        _ = try await closeReason()
    }
}
