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

    /// Whether there is no CA yet, nor a certificate that clients may already trust a CA for.
    private var isNew: Bool {
        ![caPath, caKeyPath, certificatePath].contains { FileSystem.exists($0) }
    }

    /// Issues a server's certificate for these names. Makes the CA in a folder that holds nothing yet: a second CA
    /// would have all clients refuse the server.
    func issue(names: [String]) throws(CommandError) {
        let makesAuthority = isNew
        if !makesAuthority { try checkAuthority() }
        do throws(SystemError) {
            try FileSystem.makeDirectoryTree(folder)
        } catch {
            throw CommandError(
                .failed, "the folder \(folder) can't be made: \(error)",
                hint: "choose one that this user may write to")
        }
        do throws(TLSError) {
            let authority: CertificateAuthority
            if makesAuthority {
                authority = try CertificateAuthority.generate()
                try authority.write(certificatePath: caPath, keyPath: caKeyPath)
            } else {
                authority = try CertificateAuthority(certificatePath: caPath, keyPath: caKeyPath)
            }
            try authority.issueServerCertificate(names: names, certificatePath: certificatePath, keyPath: keyPath)
        } catch {
            throw CommandError(.failed, "no certificate could be made in \(folder): \(error)")
        }
    }

    /// Checks that both files of the CA are there.
    private func checkAuthority() throws(CommandError) {
        let missing = [caPath, caKeyPath].filter { !FileSystem.exists($0) }
        if missing.isEmpty { return }
        throw CommandError(
            .notFound,
            "\(missing.joined(separator: " and ")) \(missing.count == 1 ? "is" : "are") missing, "
                + "without which there is no certificate that the clients of "
                + "\(FileSystem.exists(certificatePath) ? certificatePath : caPath) trust",
            hint:
                "put it back from where you keep it; or make a new CA with brume certs --folder DIR, in a new folder, "
                + "and give its ca.pem to all clients")
    }

    /// The names that the server's certificate is valid for.
    func currentNames() throws(CommandError) -> [String] {
        do throws(TLSError) {
            return try CertificateAuthority.names(ofCertificate: certificatePath)
        } catch {
            throw CommandError(
                .failed, "the names of the old certificate can't be read: \(error)",
                hint: "remove it, and name all that clients use: \(command(names: [])) --name NAME")
        }
    }

    /// Until when the server's certificate is valid.
    func expiry() throws(CommandError) -> String {
        do throws(TLSError) {
            let seconds = try CertificateAuthority.expirySeconds(ofCertificate: certificatePath)
            return TypedValue.text(of: Date(timeIntervalSince1970: TimeInterval(seconds)))
        } catch {
            throw CommandError(.failed, "the new certificate can't be read: \(error)")
        }
    }

    /// The command line for this folder and these names.
    func command(names: [String]) -> String {
        let folder = folder == CertsCommand.defaultFolder ? [] : ["--folder \(folder)"]
        return (["brume certs"] + folder + names.map { "--name \($0)" }).joined(separator: " ")
    }
}
