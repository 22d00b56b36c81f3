internal import BrumeSystem

/// An account's token: `brume_` and 256 random bits in base64url (RFC 4648, section 5, without padding).
package enum AccountToken {
    private static let prefix = "brume_"
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// A new token, and the hash that the server keeps of it.
    package static func make() -> (token: String, hash: [UInt8]) {
        let token = prefix + base64URL(SecureRandom.bytes(32))
        return (token, SHA256.digest(Array(token.utf8)))
    }

    /// The hash of a token; nil for text that can't be a token.
    package static func hash(_ token: String) -> [UInt8]? {
        guard token.hasPrefix(prefix), token.utf8.count == prefix.utf8.count + 43 else { return nil }
        return SHA256.digest(Array(token.utf8))
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let taken = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < taken ? UInt32(bytes[index + offset]) : 0) }
            for position in 0...taken { text.append(alphabet[Int(group >> (18 - 6 * UInt32(position)) & 63)]) }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }
}
