import Testing

@testable import BrumeEncryption

/// Who may make which entry. All entries here are correctly signed by whoever makes them.
@Suite struct RingRulesTests {
    private var house: Household
    /// Ann owns the tree; Bob administers, Cat writes, Dan reads; Eve is a stranger.
    private let ring: RingChain

    init() throws {
        house = try Household("_ann", "_bob", "_cat", "_dan", "_eve", "_fay")
        ring = try house.begun(
            house.draft(
                house["_bob"].member(.administrator), house["_cat"].member(.writer), house["_dan"].member(.reader)))
    }

    private func refused(
        _ chain: RingChain? = nil, by name: String, in house: Household? = nil,
        _ change: (inout RingDraft) throws -> Void
    ) -> EncryptionRefusal? {
        refusal { try (house ?? self.house).next(chain ?? ring, by: name, change) }
    }

    private func index(_ name: String, _ draft: RingDraft) -> Int { draft.members.firstIndex { $0.user == name }! }

    private func setRole(_ role: RingRole, of name: String) -> (inout RingDraft) -> Void {
        { draft in draft.members[index(name, draft)] = house[name].member(role) }
    }

    private func drop(_ names: String...) -> (inout RingDraft) -> Void {
        { draft in draft.members.removeAll { names.contains($0.user) } }
    }

    private func add(_ name: String, _ role: RingRole) -> (inout RingDraft) -> Void {
        { $0.members.append(house[name].member(role)) }
    }

    @Test("the owner and administrators add readers and writers; the owner alone makes administrators")
    func adding() {
        for role in [RingRole.reader, .writer] {
            #expect(refused(by: "_ann", add("_eve", role)) == nil)
            #expect(refused(by: "_bob", add("_eve", role)) == nil)
            #expect(refused(by: "_cat", add("_eve", role)) == .notAllowed)
            #expect(refused(by: "_dan", add("_eve", role)) == .notAllowed)
        }
        #expect(refused(by: "_ann", add("_eve", .administrator)) == nil)
        #expect(refused(by: "_bob", add("_eve", .administrator)) == .notAllowed)
        #expect(refused(by: "_ann", add("_eve", .owner)) == .notAllowed)
        #expect(refused(by: "_ann", add("_bob", .reader)) == .notAllowed, "a name stands once")
    }

    @Test("a reader makes no entry, nor does a stranger, nor who was dropped")
    func authors() throws {
        #expect(refused(by: "_dan") { _ in } == .notAllowed)
        #expect(refused(by: "_eve") { _ in } == .notAllowed)
        #expect(refused(by: "_eve", add("_eve", .writer)) == .notAllowed)
        let dropped = try house.next(ring, by: "_ann", drop("_cat"))
        #expect(refused(dropped, by: "_cat") { _ in } == .notAllowed)
        #expect(refused(dropped, by: "_cat", add("_cat", .writer)) == .notAllowed)
        for name in ["_ann", "_bob", "_cat"] { #expect(refused(by: name) { _ in } == nil, "a new key for the same") }
    }

    @Test("roles are changed by the owner, and those of readers and writers by administrators, nobody's own")
    func roles() {
        #expect(refused(by: "_ann", setRole(.writer, of: "_dan")) == nil)
        #expect(refused(by: "_bob", setRole(.writer, of: "_dan")) == nil)
        #expect(refused(by: "_bob", setRole(.reader, of: "_cat")) == nil)
        #expect(refused(by: "_cat", setRole(.writer, of: "_dan")) == .notAllowed)
        #expect(refused(by: "_ann", setRole(.administrator, of: "_cat")) == nil)
        #expect(refused(by: "_ann", setRole(.reader, of: "_bob")) == nil)
        #expect(refused(by: "_bob", setRole(.administrator, of: "_cat")) == .notAllowed)
        #expect(refused(by: "_bob", setRole(.writer, of: "_bob")) == .notAllowed)
        #expect(refused(by: "_cat", setRole(.administrator, of: "_cat")) == .notAllowed)
        #expect(refused(by: "_ann", setRole(.writer, of: "_ann")) == .notAllowed)
        #expect(
            refused(by: "_ann") { draft in
                setRole(.writer, of: "_ann")(&draft)
                setRole(.owner, of: "_bob")(&draft)
            } == .notAllowed, "a ring's owner is the zone's")
    }

