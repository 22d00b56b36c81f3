import BrumeModel
import Testing

@testable import BrumeEncryption
@testable import BrumeKit

/// Entries that a device sees for the first time after it has removed another one of the account's, made with the keys
/// that this one had.
@Suite("Keys of what is shared, after a device of the owner's was removed")
struct RingLateEntryTests {
    /// Somebody whom an entry lets in that is made with keys of the owner's which were replaced since.
    private func letIn(
        _ guest: GuestDevice, _ role: RingRole, beside others: [GuestDevice] = [], at desk: GuestDesk,
        by thief: Identity, behind chain: RingChain
    ) throws {
        var known = StatementDirectory()
        known.add(thief.chain)
        for device in [guest] + others { known.add(device.identity.chain) }
        var draft = RingDraft(after: chain.head, statements: known)
        draft.members.removeAll { $0.user == guest.user }
        draft.members.append(
            RingMember(user: guest.user, statementHash: guest.identity.statement.hash, role: role))
        let longer = try RingAuthor(user: desk.owner, identity: thief.keys, statements: known)
            .next(after: chain, keys: chain.keys(of: thief), draft)
        desk.entries.append(SharedBytes(longer.entries[longer.entries.count - 1].bytes))
        desk.statements[guest.user] = guest.signed
        desk.participants.insert(guest.user)
    }

    @Test("are not for whom an entry of that device's lets in then", arguments: ["", "page"])
    func accomplice(root: String) throws {
        let desk = GuestDesk(root: root)
        let ada = try GuestDevice("_ada", at: desk)
        let eve = try GuestDevice("_eve", at: desk)
        if !root.isEmpty {
            ada.zone = try ada.account.begun(zone: desk.zone)
            _ = try ada.run(.share(.init()))
        }
        let before = try #require(try ada.sealed("before"))
        let thief = ada.identity
        let chain = try #require(ada.kept.known).chain
        try ada.replaceKeys()
        try letIn(eve, .reader, at: desk, by: thief, behind: chain)
        desk.refusesFormerKeys = true
        // It is kept in mind by a device that only reads at first.
        _ = try ada.run(.read)
        let after = try #require(try ada.sealed("after"))
        #expect(try ada.opened(before) == "before" && ada.opened(after) == "after")
        #expect(try eve.opened(after) == nil)
        #expect(ada.kept.known?.chain.head.members.map(\.user) == ["_ada"])
        #expect(ada.kept.removals.isEmpty)
    }

    @Test("are for a member who was known before, with the rights of then")
    func role() throws {
        let desk = GuestDesk(root: "page")
        let ada = try GuestDevice("_ada", at: desk)
        let bob = try GuestDevice("_bob", at: desk)
        let eve = try GuestDevice("_eve", at: desk)
        ada.zone = try ada.account.begun(zone: desk.zone)
        _ = try ada.run(.share(.init()))
        for guest in [bob, eve] {
            let chain = try #require(ada.kept.known).chain
            try letIn(guest, .reader, beside: [bob], at: desk, by: ada.identity, behind: chain)
            _ = try ada.run(.read)
        }
        #expect(ada.kept.removals.isEmpty, "the account's keys are the same")
        let thief = ada.identity
        let chain = try #require(ada.kept.known).chain
        try ada.replaceKeys()
        try letIn(eve, .administrator, beside: [bob], at: desk, by: thief, behind: chain)
        let after = try #require(try ada.sealed("after"))
        #expect(try bob.opened(after) == "after")
        #expect(try eve.opened(after) == nil, "she has to be let in again")
    }
}
