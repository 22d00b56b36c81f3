import BrumeAdmin
import BrumeKit
import BrumeModel
import BrumeTestKit

extension RunningServer {
    /// The server's operator, for the schema of one environment.
    func admin(_ environment: BrumeConfiguration.Environment = .development) throws -> ClientSession {
        try ClientSession.operators(
            socketPath: doorPath, container: Self.container,
            environment: environment == .production ? .production : .development)
    }

    /// Revokes all tokens of an account, as the server's operator does.
    func revokeTokens(of name: String) async throws { _ = try await admin().revokeTokens(name: name) }
}