    @Test("an administrator neither makes another one nor unmakes one")
    func administrators() throws {
        let two = try house.next(ring, by: "_ann", setRole(.administrator, of: "_cat"))
        for role in [RingRole.writer, .reader] {
            #expect(refused(two, by: "_bob", setRole(role, of: "_cat")) == .notAllowed)
            #expect(refused(two, by: "_ann", setRole(role, of: "_cat")) == nil)
        }
        #expect(refused(two, by: "_bob", drop("_cat")) == nil, "but drops one")
    }

    @Test("whoever makes entries drops anybody but the owner and himself")
    func dropping() {
        for author in ["_ann", "_bob", "_cat"] {
            for name in ["_bob", "_cat", "_dan"] where name != author {
                #expect(refused(by: author, drop(name)) == nil, "\(author) drops \(name)")
            }
            #expect(refused(by: author, drop(author)) == .notAllowed)
            #expect(refused(by: author, drop("_ann")) == .notAllowed)
        }
    }

    @Test("an entry that does not follow is refused: another ring, scope or policy, a number or a hash left out")
    func following() throws {
        let two = try house.next(ring, by: "_ann")
        let three = try house.next(two, by: "_ann")
        var chain = ring
        #expect(refusal { try chain.append(three.entries[2], statements: house.statements) } == .brokenChain)
        #expect(refusal { try chain.append(ring.entries[0], statements: house.statements) } == .brokenChain)
        let other = try house.next(house.next(ring, by: "_bob"), by: "_bob")
        chain = two
        #expect(refusal { try chain.append(other.entries[2], statements: house.statements) } == .brokenChain)
        #expect(chain.entries.count == 2, "what was refused is not in it")
        for forged in [
            try house.forged(ring, by: "_ann", hasPlainAssets: true), try house.forged(ring, by: "_ann", number: 3),
            try house.forged(ring, by: "_ann", ring: try RingName(place: Samples.place, root: "other")),
        ] {
            chain = ring
            #expect(refusal { try chain.append(forged, statements: house.statements) } == .brokenChain)
        }
        let zone = try house.author("_ann").begin(house.zone, house.draft())
        chain = zone
        let perZone = try house.forged(zone, by: "_ann", isPerZone: true)
        #expect(refusal { try chain.append(perZone, statements: house.statements) } == .brokenChain)
        try chain.append(house.forged(zone, by: "_ann"), statements: house.statements)
        #expect(refused(by: "_ann") { $0.zoneKeyNumber = 3 } == nil)
        for name in ["_bob", "_cat"] { #expect(refused(by: name) { $0.zoneKeyNumber = 3 } == .notAllowed) }
        let newer = try house.next(ring, by: "_ann") { $0.zoneKeyNumber = 3 }
        #expect(refused(newer, by: "_ann") { $0.zoneKeyNumber = 2 } == .brokenChain)
    }

    @Test("a ring begins with its owner's entry, in its place")
    func beginning() throws {
        var draft = house.draft()
        draft.zoneKeyNumber = 1
        #expect(refusal { try house.author("_bob").begin(house.tree, draft) } == .brokenChain)
        draft.members.append(house["_bob"].member(.administrator))
        #expect(refusal { try house.author("_ann").begin(house.tree, draft) } == nil)
        draft.members[0] = house["_ann"].member(.writer)
        #expect(refusal { try house.author("_ann").begin(house.tree, draft) } == .notAllowed)
        draft.members[1] = house["_bob"].member(.owner)
        #expect(refusal { try house.author("_ann").begin(house.tree, draft) } == .notAllowed)
        let elsewhere = try Place(
            container: Samples.place.container, environment: "development", owner: "_ann", zone: "Notes",
            ringID: Samples.place.ringID)
        draft = house.draft()
        draft.zoneKeyNumber = 1
        let there = try RingName(place: elsewhere, root: "list")
        #expect(
            refusal { try house.author("_ann").begin(there, draft) } == .brokenChain, "her statements are not of it")
        let first = ring.entries[0]
        let other = try RingName(place: Samples.place, root: "x")
        #expect(refusal { try RingChain(first: first, of: other, statements: house.statements) } == .brokenChain)
    }

