import BrumeModel
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// Guests who came without the link, about whom a person decides.
extension RingGuestTests {
    /// Ada shares, and those take part who never had the link.
    private func waiting(_ guests: [GuestDevice]) throws {
        try ada.run(.share(.init()))
        for guest in guests {
            desk.participants.insert(guest.user)
            try guest.run(.join(nil))
        }
    }

    @Test("takes in without a proof whom a person takes in, as the share permits, and nobody else")
    func approval() throws {
        try waiting([bob, eve])
        ada.approved = [bob.user: try bob.account.known()]
        try ada.run(.write)
        ada.approved = [:]
        let head = try #require(ada.kept.known).chain.head
        #expect(head.members.map(\.user).sorted() == [ada.user, bob.user])
        #expect(head.member(named: bob.user)?.role == .reader && desk.guests.keys.sorted() == [eve.user])
        #expect(try bob.opened(old[0]) == "one" && eve.opened(old[0]) == nil)
        #expect(ada.people[bob.user]?.signed == bob.signed)
        desk.writers = [eve.user]
        ada.approved = [eve.user: try eve.account.known()]
        try ada.run(.write)
        #expect(try #require(ada.kept.known).chain.head.member(named: eve.user)?.role == .writer)
        // Nobody is boxed to twice for one decision.
        let count = desk.entries.count
        try ada.run(.write)
        #expect(desk.entries.count == count)
    }

    @Test("takes in nobody with other keys than the person saw who decided, nor whom the app has removed")
    func approvalOfOthers() throws {
        try waiting([bob])
        let forger = try GuestDevice(bob.user, at: desk)
        ada.approved = [bob.user: try forger.account.known()]
        try ada.run(.write)
        #expect(desk.entries.count == 1)
        ada.approved = [bob.user: try bob.account.known()]
        ada.dropped = [bob.user]
        try ada.run(.write)
        #expect(desk.entries.count == 1)
        ada.dropped = []
        // They have other keys by now, and ask with the former ones still.
        let former = ada.approved
        try bob.replaceKeys()
        desk.statements[bob.user] = bob.signed
        ada.approved = [bob.user: try bob.account.known()]
        try ada.run(.write)
        #expect(desk.entries.count == 1)
        ada.approved = former
        try bob.run(.join(nil))
        try ada.run(.write)
        #expect(desk.entries.count == 1 && desk.guests[bob.user] != nil)
        // Where this device knows somebody else of the name, it is not that one.
        ada.people[bob.user] = try forger.account.known()
        ada.approved = [bob.user: try bob.account.known()]
        try ada.run(.write)
        #expect(desk.entries.count == 1)
        ada.people = [:]
        try ada.run(.write)
        #expect(desk.entries.count == 2)
    }

    @Test(
        "is made without a link by what is encrypted in a share that began without it, and gets one with the next share"
    )
    func late() throws {
        desk.participants = [bob.user]
        #expect(try bob.run(.write) == nil && desk.guests.isEmpty)
        let value = try #require(try ada.sealed("late"))
        #expect(try desk.entries.count == 1 && ada.link() == nil && ValueHeader(of: value).kind == .isShared)
        #expect(try bob.opened(value) == nil && desk.guests.keys.sorted() == [bob.user])
        try ada.run(.admit)
        #expect(desk.entries.count == 1)
        ada.approved = [bob.user: try bob.account.known()]
        try ada.run(.admit)
        #expect(try bob.opened(value) == "late")
        try ada.run(.share(.init()))
        #expect(try ada.link() != nil && desk.entries.count == 3)
    }

    @Test("is asked for by whoever takes part and is no member, once, and a proof stays with that")
    func asking() throws {
        try ada.run(.share(.init()))
        desk.participants = [bob.user, eve.user]
        #expect(try bob.opened(old[0]) == nil)
        #expect(desk.guests[bob.user] == RingGuest(user: bob.user, statementHash: bob.identity.statement.hash))
        try bob.run(.join(ada.link()))
        let asked = try #require(desk.guests[bob.user])
        #expect(try bob.opened(old[0]) == nil && desk.guests[bob.user] == asked && !asked.proof.isEmpty)
        // With other keys a proof is none any more, and the old ones would be waited with for ever.
        try bob.replaceKeys()
        try bob.run(.read)
        #expect(desk.guests[bob.user]?.statementHash == bob.identity.statement.hash)
        #expect(eve.failure(.write) == .isNoMember && desk.guests[eve.user] != nil)
        #expect(desk.guests[ada.user] == nil)
    }

