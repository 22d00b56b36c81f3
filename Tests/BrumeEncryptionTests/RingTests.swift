import Testing

@testable import BrumeEncryption

/// What a ring is for: who has which key.
@Suite struct RingTests {
    private var house: Household

    init() throws { house = try Household("_ann", "_bob", "_cat", "_dan") }

    private func isSame(_ left: SecretKey?, _ right: SecretKey?) -> Bool {
        guard let left, let right else { return false }
        return left.copyBytes() == right.copyBytes()
    }

    @Test("each member has the key of a ring, and nobody else")
    func members() throws {
        let chain = try house.begun(house.draft(house["_bob"].member(.writer)))
        let key = try #require(house.keys(chain, of: "_ann").current)
        #expect(key.number == 1)
        #expect(isSame(house.keys(chain, of: "_bob").current?.key, key.key))
        #expect(house.keys(chain, of: "_cat").current == nil)
        var other = house
        try other.begin("_bob")
        #expect(chain.keys(of: other["_bob"].identity).current == nil, "a box is for an identity, and not for a name")
        let read = try SignedRingEntry(chain.entries[0].bytes)
        #expect(read == chain.entries[0])
        let copy = try RingChain(first: read, of: house.tree, statements: house.statements)
        #expect(isSame(house.keys(copy, of: "_bob").current?.key, key.key))
    }

