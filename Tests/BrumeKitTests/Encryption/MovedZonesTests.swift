import Testing

@testable import BrumeKit

@Suite("Zones in which records are to be encrypted anew")
struct MovedZonesTests {
    /// The state of one zone, which what is expected of it may change.
    private final class Subject {
        private let id = ZoneRingID(zone: "Diary")
        private var zones = MovedZones()

        func saveBegins() { zones.saveBegins(in: id) }
        func saveEnds(at milliseconds: UInt64) { zones.saveEnds(in: id, at: milliseconds) }
        func due(at milliseconds: UInt64) -> MovedZones.Due? { zones.takeDue(id, at: milliseconds) }
        func begins() -> Bool { zones.begin(id) }
        func goesOn(after outcome: MovedZones.Outcome, at milliseconds: UInt64) -> Bool {
            zones.goesOn(id, after: outcome, at: milliseconds)
        }
        func mayBegin(at milliseconds: UInt64) -> Bool { zones.mayBegin(id, at: milliseconds) }
        var mayForget: Bool { zones.mayForget(id) }
        func haveRead(movesOf records: String...) { zones.haveRead(movesOf: records, in: id) }
        func movesEnd(of records: String...) { zones.movesEnd(of: records, in: id) }
        var notedRecords: Set<String> { zones.notedRecords(in: id) }
    }

    private let zone = Subject()

    @Test("are looked up on the disk once, and gone over at once after a save that moved something")
    func due() {
        #expect(zone.due(at: 0) == .lookAtNote && zone.due(at: .max) == nil)
        zone.saveBegins()
        #expect(zone.due(at: .max) == nil && !zone.mayForget)
        // Its answer may never have come.
        zone.saveEnds(at: 5)
        #expect(zone.mayForget && zone.due(at: 4) == nil && zone.due(at: 5) == .begin)
    }

    @Test("are gone over by what was noted, but of records that are put elsewhere meanwhile")
    func notes() {
        zone.movesEnd(of: "list")
        #expect(zone.notedRecords.isEmpty)
        zone.haveRead(movesOf: "list", "page")
        zone.movesEnd(of: "page", "other")
        #expect(zone.notedRecords == ["list"])
        zone.haveRead(movesOf: "page")
        #expect(zone.notedRecords == ["page"])
    }

    @Test("are gone over once more where something moves meanwhile, by whoever does it already")
    func again() {
        #expect(zone.begins() && !zone.begins() && !zone.mayForget)
        #expect(zone.due(at: .max) == nil && !zone.mayBegin(at: .max))
        #expect(zone.goesOn(after: .isDone, at: 0))
        zone.saveBegins()
        #expect(!zone.mayForget)
        zone.saveEnds(at: 1)
        #expect(!zone.mayForget && zone.goesOn(after: .isLeft, at: 1) && zone.mayForget)
        #expect(!zone.goesOn(after: .isDone, at: 2))
        #expect(zone.due(at: .max) == nil && zone.mayBegin(at: 2) && zone.begins())
    }

    @Test(
        "wait a minute after a failure, and ten where something is left",
        arguments: [
            (MovedZones.Outcome.hasFailed, 60_000 as UInt64), (.isLeft, 600_000),
        ])
    func pauses(outcome: MovedZones.Outcome, pause: UInt64) {
        #expect(zone.begins())
        #expect(!zone.goesOn(after: outcome, at: 1_000))
        #expect(zone.due(at: 999 + pause) == nil && !zone.mayBegin(at: 999 + pause))
        #expect(zone.mayBegin(at: 1_000 + pause))
        // This process has nothing to look up any more.
        zone.saveEnds(at: 1_000 + pause)
        #expect(zone.due(at: 1_000 + pause) == .begin)
    }

    @Test("are left where the server fails, also where something has moved meanwhile")
    func failure() {
        #expect(zone.begins() && !zone.begins())
        #expect(!zone.goesOn(after: .hasFailed, at: 0) && zone.begins())
    }
}
