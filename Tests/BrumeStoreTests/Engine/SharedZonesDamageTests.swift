import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// Lists of others' zones whose checksums hold, and that no server has made.
@Suite("A damaged list of others' zones")
struct SharedZonesDamageTests {
    private static func kept(_ number: Int, at sequence: UInt64, index: UInt32 = 0, isEnded: Bool = false)
        -> SnapshotSharedZone
    {
        SnapshotSharedZone(
            zone: SharedZonesTests.zone(number), position: ChangePosition(sequence: sequence, index: index),
            isEnded: isEnded)
    }

    private static func asked(_ count: Int, owner: Int = 1) -> [AskedZone] {
        (0..<count).map { AskedZone(owner: RandomShare.user(owner), incarnation: UInt64($0)) }
    }

    /// What the loader of a snapshot of commit 5 says to a header's floor and to blocks; nil if it takes them.
    private static func problem(
        _ blocks: SnapshotBlock..., floor: UInt64 = 0, of id: DatabaseID = Desk.ofSharer().database.id
    ) -> String? {
        let loader = DatabaseLoader(id: id, epoch: 7, sequence: 5)
        var header = SnapshotHeader(database: id, sequence: 5)
        header.sharedZoneFloor = ChangePosition(rawValue: floor)
        if let problem = loader.add(header) { return problem }
        for block in blocks {
            var bytes: [UInt8] = []
            StoreCoder.encodeSnapshotBlock(block, into: &bytes)
            if let problem = bytes.withUnsafeBytes({ loader.add(content: $0) }) { return problem }
        }
        return nil
    }

    @Test("in a snapshot is refused where zones are out of order, stand there twice or come after its commit")
    func snapshot() {
        let (first, second) = (Self.kept(1, at: 2), Self.kept(2, at: 3, isEnded: true))
        #expect(Self.problem(SnapshotBlock(sharedZones: [first, second])) == nil)
        #expect(Self.problem(SnapshotBlock(sharedZones: [first]), SnapshotBlock(sharedZones: [second])) == nil)
        #expect(Self.problem(SnapshotBlock(sharedZones: [Self.kept(1, at: 5, index: 9)])) == nil)
        let damaged: [[SnapshotSharedZone]] = [
            [second, first], [first, Self.kept(2, at: 2)], [first, Self.kept(1, at: 3)],
            [Self.kept(1, at: 2, isEnded: true), Self.kept(1, at: 3)], [Self.kept(1, at: 0)], [Self.kept(1, at: 6)],
            [SnapshotSharedZone(zone: first.zone, position: ChangePosition(rawValue: .max), isEnded: false)],
        ]
        for zones in damaged {
            #expect(Self.problem(SnapshotBlock(sharedZones: zones))?.contains(" ") == true, "\(zones)")
        }
        #expect(Self.problem(SnapshotBlock(sharedZones: [second]), SnapshotBlock(sharedZones: [first])) != nil)
        #expect(Self.problem(floor: 5 << 20 | 3) == nil && Self.problem(floor: 6 << 20) != nil)
        #expect(Self.problem(floor: .max) != nil)
    }

    @Test("in a snapshot is refused where it is no user's own, or more was asked for than may be")
    func scopeAndLimits() {
        let zones = SnapshotBlock(sharedZones: [Self.kept(1, at: 2)])
        #expect(Self.problem(zones, of: Desk.publicID)?.contains(" ") == true)
        #expect(Self.problem(SnapshotBlock(askedZones: Self.asked(1)), of: Desk.publicID) != nil)
        let most = Limits.askedZonesPerUser
        #expect(Self.problem(SnapshotBlock(askedZones: Self.asked(most))) == nil)
        #expect(Self.problem(SnapshotBlock(askedZones: Self.asked(most + 1)))?.contains(" ") == true)
        let (some, others) = (Self.asked(most / 2), Self.asked(most / 2 + 1, owner: 2))
        #expect(Self.problem(SnapshotBlock(askedZones: some), SnapshotBlock(askedZones: others)) != nil)
    }

    private static func replay(_ changes: [Change], in id: DatabaseID = Desk.ofSharer().database.id) -> String? {
        Desk.problemReplaying(changes, in: id)
    }

    @Test("in a journal is refused where a zone goes that is not there, and where it is no user's own")
    func journal() {
        let zone = SharedZonesTests.zone(1)
        let asked = SharedZonesTests.asked(zone)
        #expect(Self.replay([.sharedZoneAsked(asked), .sharedZonePut(zone), .sharedZoneEnd(zone.id)]) == nil)
        #expect(Self.replay([.sharedZoneAnswered(asked)]) == nil)
        for changes: [Change] in [
            [.sharedZoneEnd(zone.id)], [.sharedZoneAsked(asked), .sharedZoneEnd(zone.id)],
            [.sharedZonePut(zone), .sharedZoneEnd(zone.id), .sharedZoneEnd(zone.id)],
            [.sharedZonePut(zone), .sharedZoneEnd(SharedZonesTests.zone(2).id)],
        ] {
            #expect(Self.replay(changes)?.contains(" ") == true, "\(changes)")
        }
        for change: Change in [
            .sharedZoneAsked(asked), .sharedZoneAnswered(asked), .sharedZonePut(zone), .sharedZoneEnd(zone.id),
        ] {
            #expect(Self.replay([change], in: Desk.publicID)?.contains(" ") == true)
        }
    }

    private static func decodes(_ change: Change) -> Bool {
        var bytes: [UInt8] = []
        StoreCoder.encodeJournalEntry(
            JournalEntry(
                database: StoreSamples.privateDatabase, sequence: 1, committedMilliseconds: 1, changes: [change]),
            into: &bytes)
        return (try? bytes.decoded(StoreCoder.decodeJournalEntry)) != nil
    }

    private static func decodes(_ block: SnapshotBlock) -> Bool {
        var bytes: [UInt8] = []
        StoreCoder.encodeSnapshotBlock(block, into: &bytes)
        return (try? bytes.decoded(StoreCoder.decodeSnapshotBlock)) != nil
    }

    @Test("is refused where a zone has no name or an owner who is nobody")
    func names() {
        let good = SharedZonesTests.zone(1)
        #expect(Self.decodes(.sharedZonePut(good)) && Self.decodes(.sharedZoneEnd(good.id)))
        for id in [
            ZoneID(name: "", owner: good.id.owner), ZoneID(name: Names.defaultZone, owner: good.id.owner),
            ZoneID(name: String(repeating: "x", count: 256), owner: good.id.owner), ZoneID(name: "a", owner: ""),
            ZoneID(name: "a", owner: Names.currentUser), ZoneID(name: "a", owner: "_1"),
        ] {
            var zone = good
            zone.id = id
            #expect(!Self.decodes(.sharedZonePut(zone)) && !Self.decodes(.sharedZoneEnd(id)), "\(id)")
            let kept = SnapshotSharedZone(zone: zone, position: .start, isEnded: false)
            #expect(!Self.decodes(SnapshotBlock(sharedZones: [kept])), "\(id)")
        }
        let nobodys = AskedZone(owner: "", incarnation: 1)
        #expect(!Self.decodes(.sharedZoneAsked(nobodys)) && !Self.decodes(.sharedZoneAnswered(nobodys)))
        #expect(!Self.decodes(SnapshotBlock(askedZones: [nobodys])))
        let nameless = ProtoBytes().message(9, ProtoBytes().varint(2, 7))
        #expect(throws: StoreCodingError.self) { try nameless.bytes.decoded(StoreCoder.decodeSnapshotBlock) }
    }
}
