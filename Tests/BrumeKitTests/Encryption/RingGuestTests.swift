import BrumeModel
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// What devices do about the ring of a tree that is shared, beside a server that the test has in its hands.
@Suite("A shared tree's ring")
struct RingGuestTests {
    let desk = GuestDesk(root: "page")
    let ada: GuestDevice
    let bob: GuestDevice
    let eve: GuestDevice
    /// Encrypted before the tree was shared, with the first of the zone's keys and with the second.
    let old: [[UInt8]]

    init() throws {
        (ada, bob, eve) = (
            try GuestDevice("_ada", at: desk), try GuestDevice("_bob", at: desk), try GuestDevice("_eve", at: desk)
        )
        var statements = StatementDirectory()
        statements.add(ada.identity.chain)
        let place = try Place(
            container: GuestDesk.container, environment: GuestDesk.environment, owner: desk.owner, zone: desk.zone,
            ringID: Place.newRingID())
        let author = RingAuthor(user: desk.owner, identity: ada.identity.keys, statements: statements)
        let owner = RingMember(user: desk.owner, statementHash: ada.identity.statement.hash, role: .owner)
        let ring = try RingName(place: place)
        let first = try author.begin(ring, hasPlainAssets: true, RingDraft(members: [owner]))
        let second = try author.next(
            after: first, keys: first.keys(of: ada.identity), RingDraft(after: first.head, statements: statements))
        // The tree's ring begins behind a new key of the zone's, which its guests don't get.
        let third = try author.next(
            after: second, keys: second.keys(of: ada.identity), RingDraft(after: second.head, statements: statements))
        let identity = ada.identity
        let keys = try [first, second, third].map {
            RingKeys(try KnownRing($0.entries, of: ring, statements: statements), of: identity)
        }
        old = zip(["one", "two"], keys).map { GuestDevice.seal($0, $1.cipher(root: "page")!) }
        ada.zone = keys[2]
    }

    /// Ada shares, and a guest comes by the link and is taken in.
    private func takeIn(_ guest: GuestDevice, isWriter: Bool = true) throws {
        try ada.run(.share(.init()))
        desk.participants.insert(guest.user)
        if isWriter { desk.writers.insert(guest.user) }
        try guest.run(.join(ada.link()))
        try ada.run(.write)
    }

    // MARK: Coming

    @Test("hands its keys to a guest who came by the link, and what was encrypted before with them")
    func guest() throws {
        try ada.run(.share(.init()))
        desk.participants.insert(bob.user)
        let before = try #require(try ada.sealed("before"))
        #expect(try bob.opened(before) == nil)
        try bob.run(.join(ada.link()))
        #expect(desk.guests.keys.sorted() == [bob.user] && desk.entries.count == 1)
        #expect(bob.failure(.write) == .isNoMember)
        try ada.run(.write)
        #expect(desk.entries.count == 2 && desk.guests.isEmpty)
        let after = try #require(try bob.sealed("after"))
        #expect(try ValueHeader(of: after).kind == .isShared)
        for device in [ada, bob] {
            #expect(try [before, after].map { try device.opened($0) } == ["before", "after"])
        }
        #expect(try old.map { try bob.opened($0) } == ["one", "two"])
        #expect(try eve.opened(after) == nil)
    }

    @Test("is made by sharing, once, with one link, and by nobody who only looks")
    func sharing() throws {
        #expect(try ada.run(.read) == nil && ada.run(.admit) == nil && desk.entries.isEmpty)
        try ada.run(.share(.init()))
        let link = try #require(try ada.link()).text
        try ada.run(.share(.init()))
        #expect(try desk.entries.count == 1 && ada.link()?.text == link)
        let laptop = try ada.other()
        try laptop.run(.share(.init()))
        #expect(try desk.entries.count == 1 && laptop.link()?.text == link)
        #expect(bob.failure(.write) == .isNoMember && desk.entries.count == 1)
    }

