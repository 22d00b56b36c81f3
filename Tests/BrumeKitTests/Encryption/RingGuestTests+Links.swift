import BrumeModel
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// Links that open a ring's keys by themselves, and those for one guest.
extension RingGuestTests {
    private func share(_ links: WantedLinks = WantedLinks(isOpen: true)) throws { try ada.run(.share(links)) }

    private func wanted(_ ids: [UInt8]...) -> WantedLinks { WantedLinks(guests: Set(ids), staying: Set(ids)) }

    @Test("is read at once by a guest with an open link, who writes once they are taken in")
    func openLink() throws {
        try share()
        desk.participants.insert(bob.user)
        let before = try #require(try ada.sealed("before"))
        try bob.run(.join(ada.link()))
        #expect(try bob.opened(before) == "before" && bob.opened(old[0]) == "one" && bob.kept.link != nil)
        #expect(bob.failure(.write) == .isNoMember && desk.entries.count == 1)
        // Without the link the keys stay closed, whoever has what the server shows.
        #expect(try GuestDevice.opened(before, #require(bob.kept.known), bob.identity) == nil)
        try ada.run(.write)
        let after = try #require(try bob.sealed("after"))
        #expect(try bob.kept.link == nil && bob.opened(before) == "before" && ada.opened(after) == "after")
    }

