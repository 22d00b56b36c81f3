package import BrumeSystem

/// A server's certificate for this machine and the CA that vouches for it, in files.
package struct TestCertificates: Sendable {
    package static let localNames = ["localhost", "127.0.0.1", "::1"]

    /// What every server of this process has that needs none of its own. Made once; nobody changes its files.
    package static let shared: TestCertificates = {
        do {
            let folder = try TestFolder()
            return try TestCertificates(names: localNames, in: folder, by: CertificateAuthority.generate())
        } catch {
            preconditionFailure("the tests have no certificates: \(error)")
        }
    }()

    package let folder: TestFolder
    package var caPath: String { folder.file("ca.pem") }
    package var caKeyPath: String { folder.file("ca.key") }
    package var certificatePath: String { folder.file("server.pem") }
    package var keyPath: String { folder.file("server.key") }

    /// Issues another certificate in a folder of its own.
    ///
    /// - Parameter hasOwnAuthority: Whether its CA is another one than the CA of all others.
    package init(names: [String] = localNames, hasOwnAuthority: Bool = false) throws {
        let (authority, folder) = (Self.shared, try TestFolder())
        try self.init(
            names: names, in: folder,
            by: hasOwnAuthority
                ? CertificateAuthority.generate()
                : CertificateAuthority(certificatePath: authority.caPath, keyPath: authority.caKeyPath))
    }

    private init(names: [String], in folder: TestFolder, by authority: CertificateAuthority) throws(TLSError) {
        self.folder = folder
        try authority.write(certificatePath: caPath, keyPath: caKeyPath)
        try authority.issueServerCertificate(names: names, certificatePath: certificatePath, keyPath: keyPath)
    }

    package func serverContext() throws(TLSError) -> TLSServerContext {
        try TLSServerContext(certificatePath: certificatePath, keyPath: keyPath)
    }

    package func clientContext() throws(TLSError) -> TLSClientContext { try TLSClientContext(caPath: caPath) }
}
