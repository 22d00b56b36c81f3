internal import BrumeEncryption

/// The keys of a zone of the account's own database, as one identity opens them.
struct ZoneKeys: Sendable {
    let place: Place
    /// Whether all of the zone is one tree.
    let isPerZone: Bool
    /// Whether the zone's assets are encrypted.
    let encryptsAssets: Bool
    /// Whether an app that wants files encrypted leaves them plain in this zone: not where somebody may have begun the
    /// ring who has older keys of the account, such as a device that was removed.
    let isPlainGenuine: Bool
    /// The number of the ring's newest key.
    let newest: UInt32
    /// The hash of the ring's last entry.
    let entryHash: [UInt8]
    /// The identity that opened them.
    let identity: PublicKeys
    /// Whether new values may take the newest key: it is here, and nobody has it who is out.
    let isForWriting: Bool
    /// The ring's, and those of branches that its owner ended, whose numbers are those of other keys.
    private let keyrings: [RingKeyring]

    init(_ ring: KnownRing, of identity: Identity) {
        let head = ring.chain.head
        place = head.ring.place
        isPerZone = head.isPerZone
        encryptsAssets = !head.hasPlainAssets
        isPlainGenuine = ring.chain.entries[0].entry.namesKeys(of: identity)
        newest = head.number
        entryHash = head.hash
        self.identity = identity.keys.publicKeys
        keyrings = ([ring.chain] + ring.endedBranches).map { $0.keys(of: identity) }
        isForWriting = head.namesKeys(of: identity) && keyrings[0].current != nil
    }

    /// The tree of a record, by the name of its root.
    func tree(root: String) -> Tree {
        Tree(place: place, root: isPerZone ? Tree.wholeZone : root, kind: .isPrivate)
    }

    /// What opens the values that have a header: more than one where branches of the ring have a key of its number.
    func ciphers(_ header: ValueHeader) -> [TreeCipher] {
        guard header.kind == .isPrivate else { return [] }
        let tree = Tree(place: place, header)
        return keyrings.compactMap { $0.keys[header.keyNumber] }.map {
            TreeCipher(tree: tree, ringKey: $0, number: header.keyNumber)
        }
    }

    /// What encrypts in a tree; nil where the newest key is missing here.
    func cipher(root: String) -> TreeCipher? {
        guard let key = keyrings[0].current else { return nil }
        return TreeCipher(tree: tree(root: root), ringKey: key.key, number: key.number)
    }
}

extension KnownRing {
    /// Whether new values may take the newest key. Where it is missing, as in an entry whose box does not open, another
    /// one is made.
    func isForWriting(by identity: Identity) -> Bool {
        chain.head.namesKeys(of: identity) && chain.keys(of: identity).current != nil
    }
}

extension RingEntry {
    /// Whether it hands its key to the account's keys as they are now, and not to those from before a device was
    /// removed.
    func namesKeys(of identity: Identity) -> Bool {
        let owner = member(named: identity.statement.scope.account)
        return owner.flatMap { identity.chain.statement(of: $0.statementHash) }?.keys == identity.keys.publicKeys
    }
}
