import Testing

@testable import BrumeEncryption

/// Which branch of a ring a guest takes in the place of the one that they know, by a link: what is encrypted with its
/// keys all of its members read.
@Suite("Another branch of a ring")
struct FollowedBranchTests {
    private let secret = LinkSecret()

    private func follow(
        _ shown: RingChain, from known: RingChain, by link: LinkSecret? = nil, isDecided: Bool = false,
        in house: Household
    ) throws -> KnownRing? {
        var ring = try KnownRing(known.entries, of: house.tree, statements: house.statements)
        let link = isDecided ? nil : link ?? secret
        return try ring.follow(shown.entries, by: link, statements: house.statements) ? ring : nil
    }

    /// A ring with a link, and members beside Ann, who owns it.
    private func begun(_ house: Household, _ members: RingMember...) throws -> RingChain {
        var draft = house.draft(members[0])
        draft.members += members.dropFirst()
        draft.invitations = [try house.invitation(.writer, secret: secret)]
        return try house.begun(draft)
    }

    /// An invitation with the public keys of another one: made by somebody who does not know the secret.
    private func copied(_ other: RingInvitation, by maker: String) throws -> RingInvitation {
        var writer = PartWriter(.ringEntry)
        writer.write(bytes: Sodium.randomBytes(16))
        writer.write(text: maker)
        writer.write(u8: other.role.rawValue)
        writer.write(u8: other.isForOneGuest ? 1 : 0)
        writer.write(u8: other.isOpen ? 1 : 0)
        writer.write(other.keys)
        writer.write(bytes: other.ownerBox)
        writer.write(bytes: Sodium.randomBytes(RingInvitation.boxBytes))
        var reader = PartReader(unlabelled: Array(writer.bytes[PartWriter(.ringEntry).bytes.count...]))
        return try reader.readInvitation()
    }

    @Test("is followed where the owner's newest keys have made it, and list the link")
    func followed() throws {
        var house = try Household("_ann", "_bob", "_cat")
        let one = try begun(house, house["_bob"].member(.writer), house["_cat"].member(.writer))
        let (anns, bobs) = (try house.next(one, by: "_ann"), try house.next(one, by: "_bob"))
        let followed = try #require(try follow(anns, from: bobs, in: house))
        #expect(followed.chain.head == anns.head && followed.endedBranches.map(\.head) == [bobs.head])
        #expect(followed.endedBranches.allSatisfy { house.keys($0, of: "_cat").keys.keys.sorted() == [1, 2] })
        #expect(try follow(house.next(anns, by: "_bob"), from: bobs, in: house) != nil, "whoever goes on behind that")
        #expect(try follow(anns, from: bobs, by: LinkSecret(), in: house) == nil, "a link that it does not list")
        #expect(try follow(bobs, from: anns, in: house) == nil, "no entry of the owner's is behind where they part")
        // Whoever has come on it, or has gone, is no reason.
        let newest = LinkSecret()
        let less = try house.next(one, by: "_ann") {
            $0.drop(["_cat"])
            $0.invitations = [try house.invitation(.writer, secret: newest)]
        }
        #expect(try follow(less, from: bobs, by: newest, in: house) != nil)
        let forged = RingChain(kept: anns.entries + [try house.forged(anns, by: "_cat", number: 2)])
        #expect(refusal { try follow(forged, from: bobs, in: house) } != nil)
        try house.replaceKeys(of: "_ann")
        #expect(try follow(anns, from: bobs, in: house) == nil, "a device that was removed has those keys")
    }

    @Test("is followed fifteen times at most")
    func many() throws {
        let house = try Household("_ann", "_bob")
        let one = try begun(house, house["_bob"].member(.writer))
        var bob = try KnownRing(house.next(one, by: "_bob").entries, of: house.tree, statements: house.statements)
        var count = 0
        while try bob.follow(house.next(one, by: "_ann").entries, by: secret, statements: house.statements) {
            count += 1
        }
        #expect(count == 15)
    }

    @Test("is not followed where somebody is on it who has gone, has older keys, or is known by others")
    func members() throws {
        for name in ["_bob", "_cat"] {
            var house = try Household("_ann", "_bob", "_cat")
            let one = try begun(house, house["_bob"].member(.writer), house["_cat"].member(.writer))
            let anns = try house.next(one, by: "_ann")
            let without = try house.next(one, by: "_bob") { $0.drop(["_cat"]) }
            #expect(try follow(anns, from: without, in: house) == nil, "Cat has gone")
            try house.replaceKeys(of: name)
            #expect(try follow(anns, from: house.next(one, by: "_bob"), in: house) == nil, "\(name) has other keys")
        }
        // Whoever has Cat's former keys has others of the name, by a chain that is as long.
        var house = try Household("_ann", "_bob", "_cat")
        let one = try begun(house, house["_bob"].member(.writer), house["_cat"].member(.writer))
        let anns = try house.next(one, by: "_ann")
        let without = try house.next(one, by: "_ann") { $0.drop(["_cat"]) }
        try house.begin("_cat")
        let known = try house.next(without, by: "_ann") { $0.members.append(house["_cat"].member(.writer)) }
        #expect(try follow(anns, from: known, in: house) == nil)
    }

