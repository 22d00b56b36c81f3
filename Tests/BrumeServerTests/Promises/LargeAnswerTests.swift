import BrumeModel
import BrumeServer
import Testing

@Suite("Large answers", .timeLimit(.minutes(4)))
struct LargeAnswerTests {
    typealias Method = HostileRequests.Method

    @Test("an answer that no frame can hold fails its call with a sentence, and the connection goes on")
    func subscriptions() async throws {
        try await HostileServer.running { server in
            let token = try await server.addAccount("alice")
            let peer = try await HostilePeer.welcomed(server, token: token)
            let zone = HostileRequests.zone("Notes")
            try await peer.makeZone("Notes")
            let alert = ProtobufField.message(5, [.text(1, String(repeating: "a", count: 15_000))])
            for request in 0..<3 {
                let saves = (0..<100).map { index in
                    ProtobufField.message(
                        2, [.text(1, "s\(request).\(index)"), .message(2, [.message(1, zone)]), alert])
                }
                _ = try await peer.succeed(
                    Method.subscriptionsModify,
                    ProtobufField.encode([.varint(1, HostileRequests.privateScope)] + saves))
            }
            let scope = ProtobufField.encode([.varint(1, HostileRequests.privateScope)])
            let status = try await peer.fail(Method.subscriptionsList, scope)
            #expect(status.code == .limitExceeded)
            #expect(status.isSentence)
            _ = try await peer.succeed(Method.subscriptionsFetch, HostileRequests.fetchSubscriptions(ids: ["s0.1"]))
        }
    }
}
