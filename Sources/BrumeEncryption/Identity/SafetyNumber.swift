/// Sixty digits that two people compare, each on a device of their own: equal if, and only if, both see the same two
/// identities.
package enum SafetyNumber {
    private static let groups = 6

    /// One of two accounts.
    struct Party {
        let scope: IdentityScope
        let firstHash: [UInt8]
        let keys: PublicKeys
    }

    /// - Throws: `brokenChain` for a chain of which the beginning is not known here.
    package static func digits(
        of left: StatementChain, and right: StatementChain
    ) throws(EncryptionRefusal) -> String {
        guard left.first.number == 1, right.first.number == 1 else { throw .brokenChain }
        func party(_ chain: StatementChain) -> Party {
            Party(scope: chain.last.scope, firstHash: chain.first.hash, keys: chain.last.keys)
        }
        return digits(of: party(left), and: party(right))
    }

    static func digits(of left: Party, and right: Party) -> String {
        let halves = [left, right].map { hash($0) }.sorted { $0.lexicographicallyPrecedes($1) }
        return halves.map(digits).joined()
    }

    private static func hash(_ party: Party) -> [UInt8] {
        var message = PartWriter(.safetyNumber)
        message.write(party.scope)
        message.write(bytes: party.firstHash)
        message.write(party.keys)
        return Digest.hash(message)
    }

    private static func digits(_ hash: [UInt8]) -> String {
        (0..<groups).map { group in
            let number = hash[group * 5..<group * 5 + 5].reduce(0) { $0 << 8 | UInt64($1) } % 100_000
            let digits = String(number)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }.joined()
    }
}
