internal import BrumeServer
internal import BrumeSystem
internal import Foundation

/// Whether clients can trust the server's certificate, and for how long.
enum CertificateCheck {
    private static let warningDays = 30

    static func findings(_ configuration: ServerConfiguration) -> [Finding] {
        let (path, keyPath) = (configuration.certificatePath, configuration.keyPath)
        do throws(TLSError) {
            _ = try TLSServerContext(certificatePath: path, keyPath: keyPath)
        } catch {
            return [
                Finding(
                    "certificate", .failure, "\(path) and \(keyPath) can't be used: \(error.message)",
                    remedy: "give a certificate chain and the key that belongs to it; brume certs makes both")
            ]
        }
        return [validity(path), names(path, configuration.host), keyMode(keyPath)].compactMap(\.self)
    }

    /// Says in a log what a doctor would say of the time that is left.
    static func warn(_ path: String, in log: Log) {
        let finding = validity(path)
        if finding.severity != .fine { log.warning(finding.sentence, [("remedy", finding.remedy)]) }
    }

    private static func validity(_ path: String) -> Finding {
        guard let seconds = try? CertificateAuthority.expirySeconds(ofCertificate: path) else {
            return Finding(
                "certificate", .warning, "until when \(path) is valid can't be read", remedy: "replace the certificate")
        }
        let days = Int((Double(seconds) - Date().timeIntervalSince1970) / 86_400)
        let renewal = "renew it (brume certs --renew, or where it comes from), then reload the server (SIGHUP)"
        if days < 0 {
            return Finding("certificate", .failure, "\(path) has expired: no client connects", remedy: renewal)
        }
        let left = CountText.text(days, "day")
        return days < warningDays
            ? Finding("certificate", .warning, "\(path) is valid for \(left) more", remedy: renewal)
            : Finding("certificate", "\(path) is valid for \(left)")
    }

    /// A server that others reach has to have a name by which they do.
    private static func names(_ path: String, _ host: String) -> Finding? {
        guard let names = try? CertificateAuthority.names(ofCertificate: path) else { return nil }
        let isLocal = ["localhost", "127.0.0.1", "::1"].contains(host)
        let others = names.filter { !Certificates.localNames.contains($0) }
        if isLocal || !others.isEmpty { return Finding("certificate names", names.joined(separator: ", ")) }
        return Finding(
            "certificate names", .warning,
            "the certificate is for this machine alone (\(names.joined(separator: ", "))), "
                + "and \(host) is open to others",
            remedy: "brume certs --renew --name sync.example.com, with the name that clients use")
    }

    private static func keyMode(_ path: String) -> Finding? {
        guard let mode = try? FileSystem.permissions(path), mode & 0o004 != 0 else { return nil }
        return Finding(
            "certificate key", .warning, "every user of this machine can read \(path)", remedy: "chmod o= \(path)")
    }
}
