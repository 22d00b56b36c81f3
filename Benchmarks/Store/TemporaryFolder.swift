internal import BrumeKit
internal import BrumeServer
internal import BrumeSystem
internal import Glibc

/// A folder for one benchmark.
struct TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/brume-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("no folder for the benchmark: errno \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// With what is in it.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

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
