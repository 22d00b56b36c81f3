@testable import BrumeEncryption

/// Some accounts with identities, and rings of `_ann`'s.
struct Household {
    struct Person {
        let name: String
        var identity: Identity

        var chain: StatementChain { identity.chain }
        /// As the person's devices have them, the newest first.
        var identities: [KeyPairs] { chain.identities(from: identity.keys) }

        /// This person as a member, with the newest statement.
        func member(_ role: RingRole, joining: RingMember.Joining? = nil) -> RingMember {
            RingMember(user: name, statementHash: chain.last.hash, role: role, joining: joining)
        }
    }

    private(set) var people: [String: Person] = [:]
    private(set) var statements = StatementDirectory()

    let zone: RingName
    let tree: RingName

    init(_ names: String...) throws {
        zone = try RingName(place: Samples.place)
        tree = try RingName(place: Samples.place, root: "list")
        for name in names { try begin(name) }
    }

    subscript(_ name: String) -> Person { people[name]! }

    /// Gives somebody a first identity, or another one as after a reset.
    mutating func begin(_ name: String) throws {
        let scope = IdentityScope(
            account: name, container: Samples.place.container, environment: Samples.place.environment)
        let (identity, _) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        people[name] = Person(name: name, identity: identity)
        statements.add(identity.chain)
    }

    /// Gives somebody new keys, as when a device is lost.
    mutating func replaceKeys(of name: String) throws {
        people[name]!.identity = try self[name].identity.replacingKeys().identity
        statements.add(self[name].chain)
    }

    func author(_ name: String) -> RingAuthor {
        RingAuthor(user: name, identity: self[name].identity.keys, statements: statements)
    }

    /// The owner with these members.
    func draft(_ members: RingMember...) -> RingDraft {
        RingDraft(members: [self["_ann"].member(.owner)] + members)
    }

    /// A tree's ring that begins.
    func begun(_ draft: RingDraft, treeKeys: [UInt32: SecretKey] = [:]) throws -> RingChain {
        var draft = draft
        draft.zoneKeyNumber = 1
        draft.treeKeys = treeKeys
        return try author("_ann").begin(tree, draft)
    }

    func keys(_ chain: RingChain, of name: String) -> RingKeyring {
        chain.keys(of: self[name].identity)
    }

    /// The chain with one more entry by somebody, changed as `change` says.
    func next(
        _ chain: RingChain, by name: String, _ change: (inout RingDraft) throws -> Void = { _ in }
    ) throws -> RingChain {
        var draft = RingDraft(after: chain.head, statements: statements)
        try change(&draft)
        return try author(name).next(after: chain, keys: keys(chain, of: name), draft)
    }

    func invitation(
        _ role: RingRole = .reader, isForOneGuest: Bool = false, isOpen: Bool = false,
        secret: LinkSecret = LinkSecret(), by maker: String = "_ann"
    ) throws -> RingInvitation {
        try RingInvitation.make(
            maker: maker, makerKeys: maker == "_ann" ? nil : self[maker].identity.keys.publicKeys,
            owner: self["_ann"].identity.keys.publicKeys, role: role, isForOneGuest: isForOneGuest, isOpen: isOpen,
            secret: secret)
    }

    /// A guest as a writer takes him in.
    func guest(
        _ name: String, _ role: RingRole, by invitation: RingInvitation, secret: LinkSecret, in ring: RingName? = nil
    ) -> RingMember {
        let proof = secret.joinProof(
            ring: ring ?? tree, invitationID: invitation.id, guest: name, statementHash: self[name].chain.last.hash)
        return self[name].member(role, joining: .init(invitationID: invitation.id, proof: proof))
    }

    /// An entry behind a chain's head as a hostile author makes it: whatever it says, it is signed in his name, and
    /// the key is in its boxes.
    func forged(
        _ chain: RingChain, by name: String, ring: RingName? = nil, number: UInt32? = nil, isPerZone: Bool = false,
        hasPlainAssets: Bool = false, earlier: RingKeySeals.Earlier? = nil, committedKey: SecretKey? = nil,
        boxedHash: [UInt8]? = nil, key: SecretKey = .random(), _ change: (inout RingDraft) -> Void = { _ in }
    ) throws -> SignedRingEntry {
        let head = chain.head
        let ring = ring ?? head.ring
        let number = number ?? head.number + 1
        var draft = RingDraft(after: head, statements: statements)
        change(&draft)
        let ringKeys = keys(chain, of: name).current.map { [$0.number: $0.key] } ?? [:]
        let entry = RingEntry(
            ring: ring, number: number, previousHash: head.hash, author: name, isPerZone: isPerZone,
            hasPlainAssets: hasPlainAssets, draft: draft,
            commitment: RingKeySeals.commitment(ring: ring, number: number, key: committedKey ?? key),
            earlierKeys: RingKeySeals.seal(earlier ?? .init(ringKeys: ringKeys), ring: ring, number: number, key: key),
            closedKey: [])
        var message = PartWriter(.ringBox)
        message.write(bytes: key.copyBytes())
        message.write(bytes: boxedHash ?? entry.hash)
        let boxes = try entry.members.map { try BoxPair.box(message, to: self[$0.user].identity.keys.publicKeys.box) }
        return SignedRingEntry(
            entry: entry, signature: self[name].identity.keys.sign(SignedRingEntry.message(entry, boxes: boxes)),
            boxes: boxes)
    }
}

extension RingChain {
    /// Has the head say another number: a ring of thousands of entries would take its time.
    mutating func pretend(isNumbered number: UInt32) throws {
        let last = entries[entries.count - 1]
        var bytes = last.entry.bytes
        // Behind the label, format and suite, and the ring.
        var front = PartWriter(.ringEntry)
        front.write(u8: 1)
        front.write(u8: 1)
        front.write(last.entry.ring)
        withUnsafeBytes(of: number.littleEndian) {
            bytes.replaceSubrange(front.bytes.count..<front.bytes.count + 4, with: $0)
        }
        let signed = SignedRingEntry(entry: try RingEntry(bytes), signature: last.signature, boxes: last.boxes)
        self = RingChain(kept: entries.dropLast() + [signed])
    }
}
