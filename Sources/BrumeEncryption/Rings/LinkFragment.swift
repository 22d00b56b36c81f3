/// What stands behind the `#` of a share's URL, which no server gets to see: `1.KEYS.TITLE`.
package struct LinkFragment: Sendable {
    static let ownerBytes = 16
    private static let version = "1"

    /// The first half of the hash of the owner's first statement: it proves to a guest whose share this is.
    package let owner: [UInt8]
    package let secret: LinkSecret
    /// As it stands in a URL, where it is in one.
    package var title: String?

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

    /// Whether a text reads like a fragment with keys, of this version or another one: digits, a point, and nothing
    /// but base64url up to the next point or the end.
    package static func resembles(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard parts.count >= 2, !parts[0].isEmpty, parts[0].allSatisfy(digits.contains), !parts[1].isEmpty else {
            return false
        }
        return parts[1].allSatisfy { byte in
            digits.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }

    /// Whether an account's chain begins as the link says.
    package func isOf(_ chain: StatementChain) -> Bool {
        chain.first.number == 1 && Array(chain.first.hash.prefix(Self.ownerBytes)) == owner
    }
}

// Nothing of it is shown: an app may log what it gets.
extension LinkFragment: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "LinkFragment" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
