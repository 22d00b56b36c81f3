import BrumeProtocol
import BrumeServer
import BrumeSystem
import BrumeTestKit
import Testing

extension RunningServer {
    /// Deadlines that a test can wait for. Only for those that do: on a busy machine they hit the innocent as well.
    static func shortDeadlines(_ configuration: inout ServerConfiguration) {
        configuration.connectionLimits.helloTimeoutMilliseconds = 1_000
        configuration.connectionLimits.frameTimeoutMilliseconds = 1_000
        configuration.socketLimits.handshakeTimeoutMilliseconds = 1_000
        configuration.socketLimits.writeStallTimeoutMilliseconds = 1_000
    }

    /// Another client is welcomed and answered; with a token, from its database as well.
    func expectServes(token: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let client = try await FrameClient.welcomed(self, token: token, device: 200)
        let health = try await client.succeed(HostileRequests.Method.healthCheck, [])
        #expect(health.varint(1) == 1, "the server serves no more", sourceLocation: sourceLocation)
        if token != nil {
            _ = try await client.succeed(HostileRequests.Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
        }
        client.abort()
    }
}
