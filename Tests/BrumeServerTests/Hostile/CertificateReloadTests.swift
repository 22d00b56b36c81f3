import BrumeServer
import BrumeSystem
import Testing

@Suite("A certificate that is renewed while the server runs", .timeLimit(.minutes(4)))
struct CertificateReloadTests {
    @Test(
        "new connections get it, those that are there stay; files that can't be used change nothing, and the log says so"
    )
    func reload() async throws {
        try await HostileServer.running { server in
            let folder = FileSystem.directory(of: server.caPath)
            let (certificate, key) = (folder + "/server.pem", folder + "/server.key")
            let token = try await server.addAccount("ada")
            let early = try await HostilePeer.welcomed(server, token: token)

            let authority = try CertificateAuthority.generate()
            // The key is another one's for now.
            try authority.issueServerCertificate(
                names: ["127.0.0.1"], certificatePath: certificate, keyPath: folder + "/other.key")
            server.server.reloadCertificate()
            #expect(server.logText.contains("the former one stays in use"))
            let second = try await HostilePeer.welcomed(server, token: token, device: 2)

            try authority.issueServerCertificate(names: ["127.0.0.1"], certificatePath: certificate, keyPath: key)
            // Whoever trusts this CA alone refuses the former certificate.
            try authority.write(certificatePath: server.caPath, keyPath: folder + "/ca.key")
            await #expect(throws: HostilePeer.Failure.self) {
                _ = try await HostilePeer.welcomed(server, token: token, device: 3)
            }
            server.server.reloadCertificate()
            try await server.waitForLog("new connections get the certificate as it is now")
            for device in 4...9 {
                let late = try await HostilePeer.welcomed(server, token: token, device: UInt8(device))
                late.abort()
            }
            for peer in [early, second] {
                _ = try await peer.succeed(HostileRequests.Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
            }
        }
    }
}
