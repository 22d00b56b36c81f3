import BrumeSystem

/// A CA with a server's certificate for localhost, in files of a temporary folder.
struct TestCertificates {
    let directory = TemporaryDirectory()
    var caPath: String { directory.file("ca.pem") }
    var certificatePath: String { directory.file("server.pem") }
    var keyPath: String { directory.file("server.key") }

    init(names: [String] = ["localhost", "127.0.0.1", "::1"]) throws {
        let authority = try CertificateAuthority.generate()
        try authority.write(certificatePath: caPath, keyPath: directory.file("ca.key"))
        try authority.issueServerCertificate(names: names, certificatePath: certificatePath, keyPath: keyPath)
    }

    func serverContext() throws -> TLSServerContext {
        try TLSServerContext(certificatePath: certificatePath, keyPath: keyPath)
    }

    func clientContext() throws -> TLSClientContext {
        try TLSClientContext(caPath: caPath)
    }
}
