/// An account's statements as a device keeps them: what it has seen once it sees no less of again.
///
/// They are kept whole, with their boxes, so that a server that lost some gets them back.
package struct KnownStatements: Hashable, Sendable {
    /// How the device knows that the first statement is the account's.
    package enum Trust: UInt8, Comparable, Sendable {
        /// The server showed it first.
        case seen
        /// A link that the account's owner gave away names it.
        case link
        /// Two people compared their safety numbers, or it is the device's own.
        case compared

        package static func < (left: Trust, right: Trust) -> Bool { left.rawValue < right.rawValue }
    }

    /// What a server that shows an account's statements turned out to know.
    package enum Meeting: Hashable, Sendable {
        case same
        /// It had more, which were taken.
        case extended
        /// It lacks the newest ones, as after a backup was put back: they are to be given to it.
        case behind(missing: [SignedStatement])
        /// It shows others, from this number on. The account began anew, or the server lies: nothing of it is taken
        /// before a person has decided.
        case forked(at: UInt32)
    }

    package private(set) var signed: [SignedStatement]
    package private(set) var chain: StatementChain
    package private(set) var trust: Trust

    /// An account's statements that this device sees for the first time, or takes for the account's since a person
    /// said so.
    ///
    /// - Parameter signed: All of them, from the first on.
    package init(
        _ signed: [SignedStatement], of scope: IdentityScope, trust: Trust
    ) throws(EncryptionRefusal) {
        guard let first = signed.first else { throw .brokenChain }
        var chain = try StatementChain(first: first, of: scope)
        for next in signed.dropFirst() { try chain.append(next) }
        self.signed = signed
        self.chain = chain
        self.trust = trust
    }

    /// An account's statements as this device kept them, which it checked before it did: what is slow is not checked
    /// again.
    ///
    /// - Parameter kept: The bytes of all of them, from the first on.
    /// - Throws: Where they are not the statements of one account in their order.
    package init(kept: [[UInt8]], trust: Trust) throws(EncryptionRefusal) {
        var signed: [SignedStatement] = []
        for bytes in kept {
            let next = try SignedStatement(bytes, checksKeys: false)
            let follows =
                signed.last.map { next.statement.stands(behind: $0.statement) } ?? (next.statement.number == 1)
            guard follows else { throw .brokenChain }
            signed.append(next)
        }
        guard !signed.isEmpty else { throw .brokenChain }
        self.signed = signed
        chain = StatementChain(kept: signed.map(\.statement))
        self.trust = trust
    }

    /// A link or a person said that the first statement is the account's.
    package mutating func confirm(_ trust: Trust) { self.trust = max(self.trust, trust) }

    /// Compares what a server shows with what is known, and takes what follows.
    ///
    /// - Parameter shown: All of the account's statements, from the first on.
    /// - Throws: Where a statement that is not known does not follow. Those before it were taken.
    package mutating func meet(_ shown: [SignedStatement]) throws(EncryptionRefusal) -> Meeting {
        for (known, shown) in zip(signed, shown) where known.statement.hash != shown.statement.hash {
            return .forked(at: known.statement.number)
        }
        if shown.count < signed.count { return .behind(missing: Array(signed[shown.count...])) }
        if shown.count == signed.count { return .same }
        for next in shown[signed.count...] {
            try chain.append(next)
            signed.append(next)
        }
        return .extended
    }
}
