import BrumeModel
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// How a door lets clients in.
@Suite("The way in")
struct EntranceTests {
    private func claim(_ container: String) -> Claim {
        Claim(
            container: container, environment: .development, deviceID: [UInt8](repeating: 1, count: 16),
            clientVersion: "test", proof: .account(token: TestAccounts.token("a")))
    }

    private func admit(_ container: String, _ server: SteppedServer) throws(ServiceError) -> Entrance {
        try server.core.admit(claim(container), from: .local, isOperator: false)
    }

    @Test("whoever is refused for having many connections leaves the container as it was")
    func refusedShare() throws {
        let server = try SteppedServer {
            $0.connectionsPerAccount = 1
            $0.containersPerAccount = 2
        }
        let first = try admit("iCloud.first", server)
        for name in ["iCloud.second", "iCloud.third", "iCloud.fourth"] {
            let error = #expect(throws: ServiceError.self) { try admit(name, server) }
            // A container that stayed open would be the account's second, and refuse the third.
            #expect(error?.code == .requestRateLimited)
        }
        server.core.giveUp(first)
        for name in ["iCloud.fifth", "iCloud.sixth", "iCloud.seventh"] {
            server.core.giveUp(try admit(name, server))
        }
    }

    @Test("whose token is revoked on the way to their data may not stay, nor who comes while the server stops")
    func revoked() throws {
        let server = try SteppedServer()
        let entrance = try admit("iCloud.first", server)
        let home = server.core.home(of: entrance)
        let door = RecordingDoor()
        home.leave(try home.enter(entrance, through: door))
        let second = try admit("iCloud.first", server)
        server.revokeTokens(keepingSessionsOf: "a")
        let revoked = #expect(throws: ServiceError.self) { try home.enter(second, through: door) }
        #expect(revoked?.code == .notAuthenticated)
        server.core.giveUp(second)

        let stopping = try SteppedServer()
        let third = try admit("iCloud.first", stopping)
        stopping.drain()
        stopping.settle()
        let refused = #expect(throws: ServiceError.self) {
            try stopping.core.home(of: third).enter(third, through: door)
        }
        #expect(refused?.code == .serviceUnavailable)
        stopping.core.giveUp(third)
    }
}
