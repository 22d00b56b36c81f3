internal import BrumeSystem
internal import Foundation

/// A folder with a private CA and a server's certificate: `ca.pem`, `ca.key`, `server.pem`, `server.key`.
struct Certificates: Sendable {
    let folder: String

    var caPath: String { folder + "/ca.pem" }
    var caKeyPath: String { folder + "/ca.key" }
    var certificatePath: String { folder + "/server.pem" }
    var keyPath: String { folder + "/server.key" }

    var hasServerCertificate: Bool { FileSystem.exists(certificatePath) && FileSystem.exists(keyPath) }

    static let localNames = ["localhost", "127.0.0.1", "::1"]

    /// Issues a server's certificate for these names; makes the CA if there is none.
    func issue(names: [String]) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let authority: CertificateAuthority
            if FileSystem.exists(caPath), FileSystem.exists(caKeyPath) {
                authority = try CertificateAuthority(certificatePath: caPath, keyPath: caKeyPath)
            } else {
                authority = try CertificateAuthority.generate()
                try authority.write(certificatePath: caPath, keyPath: caKeyPath)
            }
            try authority.issueServerCertificate(names: names, certificatePath: certificatePath, keyPath: keyPath)
        } catch {
            throw CommandError(.failed, "no certificate could be made in \(folder): \(error)")
        }
    }
}
