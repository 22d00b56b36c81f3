import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeServer
import BrumeService
import BrumeSystem
import BrumeTestKit
import Testing

@Suite("Hostile use of memory", .timeLimit(.minutes(4)))
struct HostileMemoryTests {
    typealias Method = HostileRequests.Method

    static let publicScope: UInt64 = 1
    static let zone = HostileRequests.zone("_defaultZone")

    private func fetch() -> [UInt8] {
        ProtobufField.encode([
            .varint(1, Self.publicScope), .message(2, [.message(1, Self.zone), .text(2, "large")]),
        ])
    }

    /// Puts a record of 450 KB into the public database.
    private func saveLargeRecord(_ server: RunningServer, token: String) async throws {
        let peer = try await FrameClient.welcomed(server, token: token)
        let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 450_000))
        _ = try await peer.succeed(
            Method.recordsModify,
            HostileRequests.modifyRecords(
                scope: Self.publicScope, zone: Self.zone, [HostileRequests.save("large", fields: [field])]))
        peer.abort()
    }

    @Test("answers that nobody reads are bounded for the account and for the server, and the calls beyond are refused")
    func unreadAnswers() async throws {
        try await RunningServer.running(adjust: {
            $0.outputBudgetBytes = 16 * 1024 * 1024
            // What the kernel holds for a peer that doesn't read is none of the server's.
            $0.socketLimits.sendBufferBytes = 64 * 1024
        }) { server in
            let writer = try server.addAccount("writer")
            try await saveLargeRecord(server, token: writer)
            // Some of their accounts are on the public database's loop, and some are not.
            var peers: [FrameClient] = []
            for name in ["alice", "bob", "carol", "dave"] {
                let token = try server.addAccount(name)
                for device in 0..<4 {
                    let peer = try await FrameClient.welcomed(server, token: token, device: UInt8(device))
                    peer.pauseReading()
                    peers.append(peer)
                }
            }
            for _ in 0..<4 {
                for peer in peers { for _ in 0..<10 { peer.startCall(Method.recordsFetch, fetch()) } }
                // Whoever reads is served meanwhile, from the same database.
                let reader = try await FrameClient.welcomed(server, token: writer, device: 99)
                _ = try await reader.succeed(Method.recordsFetch, fetch())
                reader.abort()
                let held = server.server.heldBytes
                // An eighth each, and the answer with which they went above it, one for each loop.
                #expect(held.output <= 4 * (2 * 1024 * 1024 + 2 * 500_000) + 500_000, "\(held)")
            }
            // The calls that were read are answered or refused, each once; the others when their connection is read
            // again.
            for peer in peers { peer.resumeReading() }
            var refused = 0
            for peer in peers {
                for _ in 0..<40 {
                    let frame = try await peer.nextFrame()
                    if frame.type == .message {
                        #expect(frame.payload.count > 450_000)
                        continue
                    }
                    let status = ReceivedStatus(frame.payload)
                    refused += 1
                    #expect(status.code == .requestRateLimited)
                    #expect(status.retryAfterMilliseconds > 0)
                    #expect(status.isSentence)
                }
            }
            #expect(refused > 0)
            for peer in peers { peer.abort() }
        }
    }

    @Test("events that no device of an account reads are bounded, others are answered, and none is missed in the end")
    func unreadEvents() async throws {
        let budget = 16 * 1024 * 1024
        try await RunningServer.running(adjust: {
            $0.outputBudgetBytes = budget
            // More than the events take: what bounds them here is the room for output.
            $0.connectionLimits.streamCreditBytes = 1024 * 1024
            $0.socketLimits.sendBufferBytes = 64 * 1024
            $0.socketLimits.writeStallTimeoutMilliseconds = 60_000
        }) { server in
            let (alice, bob) = (try server.addAccount("alice"), try server.addAccount("bob"))
            let coder = MessageCoder()
            let author = try await FrameClient.welcomed(server, token: alice, device: 99)
            var info = NotificationInfo()
            info.alertBody = String(repeating: "a", count: 15_000)
            let subscriptions = (0..<15).map {
                Subscription(
                    id: "s\($0)",
                    kind: .query(
                        QuerySubscription(recordType: "Note", predicate: .constant(true), options: .creation)),
                    notificationInfo: info)
            }
            _ = try await author.succeed(
                Method.subscriptionsModify,
                coder.encodeModifySubscriptionsRequest(
                    ModifySubscriptionsRequest(database: .private, saves: subscriptions)))
            var devices: [FrameClient] = []
            for device in 0..<40 {
                let peer = try await FrameClient.welcomed(server, token: alice, device: UInt8(device))
                let stream = peer.openCall(Method.notificationsOpen)
                peer.sendFrame(.message, stream: stream, payload: coder.encodeNotificationsRequest(position: []))
                #expect(try await peer.nextFrame().type == .message)
                peer.pauseReading()
                devices.append(peer)
            }
            // 45 events of 15 KB for each of 40 devices: 27 MB.
            let saves = (0..<3).map { HostileRequests.save("r\($0)") }
            _ = try await author.succeed(
                Method.recordsModify, HostileRequests.modifyRecords(zone: Self.zone, saves))
            let other = try await FrameClient.welcomed(server, token: bob)
            for _ in 0..<20 {
                _ = try await other.succeed(
                    Method.recordsFetch, HostileRequests.fetch(zone: Self.zone, names: ["none"]))
                #expect(server.server.heldBytes.output <= budget / 8 + 40 * 16 * 1024, "\(server.server.heldBytes)")
            }
            for peer in devices { peer.resumeReading() }
            for peer in devices {
                for _ in 0..<45 { #expect(try await peer.nextFrame().type == .message) }
                peer.abort()
            }
        }
    }

    @Test(
        "a frame that finds no room in its account's share is not read until there is some, and then it is whole",
        arguments: [950_000, 12_000])
    func unfinishedFrames(textBytes: Int) async throws {
        // Two frames, all but whole, are what an account's eighth holds.
        let budget = 17 * (2 * textBytes + 1_024)
        try await RunningServer.running(adjust: { $0.inputBudgetBytes = budget }) { server in
            let (alice, bob) = (try server.addAccount("alice"), try server.addAccount("bob"))
            let request = HostileRequests.modifyRecords(
                zone: HostileRequests.zone("None"),
                (0..<2).map {
                    HostileRequests.save(
                        "r\($0)",
                        fields: [HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: textBytes))])
                })
            var peers: [(peer: FrameClient, stream: UInt32)] = []
            for device in 0..<10 {
                let peer = try await FrameClient.welcomed(server, token: alice, device: UInt8(device))
                let stream = peer.openCall(Method.recordsModify)
                peer.send(FrameClient.header(length: UInt32(request.count), type: 4, flags: 1, stream: stream))
                peer.send(Array(request.dropLast()))
                peers.append((peer, stream))
            }
            try await waitUntil("two requests are held") { server.server.heldBytes.input >= 2 * request.count }
            #expect(server.server.heldBytes.input <= budget / 8)
            // Bob's frames of that size arrive.
            let other = try await FrameClient.welcomed(server, token: bob)
            _ = try await other.call(Method.recordsModify, request)
            #expect(server.server.heldBytes.input <= budget / 4)
            // Each gets its answer once the others have ended.
            for (peer, _) in peers { peer.send([request.last!]) }
            for (peer, stream) in peers { _ = try await peer.answer(to: stream) }
            try await waitUntil("nothing is held") { server.server.heldBytes.input == 0 }
        }
    }

    @Test("a peer without an account may not send frames larger than what reading needs, which its welcome says")
    func anonymousFrames() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            let limits = try #require(peer.welcome?.message(5))
            let limit = Int(limits.varint(1))
            #expect(limit < 1_000_000 && limit == Int(limits.varint(4)))
            // The largest frame arrives, and is no request; one byte more is too much.
            let largest = [UInt8](repeating: 0xff, count: limit)
            #expect(try await peer.fail(Method.recordsFetch, largest).code == .invalidArguments)
            let stream = peer.openCall(Method.recordsFetch)
            peer.send(FrameClient.header(length: UInt32(limit) + 1, type: 4, flags: 1, stream: stream))
            let status = try await peer.endingStatus()
            #expect(status.code == .limitExceeded)
            #expect(status.isSentence)
            try await server.expectServes()
        }
    }

    @Test("a hello is no longer than a hello, and peers that begin one and stop hold next to nothing")
    func unfinishedHellos() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.connect(server, first: FrameClient.header(length: 65_537, type: 1))
            #expect(try await peer.endingStatus().code == .limitExceeded)
            try await server.expectServes()
        }
    }

    @Test("what is held for peers that vanish is given back")
    func vanishing() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        try await RunningServer.running(adjust: { $0.outputBudgetBytes = 64 * 1024 * 1024 }) { server in
            let token = try server.addAccount("alice")
            try await saveLargeRecord(server, token: token)
            for round in 0..<30 {
                let peer = try await FrameClient.welcomed(
                    server, token: round % 3 == 0 ? nil : token, device: UInt8(round))
                peer.pauseReading()
                for _ in 0..<Int.random(in: 1...12, using: &random) { peer.startCall(Method.recordsFetch, fetch()) }
                let stream = peer.openCall(Method.recordsModify)
                let announced = UInt32.random(in: 70_000...500_000, using: &random)
                peer.send(FrameClient.header(length: announced, type: 4, flags: 1, stream: stream))
                peer.send([UInt8](repeating: 1, count: Int.random(in: 0...60_000, using: &random)))
                if Bool.random(using: &random) { _ = await peer.pendingOutputBytes() }
                peer.abort()
            }
            try await waitUntil("nothing is held") { server.server.heldBytes == (0, 0) }
            try await server.expectServes(token: token)
        } onFailure: {
            "seed \(seed)"
        }
    }
}
