import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

/// Positions of notification streams that no server gave.
@Suite("Hostile positions", .timeLimit(.minutes(2)))
struct HostilePositionTests {
    typealias Method = HostileRequests.Method

    private static let notes = HostileRequests.zone("Notes")

    /// Opens a stream at a position; its first event, or how it failed.
    private static func open(
        _ peer: FrameClient, at position: [UInt8]
    ) async throws -> Result<ProtobufReader, ReceivedStatus> {
        let stream = peer.openCall(Method.notificationsOpen)
        peer.sendFrame(.message, stream: stream, payload: ProtobufField.encode([.bytes(1, position)]))
        return try await peer.answer(to: stream).map { ProtobufReader($0)! }
    }

    /// The position that a device's stream begins at.
    private static func position(of peer: FrameClient) async throws -> [UInt8] {
        let ready = try await open(peer, at: []).get()
        return ready.bytes(1)
    }

    /// Two accounts, and positions of one's stream before and behind commits in both databases.
    private static func withPositions(
        _ body: (_ server: RunningServer, _ ada: FrameClient, _ eve: FrameClient, _ old: [UInt8], _ new: [UInt8])
            async throws -> Void
    ) async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("ada")
            let ada = try await FrameClient.welcomed(server, token: token)
            let eve = try await FrameClient.welcomed(server, token: try server.addAccount("eve"), device: 9)
            let old = try await position(of: ada)
            try await ada.makeZone("Notes")
            try await ada.mustSave("secret", in: notes)
            // So that the place in the public database moves as well.
            let query: [ProtobufField] = [
                .text(1, "Note"), .message(2, [.message(1, [.varint(1, 1)])]), .varint(3, 1),
            ]
            _ = try await ada.succeed(
                Method.subscriptionsModify,
                ProtobufField.encode([.varint(1, 1), .message(2, [.text(1, "q"), .message(4, query)])]))
            for name in ["a", "b", "c"] {
                try await ada.take(
                    HostileRequests.modifyRecords(
                        scope: 1, zone: HostileRequests.zone("_defaultZone"), [HostileRequests.save(name)]))
            }
            _ = try await ada.succeed(
                Method.subscriptionsModify, HostileRequests.saveZoneSubscription(id: "s", zone: notes))
            try await ada.mustSave("more", in: notes)
            // Of another device: this one is known, and would begin where it did before.
            let other = try await FrameClient.welcomed(server, token: token, device: 3)
            let new = try await position(of: other)
            other.abort()
            #expect(old.count == 51 && new.count == 51)
            #expect(old[30..<38] != new[30..<38] && old[43..<51] != new[43..<51], "both places moved")
            try await body(server, ada, eve, old, new)
            ada.abort()
            eve.abort()
        }
    }

    @Test("a position put together from two that the server gave is refused, wherever it was cut")
    func composed() async throws {
        try await Self.withPositions { _, ada, _, old, new in
            var tried = 0
            for cut in 1..<new.count {
                for composed in [
                    Array(old.prefix(cut)) + Array(new.dropFirst(cut)),
                    Array(new.prefix(cut)) + Array(old.dropFirst(cut)),
                ] where composed != old && composed != new {
                    tried += 1
                    guard case .failure(let status) = try await Self.open(ada, at: composed) else {
                        Issue.record("cut at \(cut): the stream opened")
                        continue
                    }
                    #expect(status.code == .invalidArguments && status.isSentence, "cut at \(cut): \(status)")
                }
            }
            #expect(tried > 20, "only \(tried) were different")
            // The parts of the two places exchanged: the private database's from one, the public one's from the other.
            var exchanged = new
            exchanged.replaceSubrange(30..<38, with: old[30..<38])
            if case .success = try await Self.open(ada, at: exchanged) {
                Issue.record("the stream opened at an exchanged place")
            }
            let ready = try await Self.open(ada, at: new).get()
            #expect(ready.message(8)?.varint(1) == 1, "its own position is good")
        }
    }

    @Test("a position with one changed bit, cut, longer or of the shape of an older version is refused")
    func forged() async throws {
        try await Self.withPositions { server, ada, _, _, new in
            for index in new.indices {
                var flipped = new
                flipped[index] ^= UInt8(1 << (index % 8))
                guard case .failure(let status) = try await Self.open(ada, at: flipped) else {
                    Issue.record("byte \(index): the stream opened")
                    continue
                }
                #expect(status.code == .invalidArguments, "byte \(index): \(status)")
            }
            let shapes: [[UInt8]] = [
                Array(new.dropLast()), new + [0], Array(new.prefix(38)), new + Array(new.suffix(13)),
                [4] + new.dropFirst(), [1],
                [0xFF],
                [UInt8](repeating: 0, count: 62), [UInt8](repeating: 3, count: 60_000),
            ]
            for shape in shapes {
                guard case .failure(let status) = try await Self.open(ada, at: shape) else {
                    Issue.record("\(shape.count) bytes: the stream opened")
                    continue
                }
                #expect(status.code == .invalidArguments && status.isSentence, "\(shape.count) bytes: \(status)")
            }
            // As an acknowledgement such a position ends the stream, and nothing else.
            let stream = try await ada.openNotifications()
            ada.sendFrame(.message, stream: stream, payload: ProtobufField.encode([.bytes(1, Array(new.reversed()))]))
            guard case .failure(let status) = try await ada.answer(to: stream) else {
                Issue.record("a forged acknowledgement was taken")
                return
            }
            #expect(status.code == .invalidArguments)
            try await server.expectServes()
        }
    }

    @Test("a position of another account, a change token and a query's cursor open no stream")
    func foreign() async throws {
        try await Self.withPositions { _, ada, eve, old, new in
            let zoneToken = try await ada.succeed(Method.recordsChanges, HostileRequests.changes(zone: Self.notes))
                .bytes(3)
            let databaseToken = try await ada.succeed(Method.databasesChanges, HostileRequests.databaseChanges()).bytes(
                3)
            let page = try await ada.succeed(
                35,
                ProtobufField.encode([
                    .varint(1, 2), .message(3, [.text(1, "Note"), .message(2, [.message(1, [.varint(1, 1)])])]),
                    .varint(5, 1),
                ]))
            #expect(!page.bytes(2).isEmpty)
            // Another account's position has expired for this one; what is no position at all was made by nobody.
            for (peer, position, code) in [
                (eve, old, ErrorCode.changeTokenExpired), (eve, new, .changeTokenExpired),
                (ada, zoneToken, .invalidArguments), (ada, databaseToken, .invalidArguments),
                (eve, zoneToken, .invalidArguments), (ada, page.bytes(2), .invalidArguments),
            ] {
                guard case .failure(let status) = try await Self.open(peer, at: position) else {
                    Issue.record("the stream opened")
                    continue
                }
                #expect(status.code == code, "\(status)")
                #expect(status.isSentence)
            }
            // And the other way round.
            #expect(
                try await ada.fail(
                    Method.recordsChanges, HostileRequests.changes(zone: Self.notes, token: new)
                ).code
                    == .invalidArguments)
        }
    }
}
