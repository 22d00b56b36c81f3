internal import COpenSSL

/// Authenticated encryption without a random number: equal texts have equal seals, and a seal shows nothing but whether
/// two texts are equal, and how long they are.
///
/// ```
/// 0   1  version of what is sealed, readable
/// 1   16 code: HMAC-SHA256 of version and text, its first half
/// 17  n  text, encrypted with AES-256 in counter mode from the code on
/// ```
///
/// The code takes the place of the random number: no two different texts are encrypted from the same one on. This is
/// the SIV construction (Rogaway and Shrimpton, "Deterministic Authenticated-Encryption", 2006). Both keys are derived
/// from one secret by a label, so that nothing that is sealed for one purpose passes for another.
///
/// Not for two threads at a time: every owner makes its own from the secret. A seal takes one allocation, and so does
/// what is opened.
package final class DeterministicSeal {
    package static let codeBytes = 16
    private static let frontBytes = 1 + codeBytes

    private let authentication: MessageAuthentication
    private let context: OpaquePointer

    /// - Parameter label: What is sealed.
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

    package func seal(_ text: [UInt8], version: UInt8) -> [UInt8] {
        let byteCount = Self.frontBytes + text.count
        return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
            let sealed = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<byteCount])
            sealed[0] = version
            let code = UnsafeMutableRawBufferPointer(rebasing: sealed[1..<Self.frontBytes])
            text.withUnsafeBytes { text in
                withCode(version: version, text) { code.copyMemory(from: $0) }
                crypt(
                    text, into: UnsafeMutableRawBufferPointer(rebasing: sealed[Self.frontBytes...]),
                    from: UnsafeRawBufferPointer(code))
            }
            initialized = byteCount
        }
    }

    /// The text of a seal; nil if it was not made with this secret and label.
    package func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.frontBytes else { return nil }
        var isGenuine = false
        let text = sealed.withUnsafeBytes { sealed in
            let code = UnsafeRawBufferPointer(rebasing: sealed[1..<Self.frontBytes])
            let byteCount = sealed.count - Self.frontBytes
            return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
                let text = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[..<byteCount])
                crypt(UnsafeRawBufferPointer(rebasing: sealed[Self.frontBytes...]), into: text, from: code)
                withCode(version: sealed[0], UnsafeRawBufferPointer(text)) {
                    isGenuine = ConstantTime.isEqual($0, code)
                }
                initialized = byteCount
            }
        }
        return isGenuine ? text : nil
    }

    private func withCode(version: UInt8, _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: MessageAuthentication.codeBytes, alignment: 8) { whole in
            withUnsafeBytes(of: version) { authentication.authenticate($0, text, into: whole) }
            body(UnsafeRawBufferPointer(rebasing: whole[..<Self.codeBytes]))
        }
    }

    /// Encrypts or decrypts, which is the same.
    private func crypt(
        _ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, from code: UnsafeRawBufferPointer
    ) {
        if bytes.isEmpty { return }
        var length: Int32 = 0
        let isDone =
            EVP_EncryptInit_ex(context, nil, nil, nil, code.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1
            && EVP_EncryptUpdate(
                context, target.baseAddress?.assumingMemoryBound(to: UInt8.self), &length,
                bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count)) == 1
        precondition(isDone && length == bytes.count, "OpenSSL cannot encrypt with AES-256")
    }
}
