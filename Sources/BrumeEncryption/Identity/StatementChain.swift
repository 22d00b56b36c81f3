/// Statements of one account, each of which was checked against the one before.
///
/// The first is trusted no more than the way it came: a chain proves that all behind it were made by whoever had the
/// keys of the first.
package struct StatementChain: Hashable, Sendable {
    package private(set) var statements: [Statement]

    package var first: Statement { statements[0] }
    package var last: Statement { statements[statements.count - 1] }

    /// A chain that begins with an account's first statement.
    package init(first signed: SignedStatement, of scope: IdentityScope) throws(EncryptionRefusal) {
        let statement = signed.statement
        guard statement.scope == scope, statement.number == 1, statement.previousHash == Statement.noHash,
            signed.previousSignature.isEmpty, !signed.anchor.isEmpty
        else { throw .brokenChain }
        try Signature.check(
            signed.ownSignature, of: SignedStatement.message(.statementOwn, statement), by: statement.keys.signing)
        statements = [statement]
    }

    /// A chain that begins with a statement that this device knows already, by its pin or by its recovery code's
    /// anchor.
    init(known statement: Statement) { statements = [statement] }

    /// Takes in the next statement.
    package mutating func append(_ signed: SignedStatement) throws(EncryptionRefusal) {
        let statement = signed.statement
        guard statement.scope == last.scope, last.number < .max, statement.number == last.number + 1,
            statement.previousHash == last.hash, signed.anchor.isEmpty == (statement.codeKey == last.codeKey),
            statement.earlierSeed.isEmpty == (statement.keys == last.keys)
        else { throw .brokenChain }
        // Whoever goes must not have the identity any more.
        let keepsAll = last.devices.allSatisfy { device in statement.devices.contains { $0.keys == device.keys } }
        guard keepsAll && statement.codeKey == last.codeKey || statement.keys != last.keys else { throw .brokenChain }
        try Signature.check(
            signed.ownSignature, of: SignedStatement.message(.statementOwn, statement), by: statement.keys.signing)
        try Signature.check(
            signed.previousSignature, of: SignedStatement.message(.statementNext, statement), by: last.keys.signing)
        statements.append(statement)
    }

    /// Whether a statement of this hash is in the chain, and which.
    func index(of hash: [UInt8]) -> Int? { statements.firstIndex { $0.hash == hash } }

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
    /// The statement that newly listed the code is the one that whoever has the code can trust, by its anchor; what
    /// stands before it is not looked at, and what stands behind it has to follow. A device that was removed can still
    /// have gone on from there: whoever recovers compares the devices that are listed.
    ///
    /// - Throws: `keyMissing` where no statement has this code's anchor.
    package static func recover(
        _ signed: [SignedStatement], of scope: IdentityScope, code: RecoveryCode
    ) throws(EncryptionRefusal) -> (chain: StatementChain, identity: Identity) {
        let paper = code.paperKey(scope)
        guard
            let index = signed.lastIndex(where: { signed in
                signed.statement.codeKey == paper.publicKey && signed.statement.scope == scope
                    && Sodium.isEqual(signed.anchor, code.anchor(statementHash: signed.statement.hash))
            }), let last = signed.last
        else { throw .keyMissing }
        var chain = StatementChain(known: signed[index].statement)
        for next in signed[(index + 1)...] { try chain.append(next) }
        return (chain, Identity(keys: try last.openIdentity(as: paper), statement: last.statement))
    }
}
