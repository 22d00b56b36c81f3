/// Entries of one ring, each of which was checked against the one before and against the statements of those in it.
///
/// The first is trusted no more than its author's chain, which has to be the one that the device knows of the owner,
/// or that a link names.
package struct RingChain: Sendable {
    package private(set) var entries: [SignedRingEntry]
    /// How many bytes all signed entries have.
    private(set) var byteCount: Int

    package var head: RingEntry { entries[entries.count - 1].entry }

    /// A ring whose entries this device has checked before.
    ///
    /// - Precondition: There is one at least.
    package init(kept entries: [SignedRingEntry]) {
        self.init(kept: entries, byteCount: entries.reduce(0) { $0 + $1.byteCount })
    }

    init(kept entries: [SignedRingEntry], byteCount: Int) {
        precondition(!entries.isEmpty, "a ring has an entry")
        self.entries = entries
        self.byteCount = byteCount
    }

    /// The end of a ring whose entries were checked as they were kept: whoever has no more than the last one can say
    /// whether the next follows, and a server does.
    ///
    /// - Parameters:
    ///   - bytes: The last entry, signed.
    ///   - byteCount: The bytes of all signed entries.
    package init(keptLast bytes: [UInt8], byteCount: Int) throws(EncryptionRefusal) {
        self.init(kept: [try SignedRingEntry(bytes)], byteCount: byteCount)
    }

    /// A ring that begins.
    package init(
        first signed: SignedRingEntry, of ring: RingName, statements: StatementDirectory
    ) throws(EncryptionRefusal) {
        let entry = signed.entry
        guard entry.ring == ring, entry.number == 1, entry.previousHash == Statement.noHash,
            entry.otherBranch.isEmpty, entry.author.hasBytes(of: ring.place.owner), !entry.isClosed
        else { throw .brokenChain }
        try RingRules(before: nil, signed: signed, isNearEnd: false, statements: statements).check()
        self.init(kept: [signed])
    }

    /// Takes in the next entry. A refused one leaves the chain as it was, and nothing behind it counts.
    package mutating func append(
        _ signed: SignedRingEntry, statements: StatementDirectory
    ) throws(EncryptionRefusal) {
        let entry = signed.entry
        let before = head
        guard entry.ring == before.ring, entry.isPerZone == before.isPerZone,
            entry.hasPlainAssets == before.hasPlainAssets, entry.number == before.number + 1,
            entry.number <= Limits.ringEntries, entry.previousHash == before.hash,
            entry.zoneKeyNumber >= before.zoneKeyNumber, byteCount + signed.byteCount <= Limits.ringBytes
        else { throw .brokenChain }
        let isNearEnd =
            entry.number > Limits.ringEntries - Limits.ringEntriesOfOwner
            || byteCount + signed.byteCount > Limits.ringBytes - Limits.ringBytesOfOwner
        try RingRules(before: before, signed: signed, isNearEnd: isNearEnd, statements: statements).check()
        entries.append(signed)
        byteCount += signed.byteCount
    }

    /// The ring's keys that a member has, by their numbers.
    ///
    /// - Parameter member: Of an account, its statements and the identity that the last one has.
    package func keys(of member: Identity) -> RingKeyring {
        let user = member.statement.scope.account
        let identities = Dictionary(
            member.chain.identities(from: member.keys).map { ($0.publicKeys, $0) },
            uniquingKeysWith: { first, _ in first })
        return RingKeyring(self) { signed in
            // One box is opened with one identity, or many boxes that don't open would be tried with many.
            guard let hash = signed.entry.member(named: user)?.statementHash,
                let index = member.chain.index(of: hash), let identity = identities[member.chain.statements[index].keys]
            else { return nil }
            return signed.key(of: user, identity: identity)
        }
    }

    /// Those that a guest has by an open invitation's link.
    ///
    /// - Throws: `keyMissing` where the newest entry lists no invitation of this link: it is another ring's, or good no
    ///   more.
    package func keys(of link: LinkSecret) throws(EncryptionRefusal) -> RingKeyring {
        guard head.invitations.contains(where: { $0.keys == link.pairs.publicKeys }) else { throw .keyMissing }
        return RingKeyring(self) { $0.key(of: link) }
    }

    /// Those that whoever has the zone's keys has of a ring that was closed.
    package func keys(ofZone zone: RingKeyring) -> RingKeyring { keys(zoneKeys: zone.keys) }

    func keys(zoneKeys: [UInt32: SecretKey]) -> RingKeyring {
        RingKeyring(self) { signed in
            let entry = signed.entry
            return zoneKeys[entry.zoneKeyNumber].flatMap { try? RingKeySeals.openClosed(entry, zoneKey: $0) }
        }
    }
}
