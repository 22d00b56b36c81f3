import BrumeServer
import BrumeSystem
import BrumeTestKit
import Testing

@Suite("A certificate that is renewed while the server runs", .timeLimit(.minutes(4)))
struct CertificateReloadTests {
    @Test(
        "new connections get it, those that are there stay; files that can't be used change nothing, and the log says so"
    )
    func reload() async throws {
        let certificates = try TestCertificates()
        try await RunningServer.running(certificates: certificates) { server in
            let (certificate, key) = (certificates.certificatePath, certificates.keyPath)
            let token = try server.addAccount("ada")
            let early = try await FrameClient.welcomed(server, token: token)

            let authority = try CertificateAuthority.generate()
            // The key is another one's for now.
            try authority.issueServerCertificate(
                names: ["127.0.0.1"], certificatePath: certificate, keyPath: certificates.folder.file("other.key"))
            server.server.reloadCertificate()
            #expect(server.log.text.contains("the former one stays in use"))
            let second = try await FrameClient.welcomed(server, token: token, device: 2)

            try authority.issueServerCertificate(names: ["127.0.0.1"], certificatePath: certificate, keyPath: key)
            // Whoever trusts this CA alone refuses the former certificate.
            try authority.write(certificatePath: server.caPath, keyPath: certificates.caKeyPath)
            await #expect(throws: TestFailure.self) {
                _ = try await FrameClient.welcomed(server, token: token, device: 3)
            }
            server.server.reloadCertificate()
            try await server.log.wait(for: "new connections get the certificate as it is now")
            for device in 4...9 {
                let late = try await FrameClient.welcomed(server, token: token, device: UInt8(device))
                late.abort()
            }
            for peer in [early, second] {
                _ = try await peer.succeed(HostileRequests.Method.zonesList, ProtobufField.encode([.varint(1, 2)]))
            }
        }
    }
}
