import Testing

@testable import BrumeEncryption

/// What a ring is for: who has which key.
@Suite struct RingTests {
    private var house: Household

    init() throws { house = try Household("_ann", "_bob", "_cat", "_dan") }

    private func isSame(_ left: SecretKey?, _ right: SecretKey?) -> Bool {
        guard let left, let right else { return false }
        return left.isEqual(to: right)
    }

    @Test("each member has the key of a ring, and nobody else")
    func members() throws {
        let chain = try house.begun(house.draft(house["_bob"].member(.writer)))
        let key = try #require(house.keys(chain, of: "_ann").current)
        #expect(key.number == 1)
        #expect(isSame(house.keys(chain, of: "_bob").current?.key, key.key))
        #expect(house.keys(chain, of: "_cat").current == nil)
        #expect(chain.keys(of: "_bob", identities: house["_cat"].identities).current == nil, "a box is for an identity")
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

    @Test("a key that only a later entry hands on is the one that its own entry committed to")
    func handedOn() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        // Bob hands on another key 1, and some that are none.
        let invented = Samples.key(9)
        var two = one
        try two.append(
            house.forged(one, by: "_bob", earlier: [1: invented, 2: invented, 7: invented]),
            statements: house.statements)
        let anns = house.keys(two, of: "_ann")
        #expect(isSame(anns.current?.key, house.keys(two, of: "_bob").current?.key))
        #expect(isSame(anns.keys[1], house.keys(one, of: "_ann").keys[1]), "from her own box of entry 1")
        #expect(anns.keys.keys.sorted() == [1, 2])
    }

    @Test("an entry whose box does not open is the head all the same: nothing is written under the key before")
    func badBox() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer), house["_cat"].member(.reader)))
        let two = try house.next(one, by: "_bob") { $0.members.removeLast() }
        var boxes = two.entries[1].boxes
        boxes[0] = [UInt8](repeating: 0, count: boxes[0].count)
        var spoilt = one
        try spoilt.append(
            SignedRingEntry(entry: two.head, signature: two.entries[1].signature, boxes: boxes),
            statements: house.statements)
        let anns = house.keys(spoilt, of: "_ann")
        #expect(anns.current == nil && anns.keys.keys.sorted() == [1])
        #expect(house.keys(spoilt, of: "_bob").current != nil)
        // She goes on behind it, and hands on what she has.
        let three = try house.next(spoilt, by: "_ann") { $0.members.removeLast() }
        #expect(house.keys(three, of: "_ann").keys.keys.sorted() == [1, 3])
    }

    @Test("a box of another entry, or for another member, gives nothing")
    func movedBoxes() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        let two = try house.next(one, by: "_ann")
        for boxes in [one.entries[0].boxes, two.entries[1].boxes.reversed()] {
            var chain = one
            try chain.append(
                SignedRingEntry(entry: two.head, signature: two.entries[1].signature, boxes: boxes),
                statements: house.statements)
            #expect(house.keys(chain, of: "_ann").current == nil)
            #expect(house.keys(chain, of: "_bob").current == nil)
        }
    }

    @Test("a box with another key than the entry committed to, or with another entry's hash, gives nothing")
    func falseBoxes() throws {
        let one = try house.begun(house.draft(house["_bob"].member(.writer)))
        for forged in [
            try house.forged(one, by: "_bob", committedKey: Samples.key(9)),
            try house.forged(one, by: "_bob", boxedHash: one.head.hash),
        ] {
            var two = one
            try two.append(forged, statements: house.statements)
            #expect(house.keys(two, of: "_ann").current == nil && house.keys(two, of: "_ann").keys.keys.sorted() == [1])
        }
        var two = one
        try two.append(house.forged(one, by: "_bob"), statements: house.statements)
        #expect(house.keys(two, of: "_ann").current != nil, "the same made honestly")
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
            $0.zoneKeyNumber = zoneKey.number
            $0.closingZoneKey = zoneKey.key
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
        let invitation = try house.invitation(secret: secret, maker: "_bob")
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
            changed.replaceSubrange(99..<99 + box.count, with: box)
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
        let two = try house.next(one, by: "_ann") { draft in
            draft.members[1] = house["_bob"].member(.writer)
        }
        #expect(isSame(house.keys(two, of: "_bob").keys[1], key))
        #expect(two.keys(of: "_bob", identities: [house["_bob"].identities[1]]).current == nil, "the old keys don't")
    }

    @Test("every flipped byte of a signed entry is refused, or takes away a key and gives no other")
    func damage() throws {
        var draft = house.draft(house["_bob"].member(.writer))
        draft.invitations = [try house.invitation(isOpen: true)]
        let chain = try house.begun(draft)
        let key = try #require(house.keys(chain, of: "_ann").current?.key)
        let bytes = chain.entries[0].bytes
        let boxesStart = bytes.count - 3 * (4 + SignedRingEntry.boxBytes)
        for (index, other) in bytes.flipped.enumerated() {
            let refused = refusal {
                let read = try RingChain(
                    first: SignedRingEntry(other), of: house.tree, statements: house.statements)
                for name in ["_ann", "_bob"] {
                    let opened = house.keys(read, of: name).current?.key
                    #expect(opened == nil || isSame(opened, key))
                }
            }
            #expect(refused != nil || index >= boxesStart, "byte \(index)")
        }
        for other in bytes.cutAndContinued { #expect(refusal { try SignedRingEntry(other) } == .damaged) }
    }

    @Test("a link's fragment is read as it was written, and nothing else is")
    func fragments() throws {
        let secret = LinkSecret()
        let first = house["_ann"].chain
        for title in [nil, "", "Shopping", "a.b"] {
            let text = LinkFragment(ownersFirstStatement: first.first.hash, secret: secret, title: title).text
            let read = try LinkFragment(text)
            #expect(read.title == title && read.secret.pairs.publicKeys == secret.pairs.publicKeys)
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
}
