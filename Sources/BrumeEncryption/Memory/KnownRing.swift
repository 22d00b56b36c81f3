/// A ring as a device keeps it: what it has seen once it sees no less of again, or a server could have it write for
/// those who were dropped.
///
/// The entries are kept whole, with all boxes, so that a server that lost some gets them back.
package struct KnownRing: Sendable {
    /// What a server that shows a ring turned out to know.
    package enum Meeting: Hashable, Sendable {
        case same
        /// It had more, which were taken.
        case extended
        /// It lacks the newest entries, as after a backup was put back: they are to be given to it.
        case behind(missing: [SignedRingEntry])
        /// It shows others, from this number on: nothing is written before the owner has ended one of the branches.
        case forked(at: UInt32)
        /// The owner ended the branch that this device knew, with an entry on the other, which was taken.
        case joined
    }

    package private(set) var chain: RingChain

    /// A ring that this device sees for the first time, or made.
    ///
    /// - Parameter signed: All entries, from the first on.
    package init(
        _ signed: [SignedRingEntry], of ring: RingName, statements: StatementDirectory
    ) throws(EncryptionRefusal) {
        chain = try Self.chain(signed, of: ring, statements: statements)
    }

    /// Compares what a server shows with what is known, and takes what follows.
    ///
    /// - Parameter shown: All entries of the ring, from the first on.
    /// - Throws: Where an entry that is not known is not taken. Those before it were taken.
    package mutating func meet(
        _ shown: [SignedRingEntry], statements: StatementDirectory
    ) throws(EncryptionRefusal) -> Meeting {
        guard shown.count <= Limits.ringEntries else { throw .damaged }
        let known = chain.entries
        for (known, other) in zip(known, shown) where known.entry.hash != other.entry.hash {
            return try meetBranch(shown, at: known.entry.number, statements: statements)
        }
        if shown.count < known.count { return .behind(missing: Array(known[shown.count...])) }
        if shown.count == known.count { return .same }
        for next in shown[known.count...] { try chain.append(next, statements: statements) }
        return .extended
    }

    /// Whether another branch names the head that this device knows: then it has ended.
    private mutating func meetBranch(
        _ shown: [SignedRingEntry], at number: UInt32, statements: StatementDirectory
    ) throws(EncryptionRefusal) -> Meeting {
        guard shown.contains(where: { $0.entry.otherBranch == chain.head.hash }) else { return .forked(at: number) }
        chain = try Self.chain(shown, of: chain.head.ring, statements: statements)
        return .joined
    }

    private static func chain(
        _ signed: [SignedRingEntry], of ring: RingName, statements: StatementDirectory
    ) throws(EncryptionRefusal) -> RingChain {
        guard let first = signed.first, signed.count <= Limits.ringEntries else { throw .damaged }
        var chain = try RingChain(first: first, of: ring, statements: statements)
        for next in signed.dropFirst() { try chain.append(next, statements: statements) }
        return chain
    }
}
