import BrumeServer
import BrumeSystem
import Testing

@Suite("The server's port", .timeLimit(.minutes(4)))
struct PortTests {
    @Test("a port that another server has is refused: clients would reach the one or the other by chance")
    func takenPort() async throws {
        try await HostileServer.running { first in
            try withTemporaryFolder { folder in
                let authority = try CertificateAuthority.generate()
                try authority.issueServerCertificate(
                    names: ["127.0.0.1"], certificatePath: folder + "/server.pem", keyPath: folder + "/server.key")
                var configuration = ServerConfiguration(
                    dataFolder: folder + "/data", certificatePath: folder + "/server.pem",
                    keyPath: folder + "/server.key")
                configuration.port = first.port
                configuration.log = .none
                let second = try Server(configuration)
                do throws(ServerError) {
                    try second.start()
                    Issue.record("both servers listen on port \(first.port)")
                    second.drain()
                    second.wait()
                } catch {
                    #expect(error.code == .listen)
                }
            }
        }
    }
}
