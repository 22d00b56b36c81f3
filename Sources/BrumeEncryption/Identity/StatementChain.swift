/// Statements of one account, each of which was checked against the one before.
///
/// The first is trusted no more than the way it came: a chain proves that all behind it were made by whoever had the
/// keys of the first.
package struct StatementChain: Hashable, Sendable {
    package private(set) var statements: [Statement]
    private var head: StatementHead
    /// Where a statement of a hash stands.
    private var indices: [[UInt8]: Int]

    package var first: Statement { statements[0] }
    package var last: Statement { head.last }

    /// A chain that begins with an account's first statement.
    package init(first signed: SignedStatement, of scope: IdentityScope) throws(EncryptionRefusal) {
        head = try StatementHead(first: signed, of: scope)
        statements = [signed.statement]
        indices = [signed.statement.hash: 0]
    }

    /// A chain whose statements this device has checked before, or can trust otherwise.
    ///
    /// - Precondition: There is one at least.
    package init(kept statements: [Statement]) {
        precondition(!statements.isEmpty, "a chain has a statement")
        head = StatementHead(kept: statements[0])
        for statement in statements.dropFirst() { head.take(statement) }
        self.statements = statements
        indices = Dictionary(
            zip(statements.map(\.hash), statements.indices), uniquingKeysWith: { _, later in later })
    }

    /// Takes in the next statement. A refused one leaves the chain as it was.
    package mutating func append(_ signed: SignedStatement) throws(EncryptionRefusal) {
        try head.append(signed)
        indices[signed.statement.hash] = statements.count
        statements.append(signed.statement)
    }

    /// Where a statement of this hash stands in the chain.
    package func index(of hash: [UInt8]) -> Int? { indices[hash] }

    /// The statement of this hash; nil where the chain has none.
    package func statement(of hash: [UInt8]) -> Statement? { index(of: hash).map { statements[$0] } }

    /// Whether another chain has all of this one.
    func isEnd(of other: StatementChain) -> Bool { other.index(of: last.hash) != nil }

    /// Whether another chain goes on where this one ends, or is the same.
    func isBeginning(of other: StatementChain) -> Bool {
        other.statements.count >= statements.count && other.statements[statements.count - 1].hash == last.hash
    }

    /// The identities of the chain's statements that the newest one gives, the newest first: one for each change of
    /// keys, as far back as they can be opened.
    package func identities(from newest: KeyPairs) -> [KeyPairs] {
        var identities = [newest]
        for index in statements.indices.dropFirst().reversed() where !statements[index].earlierSeed.isEmpty {
            guard
                let earlier = try? EarlierSeed.open(
                    statements[index], with: identities[identities.count - 1], before: statements[index - 1])
            else { break }
            identities.append(earlier)
        }
        return identities
    }

    /// Finds an account's identity with its recovery code, in what a server says to be its statements.
    ///
    /// The statement that newly listed the code is the one that whoever has the code can trust, by its anchor. What
    /// stands before it is the chain's as far as each hash is the one that the next names; what stands behind it has
    /// to follow. A device that was removed can still have gone on from there: whoever recovers compares the devices
    /// that are listed.
    ///
    /// - Throws: `wrongCode` where the last statement lists another code.
    package static func recover(
        _ signed: [SignedStatement], of scope: IdentityScope, code: RecoveryCode
    ) throws(EncryptionRefusal) -> Identity {
        guard !signed.isEmpty, signed.count <= Limits.statements, signed.allSatisfy({ $0.statement.scope == scope })
        else { throw .brokenChain }
        let paper = code.paperKey(scope)
        let last = signed[signed.count - 1]
        guard last.statement.codeKey == paper.publicKey else { throw .wrongCode }
        var anchored = signed.count - 1
        while anchored > 0, signed[anchored - 1].statement.codeKey == paper.publicKey { anchored -= 1 }
        let anchor = code.anchor(statementHash: signed[anchored].statement.hash)
        guard Sodium.isEqual(signed[anchored].anchor, anchor) else { throw .brokenChain }
        try signed[anchored].checkOwnSignature()
        var begin = anchored
        while begin > 0, signed[begin - 1].statement.hash == signed[begin].statement.previousHash { begin -= 1 }
        var chain = StatementChain(kept: signed[begin...anchored].map(\.statement))
        for next in signed[(anchored + 1)...] { try chain.append(next) }
        return Identity(keys: try last.openIdentity(as: paper), chain: chain)
    }
}