    @Test("takes in nobody whom the server names, but those who prove that they had the link")
    func proofs() throws {
        try takeIn(bob)
        let link = try #require(try ada.link())
        desk.participants.insert(eve.user)
        desk.statements[eve.user] = eve.signed
        let head = try #require(ada.kept.known).chain.head
        let invitation = head.invitations[0]
        let proof = link.secret.joinProof(
            ring: head.ring, invitationID: invitation.id, guest: bob.user,
            statementHash: bob.identity.statement.hash)
        let foreign = LinkSecret().joinProof(
            ring: head.ring, invitationID: invitation.id, guest: eve.user,
            statementHash: eve.identity.statement.hash)
        let forged = [
            RingGuest(user: eve.user, statementHash: eve.identity.statement.hash),
            RingGuest(
                user: eve.user, statementHash: eve.identity.statement.hash, invitationID: invitation.id, proof: proof),
            RingGuest(
                user: eve.user, statementHash: eve.identity.statement.hash, invitationID: invitation.id,
                proof: foreign),
            RingGuest(
                user: eve.user, statementHash: bob.identity.statement.hash, invitationID: invitation.id,
                proof: proof),
        ]
        for guest in forged {
            desk.guests[eve.user] = guest
            try ada.run(.write)
            #expect(desk.entries.count == 2)
        }
        try eve.run(.join(link))
        try ada.run(.write)
        #expect(desk.entries.count == 3)
        #expect(try eve.opened(old[0]) == "one")
    }

    @Test("of another owner than the link's gives a guest nothing, and gets nothing of theirs")
    func otherOwner() throws {
        try ada.run(.share(.init()))
        let link = try #require(try ada.link())
        let stranger = LinkFragment(
            ownersFirstStatement: eve.identity.statement.hash, secret: link.secret, title: nil)
        desk.participants.insert(bob.user)
        #expect(bob.failure(.join(stranger)) == .isOfAnotherOwner && desk.guests.isEmpty)
        // Nor is anything kept that the link does not prove, which a ring could be that has the guest in it already.
        #expect(bob.kept.known == nil && bob.people.isEmpty)
        try bob.run(.join(link))
        try ada.run(.write)
        let fresh = try bob.other()
        #expect(fresh.failure(.join(stranger)) == .isOfAnotherOwner && fresh.kept.known == nil)
    }

    @Test("lets a guest without the link wait, who comes in by it later")
    func withoutLink() throws {
        try ada.run(.share(.init()))
        desk.participants.insert(bob.user)
        try bob.run(.join(nil))
        try ada.run(.write)
        #expect(desk.entries.count == 1 && desk.guests[bob.user]?.proof == [])
        try bob.run(.join(ada.link()))
        try ada.run(.write)
        #expect(try bob.opened(old[1]) == "two")
    }

    // MARK: Going

    @Test("gets another key and another link when a guest goes, of which they have neither")
    func departure() throws {
        try takeIn(bob)
        try takeIn(eve)
        let before = try #require(try ada.sealed("before"))
        let link = try ada.link()
        let cut = bob.kept
        desk.participants.remove(bob.user)
        #expect(try eve.sealed("after") != nil)
        let after = try #require(try ada.sealed("after"))
        #expect(try eve.opened(after) == "after")
        let head = try #require(ada.kept.known).chain.head
        #expect(head.members.map(\.user).sorted() == [ada.user, eve.user] && head.author == eve.user)
        // The server shows him everything all the same.
        #expect(try bob.opened(before) == "before" && bob.opened(after) == nil)
        bob.kept = cut
        try bob.run(.join(link))
        desk.participants.insert(bob.user)
        try ada.run(.write)
        #expect(try bob.opened(after) == nil && desk.guests[bob.user] != nil)
        try bob.run(.join(ada.link()))
        try ada.run(.write)
        #expect(try bob.opened(after) == "after")
    }

