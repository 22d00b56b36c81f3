import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Where a share stands for those who are not shown its last changes.
@Suite("A share that changed for its managers alone")
struct QuietShareTests {
    private let shared = SharedDesk()

    /// The share, after an invitation that nobody has accepted.
    private func share() throws -> (share: Share, slot: Int32, zone: ZoneState) {
        try shared.admit(SharedDesk.guest)
        shared.invite(SharedDesk.other)
        let zone = shared.database.zoneStates[1]
        let slot = try #require(zone.sharing.shares[Names.zoneShare])
        return (try #require(zone[slot].share), slot, zone)
    }

    @Test("stands where it last changed for all, unless that is said to be where it is, or behind")
    func places() throws {
        let (share, slot, zone) = try share()
        let shown = try #require(share.shown?.position)
        let quiet = try #require(QuietShare(share, at: slot, changed: zone[slot].position))
        #expect(quiet.shown == shown && quiet.changed == zone[slot].position && shown < quiet.changed)
        #expect(QuietShare(share, at: slot, changed: shown) == nil, "bytes that no server wrote")
        #expect(QuietShare(share, at: slot, changed: shown.before) == nil)
    }

    @Test("comes once, at its place, among the changes of a zone that is shared as a whole")
    func entries() throws {
        let (share, slot, _) = try share()
        for name in ["a", "b"] { try shared.owner.save(name) }
        let zone = shared.database.zoneStates[1]
        let quiet = try #require(QuietShare(share, at: slot, changed: zone[slot].position))
        let all = Array(ShownEntries(zone.feed, after: .start, quiet))
        #expect(all.count { $0.slot == slot } == 1)
        #expect(all.first { $0.slot == slot }?.position == quiet.shown)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.position < $1.position })
        #expect(!ShownEntries(zone.feed, after: quiet.shown, quiet).contains { $0.slot == slot })
        #expect(Array(ShownEntries(zone.feed, after: .start, nil)) == Array(zone.feed.entries(after: .start)))
    }

    @Test("ends the zone where its last change for all was, and there too once the zone is loaded")
    func end() throws {
        let (_, _, zone) = try share()
        let member = try #require(zone.member(SharedDesk.guest))
        let loaded = try SharedDesk.loaded(shared.database).zoneStates[1]
        #expect(loaded.lastChange == zone.lastChange)
        #expect(zone.lastChange(shownTo: member) < zone.lastChange)
        #expect(loaded.lastChange(shownTo: member) == zone.lastChange(shownTo: member))
    }

    @Test("counts in a request of theirs for the same whatever it hides")
    func savedAgain() throws {
        try shared.admit(SharedDesk.guest)
        func room() throws -> (merge: Int, isRefused: Bool) {
            let zone = shared.database.zoneStates[1]
            let slot = try #require(zone.sharing.shares[Names.zoneShare])
            let desk = shared.desk(of: SharedDesk.guest)
            let batch = ZoneBatch(
                ZoneModification(zone: Desk.zone), savePolicy: .allKeys, member: zone.member(SharedDesk.guest),
                isAtomic: true, caller: desk.caller, owner: Desk.sharer, scope: .private,
                tag: shared.database.changeTag(9), nowMilliseconds: 1, bytesLeft: ByteBudget(),
                referenceBudget: ReferenceBudget(), shareAddresses: shared.database.shareAddresses,
                secretPlace: ShareAddresses.Place(run: 1, sequence: 1, zone: 1), runOfZone: 1)
            // As many saves of it as one request has room for.
            let saved = desk.modify(
                saves: [
                    .of(
                        Names.zoneShare, type: Names.shareType,
                        tag: try #require(desk.record(Names.zoneShare)).system.changeTag)
                ])
            return (batch.mergedBytes(of: zone[slot]), saved.result.saveCodes != [nil])
        }
        let before = try room()
        for number in 0..<30 { shared.invite(RandomShare.user(20 + number)) }
        #expect(try room() == before && !before.isRefused)
    }
}
