internal import COpenSSL
internal import Glibc

/// A private CA: for development, for tests, and for servers whose clients are told which CA to trust.
///
/// ECDSA on P-256, X.509 version 3. The CA holds for 10 years and signs no other CA; a server's certificate for 825
/// days, which is the most that Apple's systems accept. Files are PEM and appear whole; keys have mode 0600 from their
/// first byte.
package final class CertificateAuthority {
    package static let authorityDays = 3650
    package static let serverDays = 825
    /// PEM files of certificates and keys take a few hundred bytes; more is not ours.
    private static let fileBytesMax = 64 * 1024

    private let certificate: Certificate
    private let key: PrivateKey

    private init(certificate: Certificate, key: PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    /// Makes a new CA.
    /// - Parameter commonName: What people see in lists of certificates.
    package static func generate(commonName: String = "Brume development CA") throws(TLSError) -> CertificateAuthority {
        let key = try PrivateKey.generate()
        let certificate = try Certificate(subject: commonName, key: key, days: authorityDays)
        try certificate.setIssuer(certificate)
        try certificate.add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: certificate)
        try certificate.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: certificate)
        try certificate.add(NID_subject_key_identifier, "hash", issuer: certificate)
        try certificate.sign(with: key)
        return CertificateAuthority(certificate: certificate, key: key)
    }

    /// Reads a CA back that `write` wrote.
    package convenience init(certificatePath: String, keyPath: String) throws(TLSError) {
        let certificate = try Certificate(pem: CertificateAuthority.read(certificatePath), path: certificatePath)
        let key = try PrivateKey(pem: CertificateAuthority.read(keyPath), path: keyPath)
        guard certificate.belongs(to: key) else {
            throw TLSError("the key \(keyPath) does not belong to the certificate \(certificatePath)")
        }
        self.init(certificate: certificate, key: key)
    }

    /// Writes certificate (mode 0644) and key (mode 0600).
    package func write(certificatePath: String, keyPath: String) throws(TLSError) {
        try CertificateAuthority.replace(keyPath, key.pem(), 0o600)
        try CertificateAuthority.replace(certificatePath, certificate.pem(), 0o644)
    }

    /// Makes a key and a certificate for a server, and writes both.
    /// - Parameter names: DNS names (a first label of `*` is allowed) and IP addresses that clients use to reach it.
    package func issueServerCertificate(
        names: [String], certificatePath: String, keyPath: String
    ) throws(TLSError) {
        guard let first = names.first else { throw TLSError("a server's certificate needs at least one name") }
        let key = try PrivateKey.generate()
        let server = try Certificate(
            subject: String(first.prefix(64)), key: key, days: CertificateAuthority.serverDays)
        try server.setIssuer(certificate)
        try server.add(NID_basic_constraints, "critical,CA:FALSE", issuer: certificate)
        try server.add(NID_key_usage, "critical,digitalSignature", issuer: certificate)
        try server.add(NID_ext_key_usage, "serverAuth", issuer: certificate)
        try server.add(NID_subject_key_identifier, "hash", issuer: certificate)
        try server.add(NID_authority_key_identifier, "keyid:always", issuer: certificate)
        var entries: [String] = []
        for name in names { entries.append(try CertificateAuthority.alternativeName(name)) }
        try server.add(NID_subject_alt_name, entries.joined(separator: ","), issuer: certificate)
        try server.sign(with: self.key)
        try CertificateAuthority.replaceKey(keyPath, key.pem())
        try CertificateAuthority.replace(certificatePath, server.pem(), 0o644)
    }

    /// Writes a server's key. Whoever could read the one before can read this one: the server may be another user's.
    private static func replaceKey(_ path: String, _ pem: [UInt8]) throws(TLSError) {
        var former = stat()
        guard stat(path, &former) == 0 else { return try replace(path, pem, 0o600) }
        try replace(path, pem, 0o600)
        // Where that is not permitted, whoever renews the certificate is not the one who made it readable.
        guard chown(path, former.st_uid, former.st_gid) == 0 else { return }
        _ = chmod(path, former.st_mode & 0o640 | 0o600)
    }

    /// The DNS names and IP addresses that the server's certificate in a file is valid for.
    package static func names(ofCertificate path: String) throws(TLSError) -> [String] {
        try Certificate(pem: read(path), path: path).names
    }

    /// The time until which the certificate in a file is valid, in seconds since 1970.
    package static func expirySeconds(ofCertificate path: String) throws(TLSError) -> Int {
        try Certificate(pem: read(path), path: path).expirySeconds()
    }

    /// Whether a server's certificate can be valid for `name`: a DNS name, or an IP address.
    package static func isServerName(_ name: String) -> Bool { (try? alternativeName(name)) != nil }

    /// OpenSSL's form of one name. The name is checked, because that form gives commas and colons a meaning.
    private static func alternativeName(_ name: String) throws(TLSError) -> String {
        var address = in6_addr()
        if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 { return "IP:\(name)" }
        let isName =
            (1...253).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"): true
                default: false
                }
            }
        guard isName else { throw TLSError("\"\(name)\" is neither a DNS name nor an IP address") }
        return "DNS:\(name)"
    }

    private static func read(_ path: String) throws(TLSError) -> [UInt8] {
        do throws(SystemError) {
            return try FileSystem.read(path, limit: fileBytesMax)
        } catch {
            throw TLSError("\(error)")
        }
    }

    private static func replace(_ path: String, _ bytes: [UInt8], _ permissions: UInt32) throws(TLSError) {
        do throws(SystemError) {
            try FileSystem.atomicReplace(path, bytes, permissions: permissions)
        } catch {
            throw TLSError("\(error)")
        }
    }
}