    @Test("drops whom the app has removed, whatever the server says, and whoever is in it on a branch that ends")
    func removedByApp() throws {
        try takeIn(bob)
        let before = desk.entries
        desk.participants.insert(bob.user)
        ada.dropped = [bob.user]
        try ada.run(.share(.init()))
        ada.dropped = []
        let after = try #require(try ada.sealed("after"))
        #expect(try bob.opened(after) == nil)
        // The server takes no entry that was made before the owner's keys were replaced.
        try ada.replaceKeys()
        _ = try ada.sealed("again")
        desk.entries = before
        desk.refusesFormerKeys = true
        let later = try #require(try ada.sealed("later"))
        #expect((try? bob.opened(later)) == .some(nil) || bob.failure(.read) == .forked)
        #expect(try GuestDevice.opened(later, #require(ada.kept.known), bob.identity) == nil)
        #expect(try #require(ada.kept.known).chain.head.members.map(\.user) == [ada.user])
    }

    @Test("drops a member who began anew with other keys")
    func reset() throws {
        try takeIn(bob)
        let anew = try GuestDevice(bob.user, at: desk)
        desk.formerStatements[bob.user] = bob.signed
        desk.statements[bob.user] = anew.signed
        let after = try #require(try ada.sealed("after"))
        #expect(try bob.opened(after, asksServer: false) == nil && anew.opened(after) == nil)
        #expect(try #require(ada.kept.known).chain.head.members.map(\.user) == [ada.user])
    }

    @Test("waits for somebody who may make an entry, where a guest goes and another one reads alone")
    func reader() throws {
        try takeIn(bob, isWriter: false)
        try takeIn(eve, isWriter: false)
        #expect(try bob.sealed("mine") != nil)
        desk.participants.remove(eve.user)
        #expect(bob.failure(.write) == .isDue)
        let count = desk.entries.count
        _ = try ada.sealed("after")
        #expect(desk.entries.count == count + 1)
        #expect(try bob.sealed("mine, too") != nil)
    }

    // MARK: Other keys

