import BrumeModel
import BrumeServer
import BrumeTestKit
import Testing

@Suite("Large answers", .timeLimit(.minutes(4)))
struct LargeAnswerTests {
    typealias Method = HostileRequests.Method

    @Test("an answer that no frame can hold fails its call with a sentence, and the connection goes on")
    func subscriptions() async throws {
        try await RunningServer.running { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            let zone = HostileRequests.zone("Notes")
            try await peer.makeZone("Notes")
            let alert = ProtobufField.message(5, [.text(1, String(repeating: "a", count: 15_000))])
            let save = ProtobufField.message(2, [.text(1, "large"), .message(2, [.message(1, zone)]), alert])
            _ = try await peer.succeed(
                Method.subscriptionsModify, ProtobufField.encode([.varint(1, HostileRequests.privateScope), save]))
            // The same one over and over: 400 times 15 KB.
            let status = try await peer.fail(
                Method.subscriptionsFetch,
                HostileRequests.fetchSubscriptions(ids: Array(repeating: "large", count: 400)))
            #expect(status.code == .limitExceeded)
            #expect(status.isSentence)
            _ = try await peer.succeed(Method.subscriptionsFetch, HostileRequests.fetchSubscriptions(ids: ["large"]))
        }
    }
}
