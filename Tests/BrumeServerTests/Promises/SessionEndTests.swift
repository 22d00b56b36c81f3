import BrumeProtocol
import BrumeServer
import BrumeSystem
import Testing

/// Sessions that end at the worst moment.
@Suite("The end of sessions", .timeLimit(.minutes(4)))
struct SessionEndTests {
    @Test("a peer that leaves while its session is about to move to its data takes nobody with it")
    func goodbyeBehindTheHello() async throws {
        try await HostileServer.running { server in
            let loop = try EventLoop(name: "goodbye")
            loop.start()
            defer {
                loop.stop()
                loop.join()
            }
            // Each container is on one of the two loops, and the connection arrives at any.
            for round in 0..<8 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<16 {
                        let container = "iCloud.com.example.goodbye\(round).\(index)"
                        let hello = FrameWriter.frame(
                            .hello, payload: HostileRequests.hello(token: nil, container: container))
                        group.addTask { try await GoodbyePeer.say(hello, to: server, on: loop) }
                    }
                    try await group.waitForAll()
                }
            }
            try await server.expectServes()
        }
    }
}