    @Test("is boxed to a guest's new keys as soon as one of theirs says so, and to the old ones no more")
    func renewedGuest() throws {
        for isWriter in [true, false] {
            let guest = isWriter ? bob : eve
            try takeIn(guest, isWriter: isWriter)
            try guest.run(.read)
            let stolen = try guest.stolen()
            try guest.replaceKeys()
            #expect(try guest.opened(old[0]) == "one")
            let after = try #require(try (isWriter ? guest : ada).sealed("after"))
            #expect(try guest.opened(after) == "after" && ada.opened(after) == "after")
            #expect(
                try stolen.opened(old[0], asksServer: false) == "one"
                    && stolen.opened(after, asksServer: false) == nil)
            let ring = try #require(guest.kept.known)
            #expect(try GuestDevice.opened(after, ring, stolen.identity) == nil)
            #expect(try GuestDevice.opened(after, ring, guest.identity) == "after")
        }
    }

    @Test("is boxed to the owner's new keys by the owner's next save, and a guest reads on")
    func renewedOwner() throws {
        try takeIn(bob)
        let link = try ada.link()?.text
        try ada.replaceKeys()
        let after = try #require(try ada.sealed("after"))
        #expect(try bob.opened(after) == "after")
        // Whoever has the owner's old keys knows the links.
        #expect(try ada.link()?.text != link)
    }

    // MARK: Lies

    @Test("gives its keys to nobody by what the server shows of a member that was not seen before")
    func otherMember() throws {
        try takeIn(bob)
        try takeIn(eve)
        _ = try bob.sealed("word")
        let forger = try GuestDevice(eve.user, at: desk)
        let honest = desk.statements[eve.user]
        desk.statements[eve.user] = forger.signed
        desk.lie = { $0.renewed = [eve.user] }
        let count = desk.entries.count
        let word = try #require(try bob.sealed("word"))
        #expect(try desk.entries.count == count + 1 && ada.opened(word) == "word")
        let ring = try #require(ada.kept.known)
        #expect(try GuestDevice.opened(word, ring, forger.identity) == nil)
        // Where no entry names what is shown, nobody is known by it.
        let fresh = try bob.other()
        guard case .malformed? = fresh.failure(.read) else {
            Issue.record("a ring is read whose members are not known")
            return
        }
        #expect(fresh.people[eve.user] == nil)
        desk.statements[eve.user] = honest
        desk.lie = nil
        #expect(try fresh.opened(old[0]) == "one")
        // A device that has seen another of the name reads, and has the one go whom it does not know.
        fresh.people[eve.user] = try KnownStatements(
            forger.signed, of: forger.identity.statement.scope, trust: .seen)
        fresh.kept = KeptRing()
        #expect(try fresh.opened(old[0]) == "one")
        let last = try #require(try fresh.sealed("last"))
        #expect(try #require(fresh.kept.known).chain.head.member(named: eve.user) == nil)
        #expect(try GuestDevice.opened(last, try #require(fresh.kept.known), eve.identity) == nil)
    }

    @Test("goes on without somebody of a known user's name whom a writer has taken in")
    func forgedMember() throws {
        try ada.run(.share(.init()))
        desk.participants = [bob.user]
        desk.writers = [bob.user]
        let link = try #require(try ada.link())
        try bob.run(.join(link))
        try ada.run(.write)
        // Ada knows Eve from another zone. In this one Bob has taken in somebody of her name, by the link that he had.
        ada.people[eve.user] = try KnownStatements(eve.signed, of: eve.identity.statement.scope, trust: .compared)
        let forger = try GuestDevice(eve.user, at: desk)
        desk.participants.insert(eve.user)
        try forger.run(.join(link))
        try bob.run(.write)
        #expect(try SignedRingEntry(desk.entries.last!.array).entry.member(named: eve.user) != nil)
        let laptop = try ada.other()
        (laptop.people, laptop.zone) = (ada.people, ada.zone)
        for device in [laptop, ada] { try device.run(.read) }
        let word = try #require(try ada.sealed("word"))
        let ring = try #require(ada.kept.known)
        #expect(ring.chain.head.member(named: eve.user) == nil && ring.chain.head.member(named: bob.user) != nil)
        #expect(try bob.opened(word) == "word")
        #expect(try GuestDevice.opened(word, ring, forger.identity) == nil)
        #expect(ada.people[eve.user]?.signed == eve.signed, "she is whom Ada knows")
    }

    @Test("of an owner whom a device knows is no ring that another of the name began, whatever is shown beside")
    func otherOwnersRing() throws {
        try takeIn(bob)
        _ = try bob.sealed("word")
        let known = bob.kept.known
        // A server has all that it takes: an identity of the owner's name, and the guest's statements.
        let forged = GuestDesk(root: desk.root)
        let forger = try GuestDevice(desk.owner, at: forged)
        forger.zone = try forger.account.begun(zone: desk.zone)
        try forger.run(.share(.init()))
        forged.participants = [bob.user]
        forged.writers = [bob.user]
        try bob.join(forged, by: forger.link())
        try forger.run(.write)
        #expect(forged.entries.count == 2)
        desk.entries = forged.entries
        desk.formerStatements[desk.owner] = ada.signed
        desk.statements[desk.owner] = forger.signed
        #expect(bob.failure(.write) != nil && bob.failure(.read) != nil)
        #expect(
            bob.kept.known?.chain.head.hash == known?.chain.head.hash && bob.people[desk.owner]?.signed == ada.signed)
    }

    @Test("of a branch that a person accepts keeps no link that the known branch had ended")
    func acceptedBranch() throws {
        try ada.run(.share(.init()))
        let link = try #require(try ada.link())
        desk.participants = [bob.user, eve.user]
        for guest in [bob, eve] { try guest.run(.join(link)) }
        let (begun, asking) = (desk.entries, desk.guests)
        try ada.run(.write)
        desk.participants.remove(bob.user)
        try ada.run(.write)
        #expect(try desk.entries.count == 3 && ada.link()?.text != link.text)
        // On the branch of a device that knows nothing of that, Eve came alone, and the link stayed.
        (desk.entries, desk.guests) = (begun, asking.filter { $0.key == eve.user })
        let laptop = try ada.other()
        laptop.zone = ada.zone
        try laptop.run(.write)
        #expect(try desk.entries.count == 2 && laptop.link()?.text == link.text)
        #expect(ada.failure(.write) == .forked)
        try ada.run(.accept)
        desk.participants.insert(bob.user)
        try bob.other().run(.join(link))
        let after = try #require(try ada.sealed("after"))
        let ring = try #require(ada.kept.known)
        #expect(ring.chain.head.invitation(of: link.secret) == nil)
        #expect(ring.chain.head.members.map(\.user).sorted() == [ada.user, eve.user])
        #expect(try GuestDevice.opened(after, ring, eve.identity) == "after")
    }

    @Test("of a branch that a person accepts gives nobody back what they might do before")
    func acceptedRoles() throws {
        try takeIn(bob)
        let begun = desk.entries
        desk.participants = []
        try ada.run(.write)
        (desk.participants, desk.writers) = ([bob.user], [])
        try bob.run(.join(ada.link()))
        try ada.run(.write)
        #expect(ada.kept.known?.chain.head.member(named: bob.user)?.role == .reader)
        // On the branch of a device that knows nothing of that, Bob still writes.
        desk.entries = begun
        desk.participants.insert(eve.user)
        let laptop = try ada.other()
        laptop.zone = ada.zone
        try laptop.run(.read)
        try eve.run(.join(laptop.link()))
        try laptop.run(.write)
        #expect(laptop.kept.known?.chain.head.member(named: bob.user)?.role == .writer)
        try ada.run(.accept)
        #expect(ada.kept.known?.chain.head.member(named: bob.user)?.role == .reader)
    }

    @Test("is none where it is of an earlier life of the zone, which a device has kept")
    func keptEarlierLife() throws {
        try takeIn(bob)
        desk.entries = []
        ada.zone = try ada.account.begun(zone: desk.zone)
        #expect(try ada.run(.admit, asksServer: false) == nil && desk.entries.isEmpty)
        try ada.run(.share(.init()))
        let place = try SignedRingEntry(#require(desk.entries.first).array).entry.ring.place
        #expect(place == ada.zone?.place && desk.entries.count == 1)
    }

    @Test("that a server has lost, and takes no more of, ends in an error where nobody can begin it anew")
    func lost() throws {
        try takeIn(bob)
        try ada.replaceKeys()
        _ = try ada.sealed("word")
        (desk.entries, desk.refusesFormerKeys) = ([], true)
        for zone in [ada.zone, nil] {
            ada.zone = zone
            #expect(ada.failure(.write) == .forked && desk.entries.isEmpty)
        }
    }

    @Test("is given back to a server that lost entries, with the statements of those in them")
    func restored() throws {
        try takeIn(bob)
        let entries = desk.entries
        try takeIn(eve)
        let after = try #require(try bob.sealed("after"))
        desk.entries = entries
        desk.statements[eve.user] = nil
        #expect(try bob.opened(after) == "after")
        #expect(desk.entries.count == 3 && desk.statements[eve.user]?.count == 1)
        #expect(try eve.opened(after) == "after")
    }

    @Test(
        "is given back, or goes on, where a member has replaced keys since, and nobody reads or writes less for it",
        arguments: [false, true])
    func restoredBehindReplacedKeys(hasNewest: Bool) throws {
        try takeIn(bob)
        try takeIn(eve)
        let before = try #require(try ada.sealed("before"))
        for _ in 1...2 {
            try eve.replaceKeys()
            try eve.run(.write)
        }
        try ada.run(.write)
        try bob.run(.read)
        let (count, genuine) = (desk.entries.count, desk.statements[eve.user])
        desk.entries = Array(desk.entries.prefix(2))
        // Eve's device may have come first, and said which keys she has by now.
        desk.statements[eve.user] = hasNewest ? genuine : nil
        let after = try #require(try ada.sealed("after"))
        #expect(hasNewest ? desk.entries.count == 3 : desk.entries.count == count)
        #expect(desk.statements[eve.user]?.count == genuine?.count)
        #expect(try [before, after].map { try ada.opened($0) } == ["before", "after"])
        for guest in hasNewest ? [bob] : [bob, eve] {
            #expect(try [before, after].map { try guest.opened($0) } == ["before", "after"])
            #expect(try ada.opened(#require(try guest.sealed("more"))) == "more")
        }
    }

    @Test("goes on where a member who is asked for again has keys that the owner's device has not heard of")
    func unheardGuest() throws {
        try takeIn(bob)
        let entries = desk.entries
        try takeIn(eve)
        try bob.run(.read)
        (desk.entries, desk.statements[eve.user]) = (entries, nil)
        // Another device of hers finds a ring without her, and asks.
        try eve.replaceKeys()
        try eve.other().run(.join(nil))
        let after = try #require(try ada.sealed("after"))
        for device in [ada, bob] { #expect(try device.opened(after) == "after") }
    }

    @Test("is boxed to keys of a member of which a restored server has not heard, by whoever has")
    func unheardKeys() throws {
        try takeIn(bob)
        try takeIn(eve)
        let (entries, statements) = (desk.entries, desk.statements)
        try eve.replaceKeys()
        try eve.run(.write)
        try ada.run(.read)
        (desk.entries, desk.statements) = (entries, statements)
        // Ada's device has not seen the entry that is lost, but Eve's keys.
        ada.kept.known = try KnownRing(kept: entries.map(\.array))
        desk.participants.remove(bob.user)
        let after = try #require(try ada.sealed("after"))
        #expect(desk.entries.count == entries.count + 1 && desk.statements[eve.user]?.count == 2)
        #expect(try ada.opened(after) == "after")
        #expect(try eve.other().opened(after) == "after")
    }

    @Test("of an earlier life of the zone is not taken")
    func earlierLife() throws {
        try takeIn(bob)
        let entries = desk.entries
        ada.zone = try RingGuestTests().ada.zone
        desk.entries = []
        ada.kept = KeptRing()
        desk.entries = entries
        #expect(ada.failure(.share(.init())) == .isOver)
    }

    @Test("is read by a device that comes when many more have had its keys than can at once")
    func manyFormerMembers() throws {
        try ada.run(.share(.init()))
        for round in 0..<5 {
            // Those before have left, and the link with them.
            desk.participants = []
            let head = try #require(try ada.run(.write)).chain.head
            let secret = try head.invitations[0].openSecret(as: ada.identity.keys)
            for number in 0..<105 {
                let guest = try GuestDevice("_\(round * 105 + number)", at: desk)
                let hash = guest.identity.statement.hash
                desk.participants.insert(guest.user)
                desk.statements[guest.user] = guest.signed
                desk.guests[guest.user] = RingGuest(
                    user: guest.user, statementHash: hash, invitationID: head.invitations[0].id,
                    proof: secret.joinProof(
                        ring: head.ring, invitationID: head.invitations[0].id, guest: guest.user, statementHash: hash))
            }
            try ada.run(.write)
        }
        let value = try #require(try ada.sealed("late"))
        let late = try ada.other()
        late.zone = ada.zone
        #expect(try late.opened(value) == "late" && late.people.count == 525)
    }

    @Test("of more strangers than a device keeps in mind is none")
    func manyMembers() throws {
        try takeIn(bob)
        desk.lie = { page in page.renewed = (0...KeyLimits.peopleMax).map { "_\($0)" } }
        guard case .malformed? = ada.failure(.write) else {
            Issue.record("more members than there can be are asked for")
            return
        }
    }
}
