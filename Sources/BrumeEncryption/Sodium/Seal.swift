internal import CSodium

/// Authenticated encryption: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha), with the nonce in front.
enum Seal {
    static let nonceBytes = crypto_aead_xchacha20poly1305_ietf_npubbytes()
    static let codeBytes = crypto_aead_xchacha20poly1305_ietf_abytes()
    /// What a seal has more than what it seals.
    static let overheadBytes = nonceBytes + codeBytes

    /// Seals with a nonce that nobody used before: 24 random bytes.
    static func seal(_ plain: [UInt8], data: [UInt8], key: SecretKey) -> [UInt8] {
        seal(plain, data: data, key: key, behind: [])
    }

    /// A seal behind other bytes, in one allocation.
    static func seal(_ plain: [UInt8], data: [UInt8], key: SecretKey, behind front: [UInt8]) -> [UInt8] {
        Sodium.start()
        let count = front.count + overheadBytes + plain.count
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let target = UnsafeMutableRawBufferPointer(start: buffer.sodium, count: count)
            target.copyBytes(from: front)
            let sealed = UnsafeMutableRawBufferPointer(rebasing: target[front.count...])
            randombytes_buf(sealed.sodium, nonceBytes)
            plain.withUnsafeBytes { encrypt($0, data: data, key: key, behindNonceIn: sealed) }
            initialized = count
        }
    }

    /// Encrypts under the nonce that `target` begins with. One nonce must never be used for two different texts.
    static func encrypt(
        _ plain: UnsafeRawBufferPointer, data: [UInt8], key: SecretKey,
        behindNonceIn target: UnsafeMutableRawBufferPointer
    ) {
        precondition(target.count == plain.count + overheadBytes, "a seal has its nonce and its code")
        precondition(key.byteCount == SecretKey.byteCount, "a seal has a key of 32 bytes")
        let bytes = target.sodium
        let result = key.withBytes {
            crypto_aead_xchacha20poly1305_ietf_encrypt(
                bytes + nonceBytes, nil, plain.sodium, UInt64(plain.count),
                data, UInt64(data.count), nil, bytes, $0.sodium)
        }
        precondition(result == 0, "libsodium cannot encrypt")
    }

    /// What a seal seals.
    ///
    /// - Throws: `damaged` if it was not made with this key and data.
    static func open(_ sealed: ArraySlice<UInt8>, data: [UInt8], key: SecretKey) throws(EncryptionRefusal) -> [UInt8] {
        let count = sealed.count - overheadBytes
        guard count >= 0 else { throw .damaged }
        Sodium.start()
        var isGenuine = false
        let plain = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            isGenuine = sealed.withUnsafeBytes {
                decrypt(
                    $0, data: data, key: key, into: UnsafeMutableRawBufferPointer(start: buffer.sodium, count: count))
            }
            initialized = isGenuine ? count : 0
        }
        guard isGenuine else { throw .damaged }
        return plain
    }

    /// Whether a seal was genuine; only then there is something in `target`.
    static func decrypt(
        _ sealed: UnsafeRawBufferPointer, data: [UInt8], key: SecretKey, into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(sealed.count == target.count + overheadBytes, "a seal has its nonce and its code")
        precondition(key.byteCount == SecretKey.byteCount, "a seal has a key of 32 bytes")
        let bytes = sealed.sodium
        return key.withBytes {
            crypto_aead_xchacha20poly1305_ietf_decrypt(
                target.sodium, nil, nil, bytes + nonceBytes,
                UInt64(sealed.count - nonceBytes), data, UInt64(data.count), bytes, $0.sodium) == 0
        }
    }
}
