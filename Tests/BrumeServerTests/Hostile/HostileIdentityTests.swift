import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeService
import BrumeTestKit
import Testing

@Suite("Hostile identities", .timeLimit(.minutes(4)))
struct HostileIdentityTests {
    typealias Method = HostileRequests.Method

    @Test(
        "a token that is not an account's is not authenticated",
        arguments: [
            "", "x", "brume_", "brume_" + String(repeating: "A", count: 43), String(repeating: "\u{0}", count: 49),
            String(repeating: "ü", count: 30), String(repeating: "A", count: 255),
        ])
    func wrongToken(token: String) async throws {
        try await RunningServer.running { server in
            _ = try server.addAccount("alice")
            let peer = try await FrameClient.connect(server)
            peer.sendFrame(.hello, payload: FrameClient.hello(token: token))
            let status = try await peer.endingStatus()
            #expect(status.code == .notAuthenticated)
            #expect(status.isSentence)
            #expect(!status.message.contains("alice"))
            try await server.expectServes()
        }
    }

    @Test("a token with one character changed is not authenticated")
    func nearlyRightToken() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            for position in [0, 6, token.count / 2, token.count - 1] {
                var characters = Array(token)
                characters[position] = characters[position] == "B" ? "C" : "B"
                let peer = try await FrameClient.connect(server)
                peer.sendFrame(.hello, payload: FrameClient.hello(token: String(characters)))
                #expect(try await peer.endingStatus().code == .notAuthenticated, "position \(position)")
            }
        }
    }

    @Test("a peer without a token reaches no private database and no administration")
    func anonymous() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: nil)
            for (method, request) in Self.privateRequests {
                let status = try await peer.fail(method, request)
                #expect(status.code == .notAuthenticated, "method \(method)")
                #expect(status.isSentence)
            }
            for method in UInt64(256)...261 {
                let status = try await peer.fail(method, ProtobufField.encode([.text(1, "mallory")]))
                #expect([.permissionFailure, .notAuthenticated].contains(status.code), "method \(method)")
            }
        }
    }

    @Test("an account's token opens no administration")
    func accountIsNotAdmin() async throws {
        try await RunningServer.running(adjust: { $0.takesOperatorOnPort = true }) { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            for method in UInt64(256)...261 {
                let status = try await peer.fail(method, ProtobufField.encode([.text(1, "mallory")]))
                #expect(status.code == .permissionFailure, "method \(method)")
                #expect(status.isSentence)
            }
            // As the operator's token it is worth nothing, also where the port takes that.
            let other = try await FrameClient.connect(server)
            other.sendFrame(
                .hello, payload: FrameClient.hello(token: nil) + ProtobufField.encode([.text(7, token)]))
            #expect(try await other.endingStatus().code == .notAuthenticated)
        }
    }

    @Test("the operator's token opens no database")
    func adminIsNoAccount() async throws {
        try await RunningServer.running { server in
            let admin = try await server.adminClient()
            for (method, request) in Self.privateRequests {
                let status = try await admin.fail(method, request)
                #expect(status.code == .permissionFailure, "method \(method)")
            }
            // Neither as an account's token.
            let peer = try await FrameClient.connect(server)
            peer.sendFrame(.hello, payload: FrameClient.hello(token: try server.adminToken()))
            #expect(try await peer.endingStatus().code == .notAuthenticated)
        }
    }

    @Test("a revoked token closes the connections that it opened, streams included, and opens none")
    func revoked() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let bystander = try await FrameClient.welcomed(server, token: try server.addAccount("bob"))
            let peer = try await FrameClient.welcomed(server, token: token)
            let stream = try await peer.openNotifications()
            let idle = try await FrameClient.welcomed(server, token: token, device: 8)

            let admin = try await server.adminClient()
            let answer = try await admin.succeed(259 + 1, ProtobufField.encode([.text(1, "alice")]))
            #expect(answer.varint(1) == 1)

            #expect(stream > 0)
            for open in [peer, idle] {
                let status = try await open.endingStatus()
                #expect(status.code == .notAuthenticated)
                #expect(status.isSentence)
            }
            let again = try await FrameClient.connect(server)
            again.sendFrame(.hello, payload: FrameClient.hello(token: token))
            #expect(try await again.endingStatus().code == .notAuthenticated)
            _ = try await bystander.succeed(Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
        }
    }

    @Test("another account's zones, records and subscriptions look as if they did not exist")
    func foreignOwner() async throws {
        try await RunningServer.running { server in
            let alice = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            let bobToken = try server.addAccount("bob")
            let bob = try await FrameClient.welcomed(server, token: bobToken, device: 8)
            try await alice.makeZone("Secrets")
            try await alice.mustSave("secret", in: HostileRequests.zone("Secrets"))
            _ = try await alice.succeed(
                Method.subscriptionsModify,
                HostileRequests.saveZoneSubscription(id: "alices", zone: HostileRequests.zone("Secrets")))
            let aliceName = alice.userRecordName
            // A user who does not exist, of the same form.
            let nobody = "_" + String(repeating: "0", count: aliceName.count - 1)

            func answers(owner: String, zone: String) async throws -> [String] {
                let zone = HostileRequests.zone(zone, owner: owner)
                var answers: [String] = []
                for (method, request) in [
                    (Method.recordsModify, HostileRequests.modifyRecords(zone: zone, [HostileRequests.save("secret")])),
                    (Method.recordsModify, HostileRequests.modifyRecords(zone: zone, [.text(3, "secret")])),
                    (Method.recordsFetch, HostileRequests.fetch(zone: zone, names: ["secret"])),
                    (Method.recordsChanges, HostileRequests.changes(zone: zone)),
                    (Method.zonesFetch, ProtobufField.encode([.varint(1, 2), .message(2, zone)])),
                    (Method.zonesModify, HostileRequests.modifyZones(saves: [zone])),
                    (Method.zonesModify, HostileRequests.modifyZones(deletions: [zone])),
                    (Method.subscriptionsModify, HostileRequests.saveZoneSubscription(id: "mine", zone: zone)),
                ] {
                    let bytes: [UInt8]
                    switch try await bob.call(method, request) {
                    case .success(let payload): bytes = payload
                    case .failure(let status): bytes = Array("\(status)".utf8)
                    }
                    // What names the owner asked for names nobody's secret.
                    answers.append(
                        String(decoding: bytes, as: UTF8.self)
                            .split(separator: owner, omittingEmptySubsequences: false).joined(separator: "OWNER"))
                }
                return answers
            }
            let ofAlice = try await answers(owner: aliceName, zone: "Secrets")
            let ofNobody = try await answers(owner: nobody, zone: "Secrets")
            #expect(ofAlice == ofNobody)
            #expect(!ofAlice.isEmpty)

            // By id alone, bob's own database is meant: there is no such subscription.
            let fetched = try await bob.succeed(
                Method.subscriptionsFetch, HostileRequests.fetchSubscriptions(ids: ["alices"]))
            #expect(fetched.message(1)?.message(2)?.signed(1) == Int(ErrorCode.unknownItem.rawValue))
            let deleted = try await bob.succeed(
                Method.subscriptionsModify, HostileRequests.deleteSubscription(id: "alices"))
            #expect(deleted.message(2)?.message(1)?.signed(1) == Int(ErrorCode.unknownItem.rawValue))

            // Nothing of it reached alice's data.
            let kept = try await alice.succeed(
                Method.recordsFetch, HostileRequests.fetch(zone: HostileRequests.zone("Secrets"), names: ["secret"]))
            #expect(kept.message(1)?.message(1)?.has(1) == true)
            let subscription = try await alice.succeed(
                Method.subscriptionsFetch, HostileRequests.fetchSubscriptions(ids: ["alices"]))
            #expect(subscription.message(1)?.has(1) == true)
            try await server.expectServes(token: bobToken)
        }
    }

    @Test("a change token with any one bit flipped is refused")
    func flippedBits() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            try await peer.makeZone("Notes")
            let zone = HostileRequests.zone("Notes")
            try await peer.mustSave("n", in: zone)
            let token = try await peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: zone)).bytes(3)
            let databaseToken = try await peer.succeed(
                Method.databasesChanges, HostileRequests.databaseChanges()
            ).bytes(3)
            #expect(!token.isEmpty && !databaseToken.isEmpty)

            for bit in 0..<token.count * 8 {
                var flipped = token
                flipped[bit / 8] ^= 1 << (bit % 8)
                let status = try await peer.fail(
                    Method.recordsChanges, HostileRequests.changes(zone: zone, token: flipped))
                #expect(status.code == .invalidArguments, "bit \(bit)")
                #expect(status.isSentence)
            }
            for bit in 0..<databaseToken.count * 8 {
                var flipped = databaseToken
                flipped[bit / 8] ^= 1 << (bit % 8)
                let status = try await peer.fail(
                    Method.databasesChanges, HostileRequests.databaseChanges(token: flipped))
                #expect(status.code == .invalidArguments, "bit \(bit)")
            }
            for length in [1, token.count - 1, token.count + 1, 100_000] {
                let cut = Array((token + [UInt8](repeating: 0, count: 100_000)).prefix(length))
                let status = try await peer.fail(Method.recordsChanges, HostileRequests.changes(zone: zone, token: cut))
                #expect(status.code == .invalidArguments, "\(length) bytes")
            }
            // The token itself still works.
            _ = try await peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: zone, token: token))
        }
    }

    @Test("a token of another zone, account or kind expires: it gives nothing of either")
    func foreignTokens() async throws {
        try await RunningServer.running { server in
            let alice = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            let bob = try await FrameClient.welcomed(server, token: try server.addAccount("bob"), device: 8)
            for peer in [alice, bob] {
                try await peer.makeZone("Notes")
                try await peer.makeZone("Other")
            }
            let notes = HostileRequests.zone("Notes")
            try await alice.mustSave("n", in: notes)
            let token = try await alice.succeed(Method.recordsChanges, HostileRequests.changes(zone: notes)).bytes(3)
            let databaseToken = try await alice.succeed(
                Method.databasesChanges, HostileRequests.databaseChanges()
            ).bytes(3)

            for (peer, method, request) in [
                (
                    alice, Method.recordsChanges,
                    HostileRequests.changes(zone: HostileRequests.zone("Other"), token: token)
                ),
                (alice, Method.recordsChanges, HostileRequests.changes(zone: notes, token: databaseToken)),
                (alice, Method.databasesChanges, HostileRequests.databaseChanges(token: token)),
                (bob, Method.recordsChanges, HostileRequests.changes(zone: notes, token: token)),
                (bob, Method.databasesChanges, HostileRequests.databaseChanges(token: databaseToken)),
            ] {
                let status = try await peer.fail(method, request)
                #expect(status.code == .changeTokenExpired, "method \(method): \(status)")
                #expect(status.isSentence)
            }
        }
    }

    @Test("a position of another device's or account's stream opens nothing of it")
    func foreignPositions() async throws {
        try await RunningServer.running { server in
            let alice = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            let bobToken = try server.addAccount("bob")
            let stream = alice.openCall(Method.notificationsOpen)
            alice.sendFrame(.message, stream: stream)
            guard case .success(let ready) = try await alice.answer(to: stream) else {
                Issue.record("the stream did not open")
                return
            }
            let position = ProtobufReader(ready)?.bytes(1) ?? []
            for bytes in [position, [1], [UInt8](repeating: 0xff, count: 200), Array(position.reversed())]
            where !bytes.isEmpty {
                let bob = try await FrameClient.welcomed(server, token: bobToken, device: 9)
                let stream = bob.openCall(Method.notificationsOpen)
                bob.sendFrame(.message, stream: stream, payload: ProtobufField.encode([.bytes(1, bytes)]))
                switch try await bob.answer(to: stream) {
                case .failure(let status):
                    #expect([.invalidArguments, .changeTokenExpired].contains(status.code), "\(status)")
                    #expect(status.isSentence)
                case .success(let event):
                    // Open, but then it must not claim to have resumed from a place that was never bob's.
                    let ready = ProtobufReader(event)?.message(8)
                    #expect(ready == nil || ready?.varint(1) == 0)
                }
            }
            try await server.expectServes(token: bobToken)
        }
    }

    static let privateRequests: [(UInt64, [UInt8])] = [
        (Method.zonesList, ProtobufField.encode([.varint(1, 2)])),
        (Method.zonesModify, HostileRequests.modifyZones(saves: [HostileRequests.zone("Z")])),
        (
            Method.recordsModify,
            HostileRequests.modifyRecords(zone: HostileRequests.zone("_defaultZone"), [HostileRequests.save("n")])
        ),
        (Method.recordsFetch, HostileRequests.fetch(zone: HostileRequests.zone("_defaultZone"), names: ["n"])),
        (Method.recordsChanges, HostileRequests.changes(zone: HostileRequests.zone("Z"))),
        (Method.databasesChanges, HostileRequests.databaseChanges()),
        (Method.subscriptionsModify, HostileRequests.saveZoneSubscription(id: "s", zone: HostileRequests.zone("Z"))),
        (Method.subscriptionsList, ProtobufField.encode([.varint(1, 2)])),
    ]
}

extension FrameClient {
    /// Opens the device's stream and waits for `ready`.
    @discardableResult
    func openNotifications() async throws -> UInt32 {
        let stream = openCall(HostileRequests.Method.notificationsOpen)
        sendFrame(.message, stream: stream)
        switch try await answer(to: stream) {
        case .failure(let status): throw status
        case .success(let event):
            guard ProtobufReader(event)?.has(8) == true else {
                throw TestFailure("the stream began without ready")
            }
            return stream
        }
    }
}
