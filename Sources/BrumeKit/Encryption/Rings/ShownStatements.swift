internal import BrumeEncryption
internal import BrumeModel

/// What a server shows of one user's statements beside a zone's rings. Pure.
///
/// Somebody who began anew has several chains. Entries of a ring name the former ones, and take in nobody by another
/// one without a proof.
struct ShownStatements: Sendable {
    /// Twice what a server keeps of a user: with more there is none that counts.
    private static let chainsMax = 2 * Limits.ringChainsPerUser
    private let chains: [[SignedStatement]]
    private let scope: IdentityScope

    /// - Parameter statements: As the server has them one after the other. Each is put behind the one that it names.
    init(_ statements: [SignedStatement], of scope: IdentityScope) {
        self.scope = scope
        var chains: [[SignedStatement]] = []
        for signed in statements {
            let index = chains.firstIndex { $0.last?.statement.hash == signed.statement.previousHash }
            if let index { chains[index].append(signed) } else { chains.append([signed]) }
            if chains.count > Self.chainsMax { break }
        }
        self.chains = chains
    }

    /// The chain that has a statement, or without one the last that is shown, whatever is known of the user; nil where
    /// there is none, or one of the chains does not hold.
    func chain(named hash: [UInt8]?) -> KnownStatements? {
        guard let all = checked() else { return nil }
        guard let hash else { return all.last }
        return all.last { $0.chain.statement(of: hash) != nil }
    }

    /// What is known of a user, once it is compared with what a server shows.
    struct Meeting: Sendable {
        /// The one chain that counts.
        let person: KnownStatements
        /// Former ones, and others that count for nothing but the entries that name them.
        let others: [KnownStatements]
    }

    /// Compares what is shown with what is known.
    ///
    /// - Parameters:
    ///   - known: What this device keeps of the user, which goes on by the user's own signatures alone; nil for
    ///     somebody whom it does not know.
    ///   - hashes: Of somebody who is not known a chain counts that has one of these.
    ///   - isOwner: Whether the user owns the zone: then there is one chain, and a ring that another one began is none.
    /// - Returns: Nil for a stranger: others are shown than are known, or none that hold.
    func meet(_ known: KnownStatements?, named hashes: Set<[UInt8]>, isOwner: Bool) -> Meeting? {
        guard let all = checked() else { return nil }
        var person = all.last { $0.chain.statements.contains { hashes.contains($0.hash) } }
        // Somebody else of the name counts for nothing but the entries that name them, and goes with the next one: a
        // member could otherwise end a ring for all who know the user, by taking in another of the name.
        if let known { person = chains.lazy.compactMap { known.following($0) }.first ?? (isOwner ? nil : known) }
        guard let person else { return nil }
        let others = all.filter { $0.chain.first.hash != person.chain.first.hash }
        return Meeting(person: person, others: isOwner ? [] : others)
    }

    private func checked() -> [KnownStatements]? {
        guard chains.count <= Self.chainsMax else { return nil }
        let all = chains.compactMap { try? KnownStatements($0, of: scope, trust: .seen) }
        return all.count == chains.count ? all : nil
    }
}

extension KnownStatements {
    /// The same with what goes on from it; nil where something else is shown.
    func following(_ shown: [SignedStatement]) -> KnownStatements? {
        var known = self
        switch try? known.meet(shown) {
        case .same, .extended, .behind: return known
        case .forked, nil: return nil
        }
    }
}
