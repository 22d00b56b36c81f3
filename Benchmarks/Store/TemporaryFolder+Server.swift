internal import BrumeServer
internal import BrumeSystem

extension TemporaryFolder {
    /// For one benchmark.
    init() throws(SystemError) { try self.init(prefix: "brume-bench") }

    /// For a server on the folder `data` in it, with certificates of its own that `ca.pem` vouches for.
    func serverConfiguration() throws -> ServerConfiguration {
        let authority = try CertificateAuthority.generate()
        try authority.write(certificatePath: path + "/ca.pem", keyPath: path + "/ca.key")
        try authority.issueServerCertificate(
            names: ["127.0.0.1"], certificatePath: path + "/server.pem", keyPath: path + "/server.key")
        var configuration = ServerConfiguration(
            dataFolder: path + "/data", certificatePath: path + "/server.pem", keyPath: path + "/server.key")
        configuration.port = 0
        configuration.log = .none
        return configuration
    }
}
