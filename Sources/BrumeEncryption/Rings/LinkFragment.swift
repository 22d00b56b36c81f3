/// What stands behind the `#` of a share's URL, which no server gets to see: `1.KEYS.TITLE`.
package struct LinkFragment: Sendable {
    static let ownerBytes = 16
    private static let version = "1"

    /// The first half of the hash of the owner's first statement: it proves to a guest whose share this is.
    package let owner: [UInt8]
    package let secret: LinkSecret
    package let title: String?

    package init(ownersFirstStatement hash: [UInt8], secret: LinkSecret, title: String?) {
        owner = Array(hash.prefix(Self.ownerBytes))
        self.secret = secret
        self.title = title
    }

    /// Reads a fragment, without its `#`.
    package init(_ text: String) throws(EncryptionRefusal) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        let version = parts[0]
        guard version == Self.version else {
            throw !version.isEmpty && version.allSatisfy { $0.isASCII && $0.isNumber } ? .newer : .damaged
        }
        guard parts.count >= 2, var bytes = Base64URL.bytes(parts[1]),
            bytes.count == Self.ownerBytes + SecretKey.byteCount
        else { throw .damaged }
        defer { Sodium.wipe(&bytes) }
        var seed = Array(bytes[Self.ownerBytes...])
        defer { Sodium.wipe(&seed) }
        owner = Array(bytes[..<Self.ownerBytes])
        secret = LinkSecret(seed: SecretKey(copying: seed))
        title = parts.count == 3 ? String(parts[2]) : nil
    }

    package var text: String {
        let keys = secret.pairs.seed.withBytes { Base64URL.text(owner + Array($0)) }
        return "\(Self.version).\(keys)" + (title.map { "." + $0 } ?? "")
    }

    /// Whether an account's chain begins as the link says.
    package func isOf(_ chain: StatementChain) -> Bool {
        chain.first.number == 1 && Array(chain.first.hash.prefix(Self.ownerBytes)) == owner
    }
}
