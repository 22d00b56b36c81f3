/// The statements of those who are named in a ring, each chain checked. They lie beside the ring, so that reading it
/// asks no other database.
package struct StatementDirectory: Sendable {
    /// Where a statement stands: two of one chain can be compared.
    struct Location: Hashable {
        let chain: Int
        let index: Int
    }

    /// More than one for somebody who began anew, as after a reset.
    private var chains: [String: [StatementChain]] = [:]

    package init() {}

    package mutating func add(_ chain: StatementChain) { chains[chain.last.scope.account, default: []].append(chain) }

    /// A statement of an account in a place's container and environment; nil where there is none with this hash.
    func find(_ user: String, hash: [UInt8], in place: Place) -> (location: Location, statement: Statement)? {
        let scope = IdentityScope(account: user, container: place.container, environment: place.environment)
        for (number, chain) in (chains[user] ?? []).enumerated() where chain.last.scope == scope {
            if let index = chain.index(of: hash) {
                return (Location(chain: number, index: index), chain.statements[index])
            }
        }
        return nil
    }
}
