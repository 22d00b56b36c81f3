import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A client that is between two loops while its token is revoked is found by nobody: it asks when it arrives.
@Suite("Revocation of a client on its way")
struct RevocationTests {
    private func claim(_ token: String) -> Claim {
        Claim(
            container: SteppedServer.container, environment: .development,
            deviceID: [UInt8](repeating: 1, count: 16), clientVersion: "test", proof: .account(token: token))
    }

    @Test("a revoked token stays revoked when the account gets a new one at once")
    func newToken() throws {
        let server = try SteppedServer()
        let identity = try server.core.authenticate(claim(TestAccounts.token("a")))
        #expect(server.core.isStillValid(identity))
        _ = server.administer(.revokeTokens(name: "a"))
        let creation = server.administer(.createToken(name: "a"))
        server.settle()
        guard case .success(.tokenCreated(let token)) = creation.outcome else {
            throw TestFailure("no token was made: \(String(describing: creation.error))")
        }
        #expect(!server.core.isStillValid(identity))
        #expect(server.core.isStillValid(try server.core.authenticate(claim(token))))
    }

    @Test("a removed account's client does not live on in another account of the same name")
    func sameName() throws {
        let server = try SteppedServer()
        let identity = try server.core.authenticate(claim(TestAccounts.token("a")))
        _ = server.administer(.removeAccount(name: "a", deletesData: false))
        let addition = server.administer(.addAccount(name: "a", email: ""))
        server.settle()
        #expect(addition.error == nil && server.tokenCounts["a"] == 1)
        #expect(!server.core.isStillValid(identity))
    }
}
