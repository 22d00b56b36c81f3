/// What an account's next statement is checked against: the last one, and what all before it used up. Whoever keeps
/// no more than this of a chain can say of the next statement whether it follows, and a server does.
package struct StatementHead: Hashable, Sendable {
    package private(set) var last: Statement
    /// How many statements there are up to the last.
    private var count = 1
    /// Keys that the identity had, and the code: none of them comes back.
    private var usedKeys: Set<[UInt8]> = []
    private var usedCodes: Set<[UInt8]> = []

    /// The head of a chain that begins with an account's first statement.
    package init(first signed: SignedStatement, of scope: IdentityScope) throws(EncryptionRefusal) {
        let statement = signed.statement
        guard statement.scope == scope, statement.number == 1, statement.previousHash == Statement.noHash,
            signed.previousSignature.isEmpty, !signed.anchor.isEmpty
        else { throw .brokenChain }
        try signed.checkOwnSignature()
        self.init(kept: statement)
    }

    /// The head of a chain that begins with a statement that was checked before.
    init(kept first: Statement) {
        last = first
        use(first)
    }

    /// The head of an account's signed statements as they were kept, from the first on; nil for none.
    ///
    /// The first and the last are read whole, and of one between them its place and its keys: a request may go on
    /// behind 32 chains of hundreds.
    ///
    /// - Throws: Where they are not in their order. Keys and signatures are not checked again.
    package init?(kept signed: some Sequence<[UInt8]>) throws(EncryptionRefusal) {
        var iterator = signed.makeIterator()
        guard let bytes = iterator.next() else { return nil }
        let first = try SignedStatement(bytes, checksKeys: false).statement
        guard first.number == 1 else { throw .brokenChain }
        self.init(kept: first)
        guard var kept = iterator.next() else { return }
        var (keys, code, hash) = (first.keys, first.codeKey, InlineHash(first.hash))
        while let next = iterator.next() {
            let statement = try KeptStatement(kept)
            guard Int(statement.number) == count + 1, hash == nil || hash == statement.previousHash else {
                throw .brokenChain
            }
            if !statement.names(keys) {
                keys = statement.keys
                usedKeys.formUnion([keys.signing, keys.box])
            }
            if !statement.names(code: code) {
                code = statement.codeKey
                usedCodes.insert(code)
            }
            (count, hash, kept) = (count + 1, nil, next)
        }
        let last = try SignedStatement(kept, checksKeys: false).statement
        guard last.scope == first.scope, Int(last.number) == count + 1,
            hash == nil || hash == InlineHash(last.previousHash)
        else { throw .brokenChain }
        take(last)
    }

    /// Takes in the next statement. A refused one leaves the head as it was.
    package mutating func append(_ signed: SignedStatement) throws(EncryptionRefusal) {
        let statement = signed.statement
        guard count < Limits.statements, statement.stands(behind: last),
            signed.anchor.isEmpty == (statement.codeKey == last.codeKey),
            statement.codeKey == last.codeKey || !usedCodes.contains(statement.codeKey)
        else { throw .brokenChain }
        let keys = [statement.keys.signing, statement.keys.box]
        let isSameIdentity = statement.keys == last.keys
        guard isSameIdentity || usedKeys.isDisjoint(with: keys), statement.earlierSeed.isEmpty == isSameIdentity else {
            throw .brokenChain
        }
        // Whoever goes must not have the identity any more.
        let keepsAll = last.devices.allSatisfy { statement.lists($0.keys) }
        guard keepsAll && statement.codeKey == last.codeKey || !isSameIdentity else { throw .brokenChain }
        try signed.checkSignatures(behind: last)
        take(statement)
    }

    /// Takes in the next statement, which was checked before.
    mutating func take(_ statement: Statement) {
        last = statement
        count += 1
        use(statement)
    }

    private mutating func use(_ statement: Statement) {
        usedKeys.formUnion([statement.keys.signing, statement.keys.box])
        usedCodes.insert(statement.codeKey)
    }
}
