internal import COpenSSL

/// SHA-256 of bytes that come in pieces.
///
/// `@unchecked Sendable`: whoever has it may pass it to another thread, but one at a time uses it.
package final class SHA256Stream: @unchecked Sendable {
    private let context: OpaquePointer
    private var isFinished = false

    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            fatalError("OpenSSL cannot compute SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(!isFinished, "a hash goes on after its end")
        if bytes.isEmpty { return }
        precondition(
            EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "OpenSSL cannot compute SHA-256")
    }

    /// The 32 bytes of the hash. Nothing is asked of it afterwards.
    package func finish() -> [UInt8] {
        precondition(!isFinished, "a hash is finished twice")
        isFinished = true
        return [UInt8](unsafeUninitializedCapacity: SHA256.digestBytes) { buffer, initialized in
            var length: UInt32 = 0
            let result = EVP_DigestFinal_ex(context, buffer.baseAddress, &length)
            precondition(result == 1 && length == SHA256.digestBytes, "OpenSSL cannot compute SHA-256")
            initialized = SHA256.digestBytes
        }
    }
}
