internal import COpenSSL

/// Authenticated encryption without a random number: equal texts have equal seals, and a seal shows nothing but whether
/// two texts are equal, and how long they are.
///
/// ```
/// 0      h  header, as it is
/// h      16 code: HMAC-SHA256 of header and text, its first half
/// h + 16 n  text, encrypted with AES-256 in counter mode from the code on
/// ```
///
/// The code takes the place of the random number: no two different texts are encrypted from the same one on. This is
/// the SIV construction (Rogaway and Shrimpton, "Deterministic Authenticated-Encryption", 2006). Both keys are derived
/// from one secret by a label, so that nothing that is sealed for one purpose passes for another.
///
/// Not for two threads at a time: every owner makes its own from the secret.
package final class DeterministicSeal {
    package static let codeBytes = 16

    private let authentication: MessageAuthentication
    private let context: OpaquePointer

    /// - Parameter label: What is sealed. Headers of one label all have the same length.
    package init(secret: [UInt8], label: String) {
        let root = MessageAuthentication(key: secret)
        func key(_ use: String) -> [UInt8] { root.authenticate(Array("\(label), \(use)".utf8)) }
        authentication = MessageAuthentication(key: key("code"))
        guard let context = EVP_CIPHER_CTX_new(),
            EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, key("cipher"), nil) == 1
        else { fatalError("OpenSSL cannot encrypt with AES-256") }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    package func seal(_ text: [UInt8], after header: [UInt8]) -> [UInt8] {
        let code = Array(authentication.authenticate(header + text).prefix(Self.codeBytes))
        return header + code + crypt(text, from: code)
    }

    /// The text of a seal; nil if it was not made with this secret and label.
    package func open(_ sealed: [UInt8], headerByteCount: Int) -> [UInt8]? {
        guard sealed.count >= headerByteCount + Self.codeBytes else { return nil }
        let code = Array(sealed[headerByteCount..<headerByteCount + Self.codeBytes])
        let text = crypt(Array(sealed[(headerByteCount + Self.codeBytes)...]), from: code)
        let expected = authentication.authenticate(Array(sealed[..<headerByteCount]) + text).prefix(Self.codeBytes)
        return ConstantTime.isEqual(Array(expected), code) ? text : nil
    }

    /// Encrypts or decrypts, which is the same.
    private func crypt(_ bytes: [UInt8], from code: [UInt8]) -> [UInt8] {
        if bytes.isEmpty { return [] }
        return [UInt8](unsafeUninitializedCapacity: bytes.count) { target, initialized in
            var length: Int32 = 0
            let isDone =
                EVP_EncryptInit_ex(context, nil, nil, nil, code) == 1
                && EVP_EncryptUpdate(context, target.baseAddress, &length, bytes, Int32(bytes.count)) == 1
            precondition(isDone && length == bytes.count, "OpenSSL cannot encrypt with AES-256")
            initialized = bytes.count
        }
    }
}
