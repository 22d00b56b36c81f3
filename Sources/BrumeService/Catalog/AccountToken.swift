internal import BrumeSystem

/// An account's token: `brume_` and 256 random bits in base64url.
package enum AccountToken {
    private static let prefix = "brume_"

    /// A new token, and the hash that the server keeps of it.
    package static func make() -> (token: String, hash: [UInt8]) {
        let token = prefix + Base64URL.text(SecureRandom.bytes(32))
        return (token, SHA256.digest(Array(token.utf8)))
    }

    /// The hash of a token; nil for text that can't be a token.
    package static func hash(_ token: String) -> [UInt8]? {
        guard token.hasPrefix(prefix), token.utf8.count == prefix.utf8.count + 43 else { return nil }
        return SHA256.digest(Array(token.utf8))
    }
}