    @Test("who is dropped has no later key; who is added has the earlier ones")
    func dropsAndAdds() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let two = try house.next(one, by: "_ann") { $0.members.removeAll { $0.user == "_bob" } }
        let three = try house.next(two, by: "_ann") { $0.members.append(house["_cat"].member(.reader)) }
        let bobs = house.keys(three, of: "_bob")
        #expect(bobs.current == nil && bobs.keys.keys.sorted() == [1])
        let cats = house.keys(three, of: "_cat")
        #expect(cats.keys.keys.sorted() == [1, 2, 3])
        #expect(isSame(cats.keys[1], bobs.keys[1]))
    }

    @Test("a key whose earlier ones are not what they should be is missing, and what others have of them is handed on")
    func handedOn() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer), house["_cat"].member(.reader)))
        let key = try #require(house.keys(one, of: "_ann").current?.key)
        let invented = Samples.key(9)
        for earlier in [
            RingKeySeals.Earlier(ringKeys: [1: invented]), .init(ringKeys: [1: key, 2: invented]),
            .init(ringKeys: [7: invented]), .init(ringKeys: [1: key], treeKeys: [1: invented]),
        ] {
            var two = one
            try two.append(house.forged(one, by: "_bob", earlier: earlier), statements: house.statements)
            let anns = house.keys(two, of: "_ann")
            #expect(anns.current == nil && anns.keys.keys.sorted() == [1] && isSame(anns.keys[1], key))
            #expect(anns.treeKeys.isEmpty)
        }
        // A key that somebody hands on is read with, though its own entry gave it with nothing behind it.
        let second = Samples.key(2)
        var three = one
        try three.append(
            house.forged(one, by: "_bob", earlier: .init(ringKeys: [1: invented]), key: second),
            statements: house.statements)
        try three.append(
            house.forged(three, by: "_bob", earlier: .init(ringKeys: [2: second])), statements: house.statements)
        #expect(house.keys(three, of: "_cat").keys.keys.sorted() == [1, 2, 3])
        // Bob keeps the earlier keys to himself. Ann hands on what she has, and Dan, who comes later, reads all.
        var two = one
        try two.append(house.forged(one, by: "_bob", earlier: .init()), statements: house.statements)
        #expect(house.keys(two, of: "_ann").keys.keys.sorted() == [1, 2])
        let longer = try house.next(two, by: "_ann") { $0.members.append(house["_dan"].member(.reader)) }
        #expect(house.keys(longer, of: "_dan").keys.keys.sorted() == [1, 2, 3])
        #expect(house.keys(longer, of: "_ann").unsharedNumbers.isEmpty)
    }

    @Test("a key goes to the newest keys of each member, and never to those that he has replaced")
    func newestStatements() throws {
        var house = house
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let old = house["_bob"].identity
        try house.replaceKeys(of: "_bob")
        let two = try house.next(one, by: "_ann")
        #expect(two.keys(of: old).current == nil, "a device that was lost")
        #expect(two.entries[1].key(of: "_bob", identity: old.keys) == nil)
        #expect(house.keys(two, of: "_bob").current != nil)
        var draft = RingDraft(after: one.head, statements: house.statements)
        #expect(draft.members[1] == house["_bob"].member(.writer))
        draft.members[1] = one.head.members[1]
        let keys = house.keys(one, of: "_ann")
        #expect(refusal { try house.author("_ann").next(after: one, keys: keys, draft) } == .brokenChain)
    }

    @Test("what others would refuse is not made: too many members, a tree without the zone's key, another head's keys")
    func notMade() throws {
        let ann = house.author("_ann")
        #expect(refusal { try ann.begin(house.tree, house.draft()) } == .damaged)
        var far = house.draft()
        far.zoneKeyNumber = 16_385
        #expect(refusal { try ann.begin(house.tree, far) } == .damaged)
        var draft = house.draft()
        draft.invitations = try (0..<33).map { _ in try house.invitation() }
        #expect(refusal { try ann.begin(house.zone, draft) } == .damaged)
        draft = house.draft()
        draft.close(zoneKey: (Samples.key(1), 1))
        #expect(refusal { try ann.begin(house.zone, draft) } == .damaged, "a zone's ring stays open")
        let one = try house.begun(house.draft())
        let two = try house.next(one, by: "_ann")
        draft = RingDraft(after: two.head, statements: house.statements)
        let keys = house.keys(one, of: "_ann")
        #expect(refusal { try ann.next(after: two, keys: keys, draft) } == .keyMissing)
    }

    @Test("an entry whose box does not open is the head all the same: nothing is written under the key before")
    func badBox() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer), house["_cat"].member(.reader)))
        for forged in [
            try house.forged(one, by: "_bob", committedKey: Samples.key(9)),
            try house.forged(one, by: "_bob", boxedHash: one.head.hash),
        ] {
            var two = one
            try two.append(forged, statements: house.statements)
            #expect(house.keys(two, of: "_ann").current == nil && house.keys(two, of: "_ann").keys.keys.sorted() == [1])
            // She goes on behind it, and hands on what she has.
            let three = try house.next(two, by: "_ann") { $0.members.removeLast() }
            #expect(house.keys(three, of: "_bob").keys.keys.sorted() == [1, 3])
        }
        var two = one
        try two.append(house.forged(one, by: "_bob"), statements: house.statements)
        #expect(house.keys(two, of: "_ann").current != nil, "the same made honestly")
    }

    @Test("a box that a server spoils, or takes from another entry, is refused with its entry")
    func spoiltBoxes() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let two = try house.next(one, by: "_ann")
        let good = two.entries[1]
        for boxes in [one.entries[0].boxes, good.boxes.reversed(), [good.boxes[0], good.boxes[0]]] {
            var chain = one
            let spoilt = SignedRingEntry(entry: two.head, signature: good.signature, boxes: boxes)
            #expect(refusal { try chain.append(spoilt, statements: house.statements) } == .badSignature)
        }
    }

    @Test("members of a tree that was private get its earlier keys, and not the zone's")
    func treeKeys() throws {
        let zone = try house.author("_ann").begin(house.zone, house.draft())
        let zoneKey = try #require(house.keys(zone, of: "_ann").current)
        let tree = Samples.tree("list")
        let treeKey = tree.key(from: zoneKey.key)
        let chain = try house.begun(house.draft(house["_bob"].member(.reader)), treeKeys: [1: treeKey])
        let bobs = house.keys(chain, of: "_bob")
        #expect(isSame(bobs.treeKeys[1], treeKey))
        #expect(house.keys(zone, of: "_bob").current == nil)
        // What was written before the tree was shared, as its participant reads it.
        let sealed = TreeCipher(tree: tree, ringKey: zoneKey.key, number: 1).record(named: "note", type: "Note")
            .seal([1, 2], field: "text", valueType: "STRING")
        let opened = try TreeCipher(tree: tree, key: #require(bobs.treeKeys[1]), number: 1)
            .record(named: "note", type: "Note").open(sealed, field: "text", valueType: "STRING")
        #expect(opened == [1, 2])
        // They come along with later entries.
        let two = try house.next(chain, by: "_ann") { $0.members.append(house["_cat"].member(.reader)) }
        #expect(isSame(house.keys(two, of: "_cat").treeKeys[1], treeKey))
    }

    @Test("a closed ring is read by whoever has the zone's newer key, and by nobody with the older one")
    func closing() throws {
        var zone = try house.author("_ann").begin(house.zone, house.draft())
        let shared = try house.begun(house.draft(house["_bob"].member(.writer)))
        zone = try house.next(zone, by: "_ann")
        let zoneKey = try #require(house.keys(zone, of: "_ann").current)
        let closed = try house.next(shared, by: "_ann") {
            $0.members.removeLast()
            $0.close(zoneKey: zoneKey)
        }
        #expect(closed.head.isClosed && closed.head.zoneKeyNumber == 2)
        #expect(house.keys(closed, of: "_bob").current == nil)
        // Cat joins the zone as a whole.
        zone = try house.next(zone, by: "_ann") { $0.members.append(house["_cat"].member(.reader)) }
        let cats = closed.keys(ofZone: house.keys(zone, of: "_cat"))
        #expect(cats.keys.keys.sorted() == [1, 2])
        #expect(isSame(cats.keys[1], house.keys(shared, of: "_bob").keys[1]))
        #expect(shared.keys(ofZone: house.keys(zone, of: "_cat")).keys.isEmpty)
        // Opened again, it hands on all that went before.
        let opened = try house.next(closed, by: "_ann") {
            $0.members.append(house["_dan"].member(.reader))
            $0.treeKeys = [2: Samples.tree("list").key(from: zoneKey.key)]
        }
        #expect(!opened.head.isClosed)
        #expect(house.keys(opened, of: "_dan").keys.keys.sorted() == [1, 2, 3])
        #expect(house.keys(opened, of: "_dan").treeKeys.keys.sorted() == [2])
    }

    @Test("an open invitation's link reads without an identity; another one's does not, and one that is gone neither")
    func openLinks() throws {
        let open = LinkSecret()
        let other = LinkSecret()
        var draft = house.draft()
        draft.invitations = [
            try house.invitation(isOpen: true, secret: open), try house.invitation(isOpen: false, secret: other),
        ]
        let one = try house.begun(draft)
        #expect(isSame(try one.keys(of: open).current?.key, house.keys(one, of: "_ann").current?.key))
        #expect(try one.keys(of: other).keys.isEmpty, "it admits by its proof alone")
        #expect(refusal { try one.keys(of: LinkSecret()) } == .keyMissing)
        let two = try house.next(one, by: "_ann") { $0.invitations.removeFirst() }
        #expect(refusal { try two.keys(of: open) } == .keyMissing)
    }

    @Test("a link is shown again to the owner and to whoever made it, after their keys are others, too")
    func linkSecrets() throws {
        var house = house
        let secret = LinkSecret()
        let invitation = try house.invitation(secret: secret, by: "_bob")
        for name in ["_ann", "_bob"] {
            #expect(
                try invitation.openSecret(as: house[name].identity.keys).pairs.publicKeys == secret.pairs.publicKeys)
        }
        #expect(refusal { try invitation.openSecret(as: house["_cat"].identity.keys) } == .keyMissing)
        // A box with another link's secret, or with another invitation's id.
        let ann = house["_ann"].identity.keys
        for box in [
            try LinkSecret().box(id: invitation.id, to: ann.publicKeys),
            try secret.box(id: Samples.file(16), to: ann.publicKeys),
        ] {
            var bytes = PartWriter(capacity: 512)
            bytes.write(invitation)
            var changed = bytes.bytes
            // Behind id, maker, role, flags, keys and the box's length.
            changed.replaceSubrange(107..<107 + box.count, with: box)
            var reader = PartReader(unlabelled: changed)
            let other = try reader.readInvitation()
            #expect(other.keys == invitation.keys && other != invitation)
            #expect(refusal { try other.openSecret(as: ann) } == .keyMissing)
        }
        try house.replaceKeys(of: "_ann")
        let identities = house["_ann"].identities
        #expect(identities.count == 2)
        #expect(identities.contains { (try? invitation.openSecret(as: $0)) != nil })
    }

    @Test("a member with new keys opens older entries with the keys before, which the new ones give")
    func newKeys() throws {
        var house = house
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let key = house.keys(one, of: "_bob").current?.key
        try house.replaceKeys(of: "_bob")
        #expect(isSame(house.keys(one, of: "_bob").current?.key, key))
        #expect(isSame(house.keys(try house.next(one, by: "_ann"), of: "_bob").keys[1], key))
    }

    @Test("every flipped byte of a signed entry is refused, and every cut")
    func damage() throws {
        var draft = house.draft(house["_bob"].member(.writer))
        draft.invitations = [try house.invitation(isOpen: true)]
        let bytes = try house.begun(draft).entries[0].bytes
        for (index, other) in bytes.flipped.enumerated() {
            let refusal = refusal {
                try RingChain(first: SignedRingEntry(other), of: house.tree, statements: house.statements)
            }
            #expect(refusal != nil, "byte \(index)")
        }
        for other in bytes.cutAndContinued { #expect(refusal { try SignedRingEntry(other) } == .damaged) }
    }

    @Test("a link's fragment is read as it was written, and nothing else is")
    func fragments() throws {
        let secret = LinkSecret()
        let first = house["_ann"].chain
        for title in [nil, "", "Shopping", "a.b", "\u{301}"] {
            let text = LinkFragment(ownersFirstStatement: first.first.hash, secret: secret, title: title).text
            let read = try LinkFragment(text)
            #expect(read.title == title && read.text == text && read.secret.pairs.publicKeys == secret.pairs.publicKeys)
            #expect(read.isOf(first) && !read.isOf(house["_bob"].chain))
        }
        let text = LinkFragment(ownersFirstStatement: first.first.hash, secret: secret, title: nil).text
        #expect(text.count == 66 && text.hasPrefix("1."))
        #expect(refusal { try LinkFragment("2" + text.dropFirst()) } == .newer)
        for other in [
            "", "1", "1.", String(text.dropLast()), text + "A", "x" + text.dropFirst(), text + "=", " " + text,
        ] {
            #expect(refusal { try LinkFragment(other) } == .damaged, "\(other)")
        }
    }

    @Test("a link's fragment is told from a title, in whatever version it is, and shows nothing of itself")
    func fragmentsAndTitles() {
        let fragment = LinkFragment(
            ownersFirstStatement: house["_ann"].chain.first.hash, secret: LinkSecret(), title: "Shopping")
        let text = fragment.text
        for other in [text, "2" + text.dropFirst(), "12.a-_Z9", "1.a.", "1.a.\u{301}"] {
            #expect(LinkFragment.resembles(other), "\(other)")
        }
        for title in ["", "1", "1.", "1..", ".a", "a.b", "1. Milk", "2.%20Eggs", "1\u{301}.a", "-1.a", "1.\u{e9}.a"] {
            #expect(!LinkFragment.resembles(title), "\(title)")
        }
        var dumped = ""
        dump([fragment], to: &dumped)
        for shown in ["\(fragment)", String(reflecting: fragment), "\([fragment as Any])", dumped] {
            #expect(shown.contains("LinkFragment") && !shown.contains("Shopping") && !shown.contains("pairs"))
        }
    }
}
