internal import COpenSSL

/// A private key of OpenSSL.
final class PrivateKey {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(pointer) }

    /// A new one for ECDSA on P-256.
    static func generate() throws(TLSError) -> PrivateKey {
        ERR_clear_error()
        guard let pointer = brume_evp_generate_p256() else { throw .takeQueue("OpenSSL made no key") }
        return PrivateKey(pointer)
    }

    /// - Parameter path: The file's path, for the error.
    convenience init(pem: [UInt8], path: String) throws(TLSError) {
        ERR_clear_error()
        let bio = try MemoryBIO(pem)
        // A callback that gives no passphrase: otherwise OpenSSL would ask for it on the terminal.
        guard let pointer = PEM_read_bio_PrivateKey(bio.pointer, nil, { _, _, _, _ in -1 }, nil) else {
            throw .takeQueue("cannot read the key \(path)")
        }
        self.init(pointer)
    }

    func pem() throws(TLSError) -> [UInt8] {
        ERR_clear_error()
        let bio = try MemoryBIO()
        guard PEM_write_bio_PrivateKey(bio.pointer, pointer, nil, nil, 0, nil, nil) == 1 else {
            throw .takeQueue("cannot write a key")
        }
        return bio.takeBytes()
    }
}
