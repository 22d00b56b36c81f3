internal import CSodium

/// Bytes as text for URLs, without padding (RFC 4648, section 5), in a time that depends on their number alone.
enum Base64URL {
    private static let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING

    static func text(_ bytes: [UInt8]) -> String {
        // With a zero behind it.
        var characters = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
        sodium_bin2base64(&characters, characters.count, bytes, bytes.count, variant)
        return String(decoding: characters.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The bytes of a text; nil for another alphabet, and for bits behind the last byte: no two texts are of the same
    /// bytes.
    static func bytes(_ text: [UInt8]) -> [UInt8]? {
        // libsodium 1.0.18 takes a byte that is no ASCII for an underscore, where characters have a sign.
        guard text.allSatisfy({ $0 < 0x80 }) else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count)
        var count = 0
        let isRead = text.withUnsafeBytes { text in
            let characters = UnsafeRawPointer(text.sodium).assumingMemoryBound(to: CChar.self)
            return sodium_base642bin(&bytes, bytes.count, characters, text.count, nil, &count, nil, variant)
        }
        guard isRead == 0 else { return nil }
        bytes.removeSubrange(count...)
        return bytes
    }
}
