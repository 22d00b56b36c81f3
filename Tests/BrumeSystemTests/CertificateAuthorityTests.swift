import BrumeSystem
import BrumeTestKit
import Testing

@Suite struct CertificateAuthorityTests {
    @Test("openssl verifies a server's certificate against its CA, its name and its address")
    func certificatesVerify() throws {
        let certificates = try TestCertificates(names: ["localhost", "*.example.com", "127.0.0.1", "2001:db8::1"])
        func verify(_ options: [String]) throws -> Int32 {
            try Tool.run(
                ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", certificates.caPath] + options
                    + [certificates.certificatePath]
            ).status
        }
        #expect(try verify([]) == 0)
        #expect(try verify(["-verify_hostname", "localhost"]) == 0)
        #expect(try verify(["-verify_hostname", "a.example.com"]) == 0)
        #expect(try verify(["-verify_ip", "2001:db8::1"]) == 0)
        #expect(try verify(["-verify_hostname", "example.org"]) != 0)
        #expect(try verify(["-verify_ip", "192.0.2.1"]) != 0)
    }

    @Test("the names of a server's certificate are read back as they were given")
    func names() throws {
        let names = ["localhost", "*.example.com", "127.0.0.1", "2001:db8::1", "::1"]
        let certificates = try TestCertificates(names: names)
        #expect(try CertificateAuthority.names(ofCertificate: certificates.certificatePath) == names)
        #expect(try CertificateAuthority.names(ofCertificate: certificates.caPath).isEmpty)
        #expect(names.allSatisfy { CertificateAuthority.isServerName($0) })
        #expect(!CertificateAuthority.isServerName("a,DNS:evil.example") && !CertificateAuthority.isServerName(""))
    }

    @Test("a CA that is read back issues certificates that verify")
    func authorityIsReadBack() throws {
        let certificates = try TestCertificates()
        let authority = try CertificateAuthority(
            certificatePath: certificates.caPath, keyPath: certificates.caKeyPath)
        let path = certificates.folder.file("second.pem")
        try authority.issueServerCertificate(
            names: ["second"], certificatePath: path, keyPath: certificates.folder.file("second.key"))
        #expect(try Tool.run(["openssl", "verify", "-CAfile", certificates.caPath, path]).status == 0)
    }

    @Test("keys are readable by their owner alone, and no temporary file stays")
    func keysArePrivate() throws {
        let certificates = try TestCertificates()
        #expect(try FileSystem.permissions(certificates.keyPath) == 0o600)
        #expect(try FileSystem.permissions(certificates.caKeyPath) == 0o600)
        #expect(try FileSystem.list(certificates.folder.path) == ["ca.key", "ca.pem", "server.key", "server.pem"])
    }

    @Test(
        "a name that is none is refused, so that it cannot add entries of its own",
        arguments: ["", "a,DNS:evil.example", "a b", "IP:1.2.3.4", String(repeating: "a", count: 300)])
    func badNames(name: String) throws {
        let directory = try TestFolder()
        let authority = try CertificateAuthority.generate()
        #expect(throws: TLSError.self) {
            try authority.issueServerCertificate(
                names: [name], certificatePath: directory.file("a.pem"), keyPath: directory.file("a.key"))
        }
        #expect(try FileSystem.list(directory.path).isEmpty)
    }

    @Test("a key of another certificate is refused, and the message names both files")
    func mixedFiles() throws {
        let (one, two) = (try TestCertificates(), try TestCertificates(hasOwnAuthority: true))
        let error = #expect(throws: TLSError.self) {
            _ = try TLSServerContext(certificatePath: one.certificatePath, keyPath: two.keyPath)
        }
        #expect(error?.description.contains(two.keyPath) == true)
        #expect(throws: TLSError.self) {
            _ = try CertificateAuthority(certificatePath: one.caPath, keyPath: two.caKeyPath)
        }
        #expect(throws: TLSError.self) { _ = try TLSClientContext(caPath: "/nowhere/ca.pem") }
    }
}
