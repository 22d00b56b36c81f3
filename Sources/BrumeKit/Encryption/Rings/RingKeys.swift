internal import BrumeEncryption

/// The keys of a zone's ring, or of a shared tree's in it, as one identity opens them.
struct RingKeys: Sendable {
    let ring: RingName
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
    /// Whether the account is among the members of the last entry.
    let isMember: Bool
    /// Whether new values may take the newest key: it is here, and nobody has it who is out, or whose keys are others
    /// by now.
    private(set) var isForWriting: Bool
    /// The head of the ring's file that they are of; nil where there was none. Where it is another one, another process
    /// has written it.
    let fileHead: [UInt8]?
    /// The number of the zone's key from which on a tree's ring hands on none from while the tree was private.
    private let firstZoneKeyNumber: UInt32
    /// The ring's, those of branches that its owner ended, whose numbers are those of other keys, and what a link
    /// opens.
    private let keyrings: [RingKeyring]

    /// - Parameters:
    ///   - link: An open link by which the account came: it reads, and writes nothing.
    ///   - isForWriting: Whether the ring needs no other entry before something is encrypted.
    init(
        _ known: KnownRing, of identity: Identity, link: LinkSecret? = nil, isForWriting: Bool = true,
        fileHead: [UInt8]? = nil
    ) {
        let head = known.chain.head
        ring = head.ring
        isPerZone = head.isPerZone
        encryptsAssets = !head.hasPlainAssets
        isPlainGenuine = known.chain.entries[0].entry.namesKeys(of: identity)
        newest = head.number
        firstZoneKeyNumber = known.chain.entries[0].entry.zoneKeyNumber
        entryHash = head.hash
        let member = head.member(named: identity.statement.scope.account)
        isMember = member.map { identity.chain.statement(of: $0.statementHash) != nil } ?? false
        self.identity = identity.keys.publicKeys
        let own = ([known.chain] + known.endedBranches).map { $0.keys(of: identity) }
        keyrings = own + [link.flatMap { try? known.chain.keys(of: $0) }].compactMap(\.self)
        self.isForWriting = isForWriting && head.namesKeys(of: identity) && keyrings[0].current != nil
        self.fileHead = fileHead
    }

    /// The same to read with: something is known of the members by now that may need another entry.
    var forReading: RingKeys {
        var keys = self
        keys.isForWriting = false
        return keys
    }

    var place: Place { ring.place }

    /// The tree of a record, by the name of its root: the ring's own, or in a zone's ring any that is not shared.
    func tree(root: String) -> Tree {
        if let root = ring.root { return Tree(place: place, root: root, kind: .isShared) }
        return Tree(place: place, root: isPerZone ? Tree.wholeZone : root, kind: .isPrivate)
    }

    /// What opens the values that have a header: more than one where branches of the ring have a key of its number.
    ///
    /// A shared tree's ring opens what was encrypted before it was shared, too.
    func ciphers(_ header: ValueHeader) -> [TreeCipher] {
        let number = header.keyNumber
        let tree = Tree(place: place, header)
        guard let root = ring.root else {
            guard header.kind == .isPrivate else { return [] }
            return keyrings.compactMap { $0.keys[number] }.map { TreeCipher(tree: tree, ringKey: $0, number: number) }
        }
        guard Tree(place: place, root: root, kind: header.kind).id == header.treeID else { return [] }
        switch header.kind {
        case .isShared:
            return keyrings.compactMap { $0.keys[number] }.map { TreeCipher(tree: tree, ringKey: $0, number: number) }
        case .isPrivate:
            return keyrings.compactMap { $0.treeKeys[number] }.map { TreeCipher(tree: tree, key: $0, number: number) }
        }
    }

    /// Whether a value of the ring's own tree has a key that the ring does not hand on: one from while the tree was
    /// private, which was made after the ring had begun.
    func keepsFromGuests(_ header: ValueHeader) -> Bool {
        ring.root != nil && header.kind == .isPrivate && header.keyNumber >= firstZoneKeyNumber
            && ciphers(header).isEmpty
    }

    /// What encrypts in a tree; nil where the newest key is missing here.
    func cipher(root: String) -> TreeCipher? {
        guard let key = keyrings[0].current else { return nil }
        return TreeCipher(tree: tree(root: root), ringKey: key.key, number: key.number)
    }

    /// The keys that a private tree has by a zone's ring, by the numbers of that ring's: whoever is to read what was
    /// encrypted in it gets them.
    func treeKeys(root: String) -> [UInt32: SecretKey] {
        precondition(ring.root == nil, "a shared tree has no keys of other trees")
        let tree = tree(root: root)
        return keyrings[0].keys.mapValues { tree.key(from: $0) }
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
        let member = member(named: identity.statement.scope.account)
        return member.flatMap { identity.chain.statement(of: $0.statementHash) }?.keys == identity.keys.publicKeys
    }
}