    /// Bob and Eve come, and the server loses the entry with Eve. A device of Ada's that does not know it takes her in
    /// again: Bob has a value of one branch, and that device one of the other.
    private func loseEve() throws -> (laptop: GuestDevice, before: [UInt8], after: [UInt8]) {
        desk.participants = [bob.user, eve.user]
        desk.writers = desk.participants
        for guest in [bob, eve] {
            try guest.run(.join(ada.link()))
            try ada.run(.write)
        }
        let before = try #require(try bob.sealed("before"))
        desk.entries.removeLast()
        let laptop = try ada.other()
        laptop.zone = ada.zone
        try laptop.run(.read)
        try eve.other().run(.join(ada.link()))
        return (laptop, before, try #require(try laptop.sealed("after")))
    }

    @Test("that has gone on elsewhere than a guest knows is followed by a link that it lists, and by no other")
    func followedBranch() throws {
        try ada.run(.share(.init()))
        let replaced = try #require(try ada.link())
        try ada.run(.share(.init(isOpen: true)))
        let (laptop, before, after) = try loseEve()
        #expect(bob.failure(.write) == .forked)
        #expect(bob.failure(.join(nil)) == .forked && bob.failure(.join(replaced)) == .forked)
        #expect(bob.failure(.read) == .forked)
        try bob.run(.join(laptop.link()))
        #expect(try bob.opened(after) == "after" && bob.opened(before) == "before")
        #expect(try laptop.opened(#require(try bob.sealed("more"))) == "more")
        #expect(bob.kept.known?.endedBranches.count == 1)
    }

    @Test("that has gone on elsewhere is gone on with by a guest's own decision, who makes no entry for that")
    func decidedBranch() throws {
        try ada.run(.share(.init()))
        let (laptop, before, after) = try loseEve()
        let count = desk.entries.count
        #expect(bob.failure(.read) == .forked)
        try bob.run(.accept)
        #expect(try bob.opened(after) == "after" && bob.opened(before) == "before" && desk.entries.count == count)
        #expect(try laptop.opened(#require(try bob.sealed("more"))) == "more")
    }

    @Test("is closed to an open link that was replaced, in what is encrypted from then on")
    func replacedOpenLink() throws {
        try share()
        for guest in [bob, eve] {
            desk.participants.insert(guest.user)
            try guest.run(.join(ada.link()))
        }
        let link = try #require(try ada.link())
        ada.dropped = [eve.user]
        try ada.run(.admit)
        #expect(try #require(ada.kept.known).chain.head.members.count == 2)
        ada.dropped = [bob.user]
        try share()
        let after = try #require(try ada.sealed("after"))
        #expect(try eve.opened(after) == nil && eve.opened(old[0]) == nil)
        #expect(try ada.link()?.text != link.text)
        try eve.run(.join(ada.link()))
        #expect(try eve.opened(after) == "after")
    }

    @Test("has another link, which is closed, once not everybody who has it may take part, and the other way round")
    func closedLink() throws {
        try share()
        desk.participants.insert(bob.user)
        let link = try #require(try ada.link())
        try bob.run(.join(link))
        try share(WantedLinks())
        let head = try #require(ada.kept.known).chain.head
        #expect(head.invitations.map(\.isOpen) == [false] && head.invitation(of: link.secret) == nil)
        let after = try #require(try ada.sealed("after"))
        #expect(try eve.opened(after) == nil)
        let count = desk.entries.count
        try share(WantedLinks())
        #expect(desk.entries.count == count)
        try share()
        #expect(try #require(ada.kept.known).chain.head.invitations.map(\.isOpen) == [true])
        // Somebody goes in the same look.
        ada.dropped = [bob.user]
        try share(WantedLinks())
        #expect(try #require(ada.kept.known).chain.head.invitations.map(\.isOpen) == [false])
    }

    @Test("has a link for each guest who is to have one, which the guest uses up, and which stays when another goes")
    func linksForOne() throws {
        let ids = ["first", "second", "third"].map { RingInvitation.id(ofParticipant: $0) }
        try share(wanted(ids[0], ids[1]))
        func link(_ id: [UInt8]) throws -> LinkFragment {
            let invitation = try #require(ada.kept.known?.chain.head.invitations.first { $0.id == id })
            let secret = try invitation.openSecret(as: ada.identity.keys)
            return LinkFragment(ownersFirstStatement: ada.signed[0].statement.hash, secret: secret, title: nil)
        }
        func known() throws -> Set<[UInt8]> {
            Set(try #require(ada.kept.known).chain.head.invitations.filter(\.isForOneGuest).map(\.id))
        }
        let (first, second) = (try link(ids[0]), try link(ids[1]))
        desk.participants = [bob.user, eve.user]
        try bob.run(.join(first))
        try ada.run(.write)
        #expect(try known() == [ids[1]] && bob.opened(old[0]) == "one")
        // It is good for nobody else.
        try eve.run(.join(first))
        try ada.run(.write)
        #expect(try eve.opened(old[0]) == nil)
        ada.dropped = [bob.user]
        try share(wanted(ids[1], ids[2]))
        ada.dropped = []
        #expect(try known() == [ids[1], ids[2]] && link(ids[1]).text == second.text)
        try share(wanted(ids[2]))
        #expect(try known() == [ids[2]])
        try eve.run(.join(second))
        try ada.run(.write)
        #expect(try eve.opened(old[0]) == nil)
        try eve.run(.join(link(ids[2])))
        try ada.run(.write)
        #expect(try eve.opened(old[0]) == "one" && known().isEmpty)
    }

    private func ids(_ count: Int) -> [[UInt8]] { (0..<count).map { RingInvitation.id(ofParticipant: "\($0)") } }

    private func link(_ id: [UInt8]) throws -> LinkFragment {
        let invitation = try #require(ada.kept.known?.chain.head.invitations.first { $0.id == id })
        let secret = try invitation.openSecret(as: ada.identity.keys)
        return LinkFragment(ownersFirstStatement: ada.signed[0].statement.hash, secret: secret, title: nil)
    }

    @Test("takes in nobody by a link that ends with the same entry, nor two by one for a guest alone")
    func endingLink() throws {
        let ids = ids(2)
        try share(WantedLinks(guests: Set(ids), staying: Set(ids)))
        desk.participants = [bob.user, eve.user]
        try eve.run(.join(link(ids[0])))
        // The server has kept the proof until the owner ends the link, which may have been used up as far as it says.
        try share(WantedLinks(guests: [ids[1]], staying: [ids[1]]))
        #expect(try #require(ada.kept.known).chain.head.members.count == 1)
        try ada.run(.admit)
        #expect(try eve.opened(old[0]) == nil)
        for guest in [bob, eve] { try guest.run(.join(link(ids[1]))) }
        try ada.run(.admit)
        let head = try #require(ada.kept.known).chain.head
        #expect(head.members.count == 2 && head.invitations.allSatisfy { !$0.isForOneGuest })
        #expect(try (bob.opened(old[0]) == nil) != (eve.opened(old[0]) == nil))
        // Whoever came by the link of somebody who is removed goes.
        try share(WantedLinks(removed: [ids[1]]))
        #expect(try #require(ada.kept.known).chain.head.members.count == 1)
    }

    @Test("has a guest go however many links for one guest there are, also once the owner's keys were replaced")
    func manyLinks() throws {
        let ids = ids(KeyLimits.ringInvitationsMax + 3)
        let wanted = WantedLinks(isOpen: true, guests: Set(ids), staying: Set(ids))
        try share(wanted)
        desk.participants = [bob.user, eve.user]
        for guest in [bob, eve] { try guest.run(.join(ada.link())) }
        try ada.run(.admit)
        for (guest, renews) in [(bob, false), (eve, true)] {
            if renews { try ada.replaceKeys() }
            ada.dropped = [guest.user]
            try share(wanted)
            let head = try #require(ada.kept.known).chain.head
            #expect(head.member(named: guest.user) == nil)
            #expect(head.invitations.count == KeyLimits.ringInvitationsMax)
        }
    }

    @Test("has no links and no guests once its share has ended, and a link again with the next one")
    func endedLinks() throws {
        let ids = ids(1)
        try share(WantedLinks(isOpen: true, guests: Set(ids), staying: Set(ids)))
        desk.participants = [bob.user, eve.user]
        let open = try #require(try ada.link())
        for guest in [bob, eve] { try guest.run(.join(open)) }
        try ada.run(.admit)
        #expect(try #require(ada.kept.known).chain.head.members.count == 3)
        try share(WantedLinks(isEnd: true))
        let head = try #require(ada.kept.known).chain.head
        #expect(head.members.count == 1 && head.invitations.isEmpty)
        let after = try #require(try ada.sealed("after"))
        #expect(try bob.opened(after) == nil && eve.opened(after) == nil)
        try share()
        #expect(try ada.link() != nil && ada.link()?.text != open.text)
    }

    @Test("has its open link replaced by a closed one where the server shows that the share is for the invited alone")
    func closedByAnother() throws {
        try share()
        desk.participants = [bob.user]
        try bob.run(.join(ada.link()))
        ada.closesLinks = true
        try ada.run(.admit)
        ada.closesLinks = false
        #expect(try #require(ada.kept.known).chain.head.invitations.map(\.isOpen) == [false])
        let count = desk.entries.count
        try ada.run(.admit)
        #expect(desk.entries.count == count)
    }

    @Test("has another link once a writer has put one in its place that the owner can't open")
    func linkOfNobody() throws {
        try ada.run(.share(.init()))
        desk.participants = [bob.user, eve.user]
        desk.writers = desk.participants
        for guest in [bob, eve] {
            try guest.run(.join(ada.link()))
            try ada.run(.write)
        }
        try bob.run(.read)
        let known = try #require(bob.kept.known)
        var statements = StatementDirectory()
        for device in [ada, bob, eve] { statements.add(device.identity.chain) }
        var draft = RingDraft(after: known.chain.head, statements: statements)
        draft.drop([eve.user])
        // The owner's box goes to somebody else.
        _ = try draft.replaceLinks(
            owner: bob.identity.keys.publicKeys, author: bob.user, authorKeys: bob.identity.keys.publicKeys)
        let author = RingAuthor(user: bob.user, identity: bob.identity.keys, statements: statements)
        let next = try author.next(after: known.chain, keys: known.chain.keys(of: bob.identity), draft)
        let isTaken = try desk.append(SharedBytes(next.entries[next.entries.count - 1].bytes), [])
        #expect(isTaken)
        try ada.run(.write)
        #expect(try ada.link() == nil)
        try ada.run(.share(.init()))
        let link = try ada.link()
        #expect(link != nil)
    }
}