    @Test("is begun behind a new key of the zone's alone, and not where the zone is one tree")
    func beginning() throws {
        let zone = try #require(ada.zone)
        for start in [false, true] {
            var machine = GuestDevice.Machine(
                GuestDevice.Machine.Start(
                    goal: .write, place: RingPlace(owner: desk.owner, zone: desk.zone, root: desk.root),
                    kept: KeptRing(), identity: ada.identity, zone: zone, hasNewZoneKey: start, asksServer: true,
                    hasNewestIdentity: true, encryptsAssets: false))
            _ = machine.started()
            switch machine.pageCame(try desk.page(after: 0)) {
            case .finish(.needsNewZoneKey): #expect(!start)
            case .append: #expect(start)
            default: Issue.record("a tree's ring begins otherwise")
            }
        }
        // What is left then is for devices and members who go.
        for room in [zone.newest, zone.newest + 1] {
            var machine = GuestDevice.Machine(
                GuestDevice.Machine.Start(
                    goal: .write, place: RingPlace(owner: desk.owner, zone: desk.zone, root: desk.root),
                    kept: KeptRing(), identity: ada.identity, zone: zone, zoneKeysForTreesMax: room, asksServer: true,
                    hasNewestIdentity: true, encryptsAssets: false))
            _ = machine.started()
            switch machine.pageCame(try desk.page(after: 0)) {
            case .finish(.needsNewZoneKey): #expect(room > zone.newest)
            case .finish(.failed(.isFullOfTrees)): #expect(room == zone.newest)
            default: Issue.record("a tree's ring begins otherwise")
            }
        }
        let full = ZoneRingFailure.isFullOfTrees.error(ZoneRingID(owner: "", zone: desk.zone, root: desk.root))
        #expect(full.code == .limitExceeded && full.localizedDescription.contains("of zone \(desk.zone.quotedName)"))
        // Its guests have the keys before that one, and not that one.
        try takeInBob()
        let ring = try #require(bob.kept.known)
        let keys = RingKeys(ring, of: bob.identity)
        let header = try #require(zone.cipher(root: desk.root)).header
        #expect(keys.ciphers(header).isEmpty && zone.ciphers(header).count == 1)
    }

    @Test(
        "of a branch that ends keeps nobody who is known by other keys on the branch that goes on",
        arguments: [false, true])
    func otherChainOnBranch(isForgotten: Bool) throws {
        try takeInBob()
        let before = desk.entries
        let anew = try GuestDevice(bob.user, at: desk)
        desk.formerStatements[bob.user] = bob.signed
        desk.statements[bob.user] = anew.signed
        try ada.run(.admit)
        try anew.run(.join(nil))
        ada.people[bob.user] = try anew.account.known()
        ada.approved = [bob.user: try anew.account.known()]
        try ada.run(.admit)
        ada.approved = [:]
        #expect(try anew.opened(old[0]) == "one")
        // A server that lost that takes no entry that was made before the owner's keys were replaced.
        try ada.replaceKeys()
        _ = try ada.sealed("word")
        (desk.entries, desk.refusesFormerKeys) = (before, true)
        // It may have lost, too, that the guest began anew.
        if isForgotten { (desk.statements[bob.user], desk.formerStatements[bob.user]) = (bob.signed, anew.signed) }
        let later = try #require(try ada.sealed("later"))
        let ring = try #require(ada.kept.known)
        #expect(ring.chain.head.members.map(\.user) == [ada.user])
        #expect(try GuestDevice.opened(later, ring, bob.identity) == nil)
    }

    private func takeInBob() throws {
        try ada.run(.share(.init()))
        desk.participants.insert(bob.user)
        try bob.run(.join(ada.link()))
        try ada.run(.write)
        try bob.run(.read)
    }

    @Test("is not asked for by a device that may have older keys of the account than another one has given it")
    func staleAsking() throws {
        try ada.run(.share(.init()))
        desk.participants.insert(bob.user)
        var machine = GuestDevice.Machine(
            GuestDevice.Machine.Start(
                goal: .read, place: RingPlace(owner: desk.owner, zone: desk.zone, root: desk.root), kept: KeptRing(),
                identity: bob.identity, asksServer: true, hasNewestIdentity: false, encryptsAssets: false))
        _ = machine.started()
        guard case .meet = machine.pageCame(try desk.page(after: 0)),
            case .keep = machine.met([try ada.account.known()], strangers: []),
            case .finish(.again) = machine.hasKept()
        else {
            Issue.record("the account's keys are told of before the server was asked for them")
            return
        }
    }

    @Test("is read by a guest as far as it goes where the server lets nobody ask")
    func refusedAsking() throws {
        try ada.run(.share(.init()))
        desk.participants = [bob.user]
        desk.refusesGuests = true
        #expect(try bob.run(.read) != nil && desk.guests.isEmpty)
        #expect(bob.failure(.join(nil)) == .busy)
        // A server that keeps nothing more may be read from, and one that is away may not.
        let codes: [CKError.Code] = [.serviceUnavailable, .quotaExceeded, .limitExceeded, .permissionFailure]
        #expect(codes.allSatisfy { !CKError($0).keepsFromReading })
        #expect(CKError(.networkUnavailable).keepsFromReading && CKError(.operationCancelled).keepsFromReading)
    }
}
