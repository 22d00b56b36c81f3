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
        // By bytes: a title may begin with something that Swift takes for a part of the point before it.
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Array($0) }
        guard parts[0] == Array(Self.version.utf8) else {
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            throw !parts[0].isEmpty && parts[0].allSatisfy(digits.contains) ? .newer : .damaged
        }
        guard parts.count >= 2, var bytes = Base64URL.bytes(parts[1]),
            bytes.count == Self.ownerBytes + SecretKey.byteCount
        else { throw .damaged }
        defer { Sodium.wipe(&bytes) }
        var seed = Array(bytes[Self.ownerBytes...])
        defer { Sodium.wipe(&seed) }
        owner = Array(bytes[..<Self.ownerBytes])
        secret = LinkSecret(seed: SecretKey(copying: seed, isLocked: false))
        title = parts.count == 3 ? String(decoding: parts[2], as: UTF8.self) : nil
    }

    package var text: String {
        var bytes = owner
        bytes.reserveCapacity(Self.ownerBytes + SecretKey.byteCount)
        secret.pairs.seed.withBytes { bytes.append(contentsOf: $0) }
        defer { Sodium.wipe(&bytes) }
        let keys = Base64URL.text(bytes)
        return "\(Self.version).\(keys)" + (title.map { "." + $0 } ?? "")
    }

    /// Whether an account's chain begins as the link says.
    package func isOf(_ chain: StatementChain) -> Bool {
        chain.first.number == 1 && Array(chain.first.hash.prefix(Self.ownerBytes)) == owner
    }
}
