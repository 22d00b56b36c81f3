internal import COpenSSL

/// A function of 128 bits to 64 that nobody can tell from chance who has not the key: the first half of a block of
/// AES-256.
///
/// Not for two threads at a time: every owner makes its own from the secret.
package final class KeyedNumbers {
    private static let blockBytes = 16
    private let context: OpaquePointer

    /// - Parameter label: What the numbers are for: with another one the same secret gives others.
    package init(secret: [UInt8], label: String) {
        let key = MessageAuthentication(key: secret).authenticate(Array("\(label), numbers".utf8))
        guard let context = EVP_CIPHER_CTX_new(),
            EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nil, key, nil) == 1,
            EVP_CIPHER_CTX_set_padding(context, 0) == 1
        else { fatalError("OpenSSL cannot encrypt with AES-256") }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    package func number(_ high: UInt64, _ low: UInt64) -> UInt64 {
        var block = (high, low)
        return withUnsafeMutableBytes(of: &block) { block in
            let bytes = block.baseAddress!.assumingMemoryBound(to: UInt8.self)
            var length: Int32 = 0
            let isDone = EVP_EncryptUpdate(context, bytes, &length, bytes, Int32(KeyedNumbers.blockBytes)) == 1
            precondition(isDone && Int(length) == KeyedNumbers.blockBytes, "OpenSSL cannot encrypt with AES-256")
            return block.load(as: UInt64.self)
        }
    }
}
