internal import COpenSSL
internal import Glibc

/// An X.509 certificate of OpenSSL, read from a file or being made.
final class Certificate {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit { X509_free(pointer) }

    /// A certificate without issuer, extensions and signature.
    convenience init(subject: String, key: PrivateKey, days: Int) throws(TLSError) {
        ERR_clear_error()
        guard let pointer = X509_new() else { throw .takeQueue("OpenSSL made no certificate") }
        self.init(pointer)
        // 2 stands for version 3. The serial number has 127 random bits and is positive (RFC 5280 section 4.1.2.2).
        var serial = SecureRandom.bytes(16)
        serial[0] = serial[0] & 0x7f | 0x40
        let number = BN_bin2bn(serial, Int32(serial.count), nil)
        defer { BN_free(number) }
        let name = X509_get_subject_name(pointer)
        let commonName = Array(subject.utf8)
        let isMade =
            X509_set_version(pointer, 2) == 1
            && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil
            // Valid from an hour ago: clocks differ.
            && X509_gmtime_adj(X509_getm_notBefore(pointer), -3600) != nil
            && X509_gmtime_adj(X509_getm_notAfter(pointer), days * 86_400 - 3600) != nil
            && X509_NAME_add_entry_by_txt(
                name, "CN", V_ASN1_UTF8STRING, commonName, Int32(commonName.count), -1, 0) == 1
            && X509_set_pubkey(pointer, key.pointer) == 1
        guard isMade else { throw .takeQueue("cannot make a certificate for \(subject)") }
    }

    /// - Parameter path: The file's path, for the error.
    convenience init(pem: [UInt8], path: String) throws(TLSError) {
        ERR_clear_error()
        let bio = try MemoryBIO(pem)
        guard let pointer = PEM_read_bio_X509(bio.pointer, nil, nil, nil) else {
            throw .takeQueue("cannot read the certificate \(path)")
        }
        self.init(pointer)
    }

    func setIssuer(_ issuer: Certificate) throws(TLSError) {
        guard X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1 else {
            throw .takeQueue("cannot name the issuer")
        }
    }

    /// Adds an extension in OpenSSL's textual form. The key must be set, and the issuer complete.
    func add(_ id: Int32, _ value: String, issuer: Certificate) throws(TLSError) {
        ERR_clear_error()
        var context = X509V3_CTX()
        brume_x509v3_set_ctx(&context, issuer.pointer, pointer)
        guard let `extension` = X509V3_EXT_conf_nid(nil, &context, id, value) else {
            throw .takeQueue("cannot make the extension \(value)")
        }
        defer { X509_EXTENSION_free(`extension`) }
        guard X509_add_ext(pointer, `extension`, -1) == 1 else { throw .takeQueue("cannot add the extension \(value)") }
    }

    func sign(with key: PrivateKey) throws(TLSError) {
        ERR_clear_error()
        guard X509_sign(pointer, key.pointer, EVP_sha256()) > 0 else { throw .takeQueue("cannot sign") }
    }

    /// The DNS names and IP addresses that it is valid for, in its order; names of other kinds are left out.
    var names: [String] {
        guard let list = brume_x509_alternative_names(pointer) else { return [] }
        defer { GENERAL_NAMES_free(list) }
        return (0..<brume_general_names_count(list)).compactMap { index -> String? in
            var bytes: UnsafePointer<UInt8>?
            var count: Int32 = 0
            let kind = brume_general_name(list, index, &bytes, &count)
            guard let bytes else { return nil }
            let value = UnsafeBufferPointer(start: bytes, count: Int(count))
            return kind == GEN_IPADD ? Self.addressText(value) : String(decoding: value, as: UTF8.self)
        }
    }

    /// The time until which it is valid, in seconds since 1970.
    func expirySeconds() throws(TLSError) -> Int {
        ERR_clear_error()
        var time = tm()
        guard ASN1_TIME_to_tm(X509_get0_notAfter(pointer), &time) == 1 else {
            throw .takeQueue("cannot read until when a certificate is valid")
        }
        return timegm(&time)
    }

    /// The text of an address of 4 or 16 bytes; nil for any other length.
    private static func addressText(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes.baseAddress, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func belongs(to key: PrivateKey) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(pointer, key.pointer) == 1
    }

    func pem() throws(TLSError) -> [UInt8] {
        ERR_clear_error()
        let bio = try MemoryBIO()
        guard PEM_write_bio_X509(bio.pointer, pointer) == 1 else { throw .takeQueue("cannot write a certificate") }
        return bio.takeBytes()
    }
}
