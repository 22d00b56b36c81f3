import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Loops that spin", .timeLimit(.minutes(2)))
struct SpinningTests {
    @Test("answer, sync and stop as those that sleep at once")
    func spinning() async throws {
        try await RunningServer.running(adjust: { $0.spinMicroseconds = 1_000 }) { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            for index in 0..<20 { try await peer.makeZone("Notes\(index)") }
            try await server.expectServes(token: token)
        }
    }
}
