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
    /// Branches that the owner ended. What was written with their keys is still read: its numbers are those of other
    /// keys in ``chain``, and all of a number are tried.
    package private(set) var endedBranches: [RingChain] = []

    /// A ring that this device sees for the first time, or made.
    ///
    /// - Parameter signed: All entries, from the first on.
    package init(
        _ signed: [SignedRingEntry], of ring: RingName, statements: StatementDirectory
    ) throws(EncryptionRefusal) {
        chain = try Self.chain(signed, of: ring, statements: statements)
    }

    /// A ring as this device kept it, which it checked before it did.
    ///
    /// - Parameters:
    ///   - kept: The bytes of all entries, from the first on.
    ///   - ended: Those of the branches that ended.
    /// - Throws: Where they are not the entries of one ring in their order.
    package init(kept: [[UInt8]], ended: [[[UInt8]]] = []) throws(EncryptionRefusal) {
        chain = try Self.chain(kept: kept)
        for branch in ended { endedBranches.append(try Self.chain(kept: branch)) }
        guard endedBranches.allSatisfy({ $0.head.ring == chain.head.ring }) else { throw .brokenChain }
    }

    private static func chain(kept: [[UInt8]]) throws(EncryptionRefusal) -> RingChain {
        var entries: [SignedRingEntry] = []
        for bytes in kept {
            let next = try SignedRingEntry(bytes)
            let follows =
                entries.last.map {
                    next.entry.ring == $0.entry.ring && next.entry.number == $0.entry.number + 1
                        && next.entry.previousHash == $0.entry.hash
                } ?? (next.entry.number == 1)
            guard follows else { throw .brokenChain }
            entries.append(next)
        }
        guard !entries.isEmpty else { throw .brokenChain }
        return RingChain(kept: entries)
    }

    /// Compares what a server shows with what is known, and takes what follows.
    ///
    /// - Parameters:
    ///   - shown: All entries of the ring, from the first on.
    ///   - ended: Branches that the server knows to be ended, each from the first entry on. A device that knew a part
    ///     of one alone needs the rest to see that it has ended.
    /// - Throws: Where an entry that is not known is not taken. Those before it were taken.
    package mutating func meet(
        _ shown: [SignedRingEntry], ended: [[SignedRingEntry]] = [], statements: StatementDirectory
    ) throws(EncryptionRefusal) -> Meeting {
        let known = chain.entries
        for (known, other) in zip(known, shown) where known.entry.hash != other.entry.hash {
            return try meetBranch(shown, ended: ended, at: known.entry.number, statements: statements)
        }
        if shown.count < known.count { return .behind(missing: Array(known[shown.count...])) }
        if shown.count == known.count { return .same }
        for next in shown[known.count...] { try chain.append(next, statements: statements) }
        endedBranches = Self.kept(endedBranches, beside: chain)
        return .extended
    }

    /// Whether another branch names the head of the one that this device knows: then that has ended.
    private mutating func meetBranch(
        _ shown: [SignedRingEntry], ended: [[SignedRingEntry]], at number: UInt32, statements: StatementDirectory
    ) throws(EncryptionRefusal) -> Meeting {
        let ring = chain.head.ring
        let named = Set(shown.map(\.entry.otherBranch))
        var branch: RingChain?
        if named.contains(chain.head.hash) {
            branch = chain
        } else {
            let head = chain.head.hash
            let whole = ended.first { entries in
                named.contains(entries.last?.entry.hash ?? []) && entries.contains { $0.entry.hash == head }
            }
            if let whole { branch = try Self.chain(whole, of: ring, statements: statements) }
        }
        guard let branch, endedBranches.count < Limits.endedBranches else { return .forked(at: number) }
        let longer = try Self.chain(shown, of: ring, statements: statements)
        // Whoever has older keys of the owner than the branch ended with was dropped on it.
        guard let ending = shown.first(where: { $0.entry.otherBranch == branch.head.hash })?.entry,
            Self.isNoOlder(ending, than: branch.head, for: ring.place.owner, statements)
        else { return .forked(at: number) }
        chain = longer
        endedBranches = Self.kept(endedBranches + [branch], beside: chain)
        return .joined
    }

    /// The branches that a device keeps beside a ring: what two rings of the greatest size take is enough for all that
    /// honest devices make, and a file of more could not be read again. Of more those go that ended first; what was
    /// written there alone is read no more.
    static func kept(_ ended: [RingChain], beside chain: RingChain) -> [RingChain] {
        var (kept, byteCount) = ([RingChain](), chain.byteCount)
        for branch in ended.reversed() {
            byteCount += branch.byteCount
            if byteCount > 2 * Limits.ringBytes { break }
            kept.append(branch)
        }
        return kept.reversed()
    }

    /// Takes the branch that a server shows in the place of the known one, which ends: no guest ends one by an entry.
    ///
    /// Behind where the two went apart an entry has to be signed with the owner's newest keys, which no device has that
    /// was removed. A link that it lists says that the owner has handed that out there; by itself it would prove
    /// nothing, since whoever may make entries can list the keys of any.
    ///
    /// - Parameters:
    ///   - shown: All entries of the branch, from the first on.
    ///   - link: By which a person has come. Nil where a person has decided for the branch, whoever is on it.
    /// - Returns: Whether it is taken: not where there is no such entry, or from it on somebody is a member with older
    ///   keys than on the known branch, or by a link somebody who has gone from that; nor where the owner has ended
    ///   the branch, or too many have ended.
    /// - Throws: Where it does not hold.
    package mutating func follow(
        _ shown: [SignedRingEntry], by link: LinkSecret?, statements: StatementDirectory
    ) throws(EncryptionRefusal) -> Bool {
        let known = chain.head
        let branch = try Self.chain(shown, of: known.ring, statements: statements)
        guard endedBranches.count < Limits.endedBranches,
            let apart = zip(chain.entries, shown).enumerated().first(where: { $1.0.entry.hash != $1.1.entry.hash })?.0,
            let listing = shown[apart...].firstIndex(where: { signed in
                Self.isOfOwnersNewestKeys(signed.entry, statements)
                    && link.map { signed.entry.invitation(of: $0) != nil } ?? true
            })
        else { return false }
        let all = ([chain] + endedBranches).flatMap(\.entries).map(\.entry)
        let ended = Set(endedBranches.flatMap(\.entries).map(\.entry.hash) + all.map(\.otherBranch))
        let former = Set(all.flatMap(\.members).map(\.user)).filter { known.member(named: $0) == nil }
        let isSound = shown[listing...].allSatisfy { signed in
            signed.entry.members.allSatisfy { member in
                (link == nil || !former.contains(member.user))
                    && (known.member(named: member.user) == nil
                        || Self.isNoOlder(signed.entry, than: known, for: member.user, statements))
            }
        }
        if !isSound || shown[apart...].contains(where: { ended.contains($0.entry.hash) }) { return false }
        endedBranches = Self.kept(endedBranches + [chain], beside: branch)
        chain = branch
        return true
    }

    /// Whether the owner has made an entry, with the newest keys that are known of them.
    private static func isOfOwnersNewestKeys(_ entry: RingEntry, _ statements: StatementDirectory) -> Bool {
        let place = entry.ring.place
        guard entry.author.hasBytes(of: place.owner), let owner = entry.member(named: place.owner) else { return false }
        return statements.standing(of: owner.user, hash: owner.statementHash, in: place)?.hasNewestKeys == true
    }

    /// Whether an entry names no older keys of somebody than another one, by the same chain of statements.
    private static func isNoOlder(
        _ entry: RingEntry, than other: RingEntry, for user: String, _ statements: StatementDirectory
    ) -> Bool {
        func keys(_ entry: RingEntry) -> (first: [UInt8], index: Int, keys: PublicKeys)? {
            guard let member = entry.member(named: user) else { return nil }
            return statements.find(user, hash: member.statementHash, in: entry.ring.place).map {
                ($0.location.first, $0.location.index, $0.keys)
            }
        }
        guard let now = keys(entry), let then = keys(other), now.first == then.first else { return false }
        return now.index >= then.index || now.keys == then.keys
    }

    private static func chain(
        _ signed: [SignedRingEntry], of ring: RingName, statements: StatementDirectory
    ) throws(EncryptionRefusal) -> RingChain {
        guard let first = signed.first else { throw .brokenChain }
        var chain = try RingChain(first: first, of: ring, statements: statements)
        for next in signed.dropFirst() { try chain.append(next, statements: statements) }
        return chain
    }
}
