/// The statements of those who are named in a ring, each chain checked. They lie beside the ring, so that reading it
/// asks no other database.
package struct StatementDirectory: Sendable {
    /// Where a statement stands: two of one chain can be compared.
    struct Location: Hashable {
        /// Hash of the chain's first statement.
        let first: [UInt8]
        let index: Int
    }

    /// What is known of a statement that a ring names.
    struct Found {
        let location: Location
        let keys: PublicKeys
        /// The hash and the keys of the newest statement of the same chain.
        let newest: (hash: [UInt8], keys: PublicKeys)
    }

    /// More than one for somebody who began anew, as after a reset.
    private var chains: [String: [StatementChain]] = [:]
    /// Chains of which no more is known than their keys, as a server does.
    private var keys: [String: [StatementKeys]] = [:]

    package init() {}

    /// Puts in a chain of which no more is known than its keys. Each is put in once.
    package mutating func add(_ chain: StatementKeys) { keys[chain.scope.account, default: []].append(chain) }

    /// Puts in what is known of an account.
    ///
    /// One that goes on where a chain ends that is there takes its place. One that went on otherwise is left out:
    /// which of the two counts is decided before, when they are met (``KnownStatements/meet(_:)``).
    package mutating func add(_ chain: StatementChain) {
        var others = chains[chain.last.scope.account] ?? []
        // One of which the beginning was not known.
        others.removeAll { $0.first.number > 1 && chain.index(of: $0.first.hash) != nil && $0.isEnd(of: chain) }
        if let index = others.firstIndex(where: {
            $0.first.hash == chain.first.hash && $0.last.scope == chain.last.scope
        }) {
            if others[index].isBeginning(of: chain) { others[index] = chain }
        } else {
            others.append(chain)
        }
        chains[chain.last.scope.account] = others
    }

    /// A statement of an account in a place's container and environment, with the newest of its chain; nil where there
    /// is none with this hash.
    func find(_ user: String, hash: [UInt8], in place: Place) -> Found? {
        let scope = IdentityScope(account: user, container: place.container, environment: place.environment)
        for chain in keys[user] ?? [] where chain.scope == scope {
            if let found = chain.find(hash) {
                return Found(
                    location: Location(first: chain.firstHash, index: found.index), keys: found.keys,
                    newest: (chain.newestHash, chain.newest))
            }
        }
        for chain in chains[user] ?? [] where chain.last.scope == scope {
            if let index = chain.index(of: hash) {
                return Found(
                    location: Location(first: chain.first.hash, index: index), keys: chain.statements[index].keys,
                    newest: (chain.last.hash, chain.last.keys))
            }
        }
        return nil
    }

    /// How a statement stands that a ring names.
    package struct Standing: Sendable {
        /// Its place among the statements of its chain, from 0.
        package let index: Int
        package let keys: PublicKeys
        /// The newest statement of the same chain.
        package let newest: (hash: [UInt8], keys: PublicKeys)

        /// Whether no later statement has other keys.
        package var hasNewestKeys: Bool { keys == newest.keys }
    }

    /// How the statement stands that an entry names of a member; nil where it is not known.
    package func standing(of user: String, hash: [UInt8], in place: Place) -> Standing? {
        find(user, hash: hash, in: place).map { Standing(index: $0.location.index, keys: $0.keys, newest: $0.newest) }
    }
}