    @Test("a signature is the author's, by the identity that the entry itself names")
    func signatures() throws {
        let two = try house.next(ring, by: "_cat")
        func appended(signedBy keys: KeyPairs) -> EncryptionRefusal? {
            var chain = ring
            let signed = SignedRingEntry(
                entry: two.head,
                signature: keys.sign(SignedRingEntry.message(two.head, boxes: two.entries[1].boxes)),
                boxes: two.entries[1].boxes)
            return refusal { try chain.append(signed, statements: house.statements) }
        }
        #expect(appended(signedBy: house["_cat"].identity.keys) == nil)
        #expect(appended(signedBy: house["_bob"].identity.keys) == .badSignature)
        // Bob signs in his own name, over an entry that says it is Ann's.
        let falseAnn = RingAuthor(user: "_ann", identity: house["_bob"].identity.keys, statements: house.statements)
        let keys = house.keys(ring, of: "_bob")
        #expect(
            refusal {
                try falseAnn.next(after: ring, keys: keys, RingDraft(after: ring.head, statements: house.statements))
            } == .badSignature)
    }

    @Test("a member's statement goes forward in its own chain: no earlier one, no other's, none that is not known")
    func statements() throws {
        var house = house
        try house.replaceKeys(of: "_dan")
        let renewed = try house.next(ring, by: "_cat")
        #expect(house.keys(renewed, of: "_dan").current != nil)
        let old = ring.head.members[3]
        func forged(_ chain: RingChain, _ member: RingMember) -> EncryptionRefusal? {
            refusal {
                var chain = chain
                try chain.append(
                    house.forged(chain, by: "_ann") { $0.members[3] = member }, statements: house.statements)
            }
        }
        #expect(forged(renewed, house["_dan"].member(.reader)) == nil)
        #expect(forged(renewed, old) == .brokenChain)
        #expect(forged(ring, old) == nil, "who does not know of the newer one yet")
        for hash in [house["_eve"].chain.last.hash, Samples.file(32)] {
            #expect(forged(ring, RingMember(user: "_dan", statementHash: hash, role: .reader)) == .brokenChain)
        }
    }

    @Test("another identity under a name is another member: only who drops and adds puts it in, and never the owner's")
    func otherIdentities() throws {
        var house = house
        try house.begin("_dan")
        let asReader = { (draft: inout RingDraft) in draft.members[3] = house["_dan"].member(.reader) }
        #expect(refusal { try house.next(ring, by: "_ann", asReader) } == nil)
        #expect(refusal { try house.next(ring, by: "_cat", asReader) } == .notAllowed, "a writer adds nobody")
        // Not with a link either, which whoever invented the chain may have.
        let secret = LinkSecret()
        let link = try house.invitation(.reader, secret: secret)
        let withLink = try house.next(ring, by: "_ann") { $0.invitations = [link] }
        let guest = house.guest("_dan", .reader, by: link, secret: secret)
        #expect(
            refusal {
                try house.next(withLink, by: "_cat") {
                    $0.members[3] = guest; $0.invitations = []
                }
            } == .notAllowed)
        #expect(
            refusal {
                try house.next(withLink, by: "_bob") {
                    $0.members[3] = guest; $0.invitations = []
                }
            } == nil)
        let keys = house.keys(ring, of: "_bob")
        try house.begin("_ann")
        // A chain that the server invented, put in her place by another, and signed in her name.
        var draft = RingDraft(after: ring.head, statements: house.statements)
        draft.members[0] = house["_ann"].member(.owner)
        #expect(refusal { try house.author("_bob").next(after: ring, keys: keys, draft) } == .notAllowed)
        #expect(
            refusal { try house.next(ring, by: "_ann") { $0.members[0] = house["_ann"].member(.owner) } } == .notAllowed
        )
    }

    @Test("a writer takes in a guest with the proof of an invitation, with no more than its role")
    func joining() throws {
        let secret = LinkSecret()
        let writers = try house.invitation(.writer, secret: secret)
        let readersSecret = LinkSecret()
        let readers = try house.invitation(.reader, secret: readersSecret)
        let chain = try house.next(ring, by: "_ann") { $0.invitations = [writers, readers] }
        func taken(_ member: RingMember, by name: String = "_cat") -> EncryptionRefusal? {
            refused(chain, by: name) { $0.members.append(member) }
        }
        #expect(taken(house.guest("_eve", .writer, by: writers, secret: secret)) == nil)
        #expect(taken(house.guest("_eve", .reader, by: writers, secret: secret)) == nil)
        #expect(taken(house.guest("_eve", .reader, by: readers, secret: readersSecret)) == nil)
        #expect(taken(house.guest("_eve", .writer, by: readers, secret: readersSecret)) == .notAllowed)
        #expect(taken(house.guest("_eve", .administrator, by: writers, secret: secret)) == .notAllowed)
        #expect(taken(house.guest("_eve", .reader, by: writers, secret: readersSecret)) == .badSignature)
        // Another's proof; another ring's; of an invitation that is not there.
        let eves = house.guest("_eve", .reader, by: writers, secret: secret).joining
        #expect(taken(house["_fay"].member(.reader, joining: eves)) == .badSignature)
        let elsewhere = try RingName(place: Samples.place, root: "other")
        #expect(taken(house.guest("_eve", .reader, by: writers, secret: secret, in: elsewhere)) == .badSignature)
        let gone = try house.invitation(.writer, secret: secret)
        #expect(taken(house.guest("_eve", .reader, by: gone, secret: secret)) == .notAllowed)
        #expect(taken(house["_eve"].member(.reader)) == .notAllowed)
        // Who may add needs no proof, and is held to one that he names; a reader may not even with one.
        #expect(taken(house.guest("_eve", .reader, by: writers, secret: secret), by: "_ann") == nil)
        #expect(taken(house.guest("_eve", .writer, by: readers, secret: readersSecret), by: "_ann") == .notAllowed)
        #expect(taken(house.guest("_eve", .reader, by: writers, secret: secret), by: "_dan") == .notAllowed)
        // A proof stands in the one entry that adds by it.
        let joined = try house.next(chain, by: "_cat") {
            $0.members.append(house.guest("_eve", .reader, by: writers, secret: secret))
        }
        #expect(refused(joined, by: "_cat") { _ in } == nil)
        #expect(
            refused(joined, by: "_cat") { draft in
                draft.members[4] = house.guest("_eve", .reader, by: writers, secret: secret)
            } == .notAllowed)
    }

    @Test("an invitation for one guest takes one in, and is gone")
    func oneGuest() throws {
        let secret = LinkSecret()
        let invitation = try house.invitation(isForOneGuest: true, secret: secret)
        let chain = try house.next(ring, by: "_ann") { $0.invitations = [invitation] }
        let eve = house.guest("_eve", .reader, by: invitation, secret: secret)
        let fay = house.guest("_fay", .reader, by: invitation, secret: secret)
        #expect(refused(chain, by: "_cat") { $0.members.append(eve) } == .notAllowed, "it stays")
        #expect(
            refused(chain, by: "_cat") {
                $0.members += [eve, fay]
                $0.invitations = []
            } == .notAllowed)
        let joined = try house.next(chain, by: "_cat") {
            $0.members.append(eve)
            $0.invitations = []
        }
        #expect(refused(joined, by: "_cat") { $0.members.append(fay) } == .notAllowed)
    }

    @Test("the owner and administrators make invitations in their own names, anybody removes them, nobody changes one")
    func invitations() throws {
        for name in ["_ann", "_bob"] {
            #expect(refused(by: name) { $0.invitations = [try house.invitation(by: name)] } == nil)
        }
        for name in ["_cat", "_dan"] {
            #expect(refused(by: name) { $0.invitations = [try house.invitation(by: name)] } == .notAllowed)
        }
        #expect(refused(by: "_ann") { $0.invitations = [try house.invitation(by: "_bob")] } == .notAllowed)
        #expect(refused(by: "_bob") { $0.invitations = [try house.invitation(by: "_ann")] } == .notAllowed)
        let invitation = try house.invitation()
        let chain = try house.next(ring, by: "_ann") { $0.invitations = [invitation] }
        #expect(refused(chain, by: "_cat") { $0.invitations = [] } == nil)
        #expect(refused(chain, by: "_cat") { _ in } == nil)
        #expect(try SignedRingEntry(chain.entries[1].bytes).entry.invitations == [invitation])
        for (offset, value) in [(28, UInt8(2)), (29, 1), (30, 1)] {
            let other = try changed(invitation) { $0[offset] = value }
            #expect(refused(chain, by: "_ann") { $0.invitations = [other] } == .notAllowed, "byte \(offset)")
        }
        #expect(refused(chain, by: "_ann") { $0.invitations = [invitation, invitation] } == .notAllowed)
        let secret = LinkSecret()
        let twins = [try house.invitation(secret: secret), try house.invitation(secret: secret)]
        #expect(refused(by: "_ann") { $0.invitations = twins } == .notAllowed, "two with one secret")
        let other = try house.invitation()
        let sameID = try changed(other) { $0.replaceSubrange(4..<20, with: invitation.id) }
        #expect(refused(by: "_ann") { $0.invitations = [invitation, sameID] } == .notAllowed, "two with one id")
        // The secret's box for the maker is there unless the owner made it.
        let boxless = try RingInvitation.make(
            maker: "_bob", makerKeys: nil, owner: house["_ann"].identity.keys.publicKeys, role: .reader,
            isForOneGuest: false, isOpen: false, secret: LinkSecret())
        #expect(refused(by: "_bob") { $0.invitations = [boxless] } == .damaged)
        let administrators = try changed(invitation) { $0[28] = 1 }
        #expect(refused(by: "_ann") { $0.invitations = [administrators] } == .notAllowed)
        var first = house.draft(house["_bob"].member(.administrator))
        first.zoneKeyNumber = 1
        first.invitations = [try house.invitation(by: "_bob")]
        #expect(refusal { try house.author("_ann").begin(house.tree, first) } == .notAllowed)
    }

    /// An invitation whose bytes a hostile author has changed: id, role, flags, keys.
    private func changed(_ invitation: RingInvitation, _ change: (inout [UInt8]) -> Void) throws -> RingInvitation {
        var writer = PartWriter(capacity: 512)
        writer.write(invitation)
        var bytes = writer.bytes
        change(&bytes)
        var reader = PartReader(unlabelled: bytes)
        return try reader.readInvitation()
    }

    @Test("who drops somebody keeps no link that many may know, and puts others in their places")
    func dropsLinks() throws {
        let many = try house.invitation(.writer, isOpen: true)
        let one = try house.invitation(.reader, isForOneGuest: true)
        let chain = try house.next(ring, by: "_ann") { $0.invitations = [many, one] }
        #expect(refused(chain, by: "_cat", drop("_dan")) == .notAllowed)
        #expect(
            refused(chain, by: "_cat") {
                drop("_dan")(&$0)
                $0.invitations = [one]
            } == nil)
        let owner = house["_ann"].identity.keys.publicKeys
        for name in ["_ann", "_bob", "_cat"] {
            let dropped = try house.next(chain, by: name) { draft in
                draft.drop(["_dan"])
                #expect(draft.invitations == [one] && draft.endedLinks == [many])
                let keys = name == "_ann" ? nil : house[name].identity.keys.publicKeys
                let secrets = try draft.replaceLinks(owner: owner, author: name, authorKeys: keys)
                #expect(secrets.count == 1)
            }
            let invitations = dropped.head.invitations
            #expect(invitations.count == 2 && invitations.contains(one) && !invitations.contains(many))
            let replaced = try #require(invitations.first { $0 != one })
            #expect(replaced.replaces(many) && replaced.maker == name)
            _ = try replaced.openSecret(as: house["_ann"].identity.keys)
            _ = try replaced.openSecret(as: house[name].identity.keys)
        }
        let same = try house.invitation(.writer, isOpen: true, by: "_cat")
        #expect(refused(chain, by: "_cat") { $0.invitations = [one, same] } == .notAllowed, "nobody goes")
        // A writer puts in one of the same kind for each that goes, and no more; nobody uses a link's keys again.
        for (role, isOpen, count) in [(RingRole.reader, true, 1), (.writer, false, 1), (.writer, true, 2)] {
            let others = try (0..<count).map { _ in try house.invitation(role, isOpen: isOpen, by: "_cat") }
            let asCat = refused(chain, by: "_cat") {
                drop("_dan")(&$0)
                $0.invitations = [one] + others
            }
            #expect(asCat == .notAllowed)
        }
        let secret = try many.openSecret(as: house["_ann"].identity.keys)
        let again = try house.invitation(.writer, isOpen: true, secret: secret)
        #expect(
            refused(chain, by: "_ann") {
                drop("_dan")(&$0)
                $0.invitations = [one, again]
            } == .notAllowed)
        // One for one guest that goes is in nobody's place.
        #expect(
            refused(chain, by: "_cat") {
                drop("_dan")(&$0)
                $0.invitations = [same, try house.invitation(.reader, isForOneGuest: true, by: "_cat")]
            } == .notAllowed)
    }

    @Test("an invitation goes with its maker, who knows the secret")
    func makers() throws {
        let bobs = try house.invitation(isForOneGuest: true, isOpen: true, by: "_bob")
        let anns = try house.invitation(isForOneGuest: true, isOpen: true)
        let chain = try house.next(house.next(ring, by: "_bob") { $0.invitations = [bobs] }, by: "_ann") {
            $0.invitations.append(anns)
        }
        #expect(refused(chain, by: "_ann", drop("_bob")) == .notAllowed)
        #expect(refused(chain, by: "_ann", drop("_dan")) == nil)
        let dropped = try house.next(chain, by: "_ann") { $0.drop(["_bob"]) }
        #expect(dropped.head.invitations == [anns])
        // Also where he comes back with another identity.
        var house = house
        try house.begin("_bob")
        for (kept, refusal) in [([bobs, anns], EncryptionRefusal.notAllowed), ([anns], nil)] {
            let asBob = refused(chain, by: "_ann", in: house) {
                $0.members[1] = house["_bob"].member(.administrator)
                $0.invitations = kept
            }
            #expect(asBob == refusal)
        }
    }

    @Test("no link that old keys open is kept where somebody has new ones, and others come in their places")
    func linksOfOldKeys() throws {
        let many = try house.invitation(isOpen: true)
        let anns = try house.invitation(isForOneGuest: true)
        let bobs = try house.invitation(isForOneGuest: true, by: "_bob")
        let before = try house.next(ring, by: "_ann") { $0.invitations = [many, anns] }
        let chain = try house.next(before, by: "_bob") { $0.invitations.append(bobs) }
        for (name, kept) in [("_dan", [anns, bobs]), ("_bob", [anns]), ("_ann", [])] {
            var house = house
            let old = house[name].identities
            try house.replaceKeys(of: name)
            let owner = house["_ann"].identity.keys.publicKeys
            let next = try house.next(chain, by: "_ann") { draft in
                #expect(draft.invitations == kept)
                let secrets = try draft.replaceLinks(owner: owner, author: "_ann", authorKeys: nil)
                #expect(secrets.count == 1)
            }
            #expect(next.head.invitations.count == kept.count + 1)
            #expect(!next.head.invitations.contains { link in old.contains { (try? link.openSecret(as: $0)) != nil } })
            for link in [many, anns, bobs] where !kept.contains(link) {
                #expect(refused(chain, by: "_ann", in: house) { $0.invitations = [link] } == .notAllowed)
            }
            // A writer may do the same.
            let writers = try house.invitation(isOpen: true, by: "_cat")
            #expect(refused(chain, by: "_cat", in: house) { $0.invitations = kept + [writers] } == nil)
        }
    }

    @Test("a ring has 64 MiB at most, of which the last four are the owner's")
    func bytes() throws {
        let size = try house.next(ring, by: "_ann").entries[1].byteCount
        #expect(try house.next(ring, by: "_ann").entries[1].bytes.count == size)
        #expect(ring.byteCount == ring.entries[0].bytes.count)
        for (byteCount, asBob, asAnn) in [
            (60 << 20, EncryptionRefusal?.none, EncryptionRefusal?.none), ((60 << 20) + 1, .notAllowed, nil),
            (64 << 20, .notAllowed, nil), ((64 << 20) + 1, .brokenChain, .brokenChain),
        ] {
            let chain = RingChain(kept: ring.entries, byteCount: byteCount - size)
            #expect(refused(chain, by: "_bob") { _ in } == asBob)
            #expect(refused(chain, by: "_ann") { _ in } == asAnn)
        }
    }

    @Test("the last entries that a ring can have are the owner's, and there are no more")
    func lastEntries() throws {
        var chain = ring
        let last = Limits.ringEntries - Limits.ringEntriesOfOwner
        try chain.pretend(isNumbered: UInt32(last))
        for (name, refusal) in [("_bob", EncryptionRefusal.notAllowed), ("_cat", .notAllowed), ("_ann", nil)] {
            #expect(refused(chain, by: name) { _ in } == refusal)
        }
        try chain.pretend(isNumbered: UInt32(last - 1))
        #expect(refused(chain, by: "_bob") { _ in } == nil)
        try chain.pretend(isNumbered: UInt32(Limits.ringEntries - 1))
        #expect(refused(chain, by: "_ann") { _ in } == nil)
        try chain.pretend(isNumbered: UInt32(Limits.ringEntries))
        #expect(refused(chain, by: "_ann") { _ in } == .brokenChain)
    }

    @Test("the owner alone closes a ring, when nobody else is in it, and opens it again")
    func closing() throws {
        let zoneKey = Samples.key(1)
        let alone = try house.next(ring, by: "_ann", drop("_bob", "_cat", "_dan"))
        let close = { (draft: inout RingDraft) in draft.close(zoneKey: (zoneKey, 1)) }
        #expect(refused(by: "_ann", close) == .notAllowed)
        #expect(refused(by: "_bob", close) == .notAllowed)
        #expect(
            refused(alone, by: "_ann") {
                close(&$0)
                $0.invitations = [try house.invitation()]
            } == .notAllowed)
        let closed = try house.next(alone, by: "_ann", close)
        #expect(refused(closed, by: "_ann", add("_bob", .writer)) == nil)
        #expect(refused(closed, by: "_bob", add("_bob", .writer)) == .notAllowed)
        var first = house.draft()
        close(&first)
        #expect(refusal { try house.author("_ann").begin(house.tree, first) } == .brokenChain)
    }

    @Test("the owner alone ends another branch")
    func branches() throws {
        let other = try house.next(ring, by: "_bob").head.hash
        #expect(refused(by: "_ann") { $0.otherBranch = other } == nil)
        #expect(refused(by: "_bob") { $0.otherBranch = other } == .notAllowed)
        var first = house.draft()
        first.zoneKeyNumber = 1
        first.otherBranch = other
        #expect(refusal { try house.author("_ann").begin(house.tree, first) } == .brokenChain)
    }
}