    @Test("is not followed where somebody who has gone has taken in another, who lists the newest link")
    func launderers() throws {
        let house = try Household("_ann", "_bob", "_wil", "_eve")
        let one = try begun(house, house["_bob"].member(.writer), house["_wil"].member(.writer))
        let newest = LinkSecret()
        let link = try house.invitation(.writer, secret: newest)
        let known = try house.next(one, by: "_ann") {
            $0.drop(["_wil"])
            $0.invitations = [link]
        }
        let taking = try house.next(one, by: "_wil") {
            $0.admit(house.guest("_eve", .writer, by: one.head.invitations[0], secret: secret))
        }
        let copy = try copied(link, by: "_eve")
        let listing = try house.next(taking, by: "_eve") {
            $0.drop(["_wil"])
            $0.invitations = [copy]
        }
        #expect(listing.head.invitation(of: newest) != nil)
        #expect(try follow(listing, from: known, by: newest, in: house) == nil)
    }

    @Test("is not followed by a guest's own link from before somebody has gone")
    func usedLink() throws {
        let house = try Household("_ann", "_bob", "_wil", "_eve")
        let own = LinkSecret()
        let invitation = try house.invitation(.writer, isForOneGuest: true, secret: own)
        var draft = house.draft(house["_wil"].member(.writer))
        draft.invitations = [try house.invitation(.writer, secret: secret), invitation]
        let one = try house.begun(draft)
        let without = try house.next(one, by: "_ann") { $0.drop(["_wil"]) }
        let known = try house.next(without, by: "_ann") {
            $0.admit(house.guest("_bob", .writer, by: invitation, secret: own))
        }
        let taking = try house.next(one, by: "_wil") {
            $0.admit(house.guest("_eve", .writer, by: draft.invitations[0], secret: secret))
        }
        let rival = try house.next(taking, by: "_eve") { $0.drop(["_wil"]) }
        #expect(rival.head.invitation(of: own) != nil)
        #expect(try follow(rival, from: known, by: own, in: house) == nil)
    }

    @Test("is not followed where a device that was removed has taken in somebody, who names the owner's newest keys")
    func removedDevice() throws {
        var house = try Household("_ann", "_bob", "_eve")
        let one = try begun(house, house["_bob"].member(.writer))
        let taking = try house.next(one, by: "_ann") { $0.members.append(house["_eve"].member(.administrator)) }
        try house.replaceKeys(of: "_ann")
        let newest = LinkSecret()
        let link = try house.invitation(.writer, secret: newest)
        let known = try house.next(one, by: "_ann") { $0.invitations = [link] }
        let copy = try copied(link, by: "_eve")
        let rival = try house.next(taking, by: "_eve") { $0.invitations = [copy] }
        #expect(try follow(rival, from: known, by: newest, in: house) == nil)
    }

    @Test("is taken by a person's decision where somebody is on it who has gone, and for no other reason")
    func decided() throws {
        var house = try Household("_ann", "_bob", "_cat")
        let one = try begun(house, house["_bob"].member(.writer), house["_cat"].member(.writer))
        let (anns, bobs) = (try house.next(one, by: "_ann"), try house.next(one, by: "_bob"))
        let without = try house.next(one, by: "_bob") { $0.drop(["_cat"]) }
        #expect(try follow(anns, from: without, in: house) == nil)
        #expect(try follow(anns, from: without, isDecided: true, in: house)?.chain.head == anns.head)
        #expect(try follow(bobs, from: without, isDecided: true, in: house) == nil, "the owner has made none of it")
        try house.replaceKeys(of: "_cat")
        #expect(try follow(anns, from: house.next(one, by: "_bob"), isDecided: true, in: house) == nil, "older keys")
        try house.replaceKeys(of: "_ann")
        #expect(try follow(anns, from: without, isDecided: true, in: house) == nil, "of a device that was removed")
    }

    @Test("is not followed once the owner has ended it")
    func ended() throws {
        let house = try Household("_ann", "_bob", "_wil")
        let one = try begun(house, house["_bob"].member(.writer))
        let two = try house.next(one, by: "_ann") { $0.members.append(house["_wil"].member(.writer)) }
        let ended = try house.next(house.next(one, by: "_ann"), by: "_ann") { $0.otherBranch = two.head.hash }
        var bob = try KnownRing(two.entries, of: house.tree, statements: house.statements)
        #expect(try bob.meet(ended.entries, statements: house.statements) == .joined)
        let newest = LinkSecret()
        let again = try house.next(two, by: "_ann") {
            $0.drop(["_wil"])
            $0.invitations = [try house.invitation(.writer, secret: newest)]
        }
        #expect(try !bob.follow(again.entries, by: newest, statements: house.statements))
        let other = try house.next(one, by: "_ann")
        #expect(try bob.follow(other.entries, by: secret, statements: house.statements), "another one is")
    }
}
