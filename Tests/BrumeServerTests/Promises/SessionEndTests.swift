import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

/// Sessions that end at the worst moment.
@Suite("The end of sessions", .timeLimit(.minutes(4)))
struct SessionEndTests {
    @Test("a peer that leaves while its session is about to move to its data takes nobody with it")
    func goodbyeBehindTheHello() async throws {
        try await RunningServer.running { server in
            // Each container is on one of the two loops, and the connection arrives at any.
            for round in 0..<8 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<16 {
                        let container = "iCloud.com.example.goodbye\(round).\(index)"
                        let hello = FrameWriter.frame(
                            .hello, payload: FrameClient.hello(token: nil, container: container))
                        group.addTask { try await FrameClient.sayGoodbye(hello, to: server) }
                    }
                    try await group.waitForAll()
                }
            }
            try await server.expectServes()
        }
    }
}
