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
    /// - Parameter keys: Those that the author has: the newest is handed on, and with it all that went before.
    /// - Returns: The chain with the entry, which is last in it.
    package func next(
        after chain: RingChain, keys: RingKeyring, _ draft: RingDraft
    ) throws(EncryptionRefusal) -> RingChain {
        let head = chain.head
        // The one before gives the older ones; where it is missing here, each that is not is handed on.
        let earlier = keys.current.map { [$0.number: $0.key] } ?? keys.keys
        var longer = chain
        try longer.append(
            try make(
                ring: head.ring, number: head.number + 1, previousHash: head.hash, isPerZone: head.isPerZone,
                hasPlainAssets: head.hasPlainAssets, earlier: earlier, draft),
            statements: statements)
        return longer
    }

    private func make(
        ring: RingName, number: UInt32, previousHash: [UInt8], isPerZone: Bool, hasPlainAssets: Bool,
        earlier: [UInt32: SecretKey], _ draft: RingDraft
    ) throws(EncryptionRefusal) -> SignedRingEntry {
        let key = SecretKey.random()
        let newest = { (keys: [UInt32: SecretKey]) in
            Dictionary(
                uniqueKeysWithValues: keys.sorted { $0.key > $1.key }.prefix(Limits.earlierKeys).map { ($0, $1) })
        }
        let handedOn = RingKeySeals.Earlier(ringKeys: newest(earlier), treeKeys: newest(draft.treeKeys))
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
            guard
                let statement = statements.find(member.user, hash: member.statementHash, in: ring.place)?.statement
            else { throw .brokenChain }
            boxes.append(try BoxPair.box(message, to: statement.keys.box))
        }
        for invitation in entry.openInvitations { boxes.append(try BoxPair.box(message, to: invitation.keys.box)) }
        return SignedRingEntry(entry: entry, signature: identity.sign(SignedRingEntry.message(entry)), boxes: boxes)
    }
}
