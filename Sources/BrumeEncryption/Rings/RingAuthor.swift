/// Makes entries of rings in an account's name. What it may do, ``RingRules`` decides, on every device that reads the
/// entry.
package struct RingAuthor: Sendable {
    private let user: String
    private let identity: KeyPairs
    private let statements: StatementDirectory

    /// - Parameter statements: Those of all members, checked: keys are boxed to the identities that they name.
    package init(user: String, identity: KeyPairs, statements: StatementDirectory) {
        self.user = user
        self.identity = identity
        self.statements = statements
    }

    /// The first entry of a ring, with its first key.
    package func begin(
        _ ring: RingName, isPerZone: Bool = false, hasPlainAssets: Bool = false, _ draft: RingDraft
    ) throws(EncryptionRefusal) -> RingChain {
        let signed = try make(
            ring: ring, number: 1, previousHash: Statement.noHash, isPerZone: isPerZone,
            hasPlainAssets: hasPlainAssets, earlier: [:], draft)
        return try RingChain(first: signed, of: ring, statements: statements)
    }

    /// The entry behind a chain's head, with a new key.
    ///
    /// - Parameter keys: Those that the author has of this chain: what the entry before does not give is handed on.
    /// - Returns: The chain with the entry, which is last in it.
    /// - Throws: What every reader of the entry would refuse it with; `keyMissing` for the keys of another head.
    package func next(
        after chain: RingChain, keys: RingKeyring, _ draft: RingDraft
    ) throws(EncryptionRefusal) -> RingChain {
        var longer = chain
        try longer.append(try entry(after: chain, keys: keys, draft), statements: statements)
        return longer
    }

    /// The same entry alone, which the author may or may not make: what a reader of it makes of that is not asked.
    package func entry(
        after chain: RingChain, keys: RingKeyring, _ draft: RingDraft
    ) throws(EncryptionRefusal) -> SignedRingEntry {
        let head = chain.head
        guard keys.headHash == head.hash else { throw .keyMissing }
        let handedOn = keys.keys.filter {
            keys.current == nil || $0.key == head.number || keys.unsharedNumbers.contains($0.key)
        }
        return try make(
            ring: head.ring, number: head.number + 1, previousHash: head.hash, isPerZone: head.isPerZone,
            hasPlainAssets: head.hasPlainAssets, earlier: handedOn, draft)
    }

    private func make(
        ring: RingName, number: UInt32, previousHash: [UInt8], isPerZone: Bool, hasPlainAssets: Bool,
        earlier: [UInt32: SecretKey], _ draft: RingDraft
    ) throws(EncryptionRefusal) -> SignedRingEntry {
        let key = SecretKey.random()
        let handedOn = RingKeySeals.Earlier(
            ringKeys: Self.newest(earlier), treeKeys: Self.newest(draft.treeKeys))
        let entry = RingEntry(
            ring: ring, number: number, previousHash: previousHash, author: user, isPerZone: isPerZone,
            hasPlainAssets: hasPlainAssets, draft: draft,
            commitment: RingKeySeals.commitment(ring: ring, number: number, key: key),
            earlierKeys: RingKeySeals.seal(handedOn, ring: ring, number: number, key: key),
            closedKey: draft.closingZoneKey.map {
                RingKeySeals.sealClosed(ring: ring, number: number, key: key, zoneKey: $0)
            } ?? [])
        var message = SignedRingEntry.boxMessage(key, entry)
        defer { message.wipe() }
        var boxes: [[UInt8]] = []
        for member in entry.members {
            guard let found = statements.find(member.user, hash: member.statementHash, in: ring.place),
                // The key must not go to keys that somebody replaced.
                found.keys == found.newest.keys
            else { throw .brokenChain }
            boxes.append(try BoxPair.box(message, to: found.keys.box))
        }
        for invitation in entry.openInvitations { boxes.append(try BoxPair.box(message, to: invitation.keys.box)) }
        let signature = identity.sign(SignedRingEntry.message(entry, boxes: boxes))
        // What others would refuse to read is not made: the ring would end there.
        return try SignedRingEntry(SignedRingEntry(entry: entry, signature: signature, boxes: boxes).bytes)
    }

    private static func newest(_ keys: [UInt32: SecretKey]) -> [UInt32: SecretKey] {
        var newest: [UInt32: SecretKey] = [:]
        for (number, key) in keys.sorted(by: { $0.key > $1.key }).prefix(Limits.earlierKeys) { newest[number] = key }
        return newest
    }
}
