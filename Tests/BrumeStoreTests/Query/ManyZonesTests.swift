import BrumeModel
import BrumeProtocol
import Testing

@testable import BrumeStore

@Suite("Queries of many zones")
struct ManyZonesTests {
    private static func names(_ range: Range<Int>) -> Predicate {
        .isIn(.recordID, range.map { .reference(Reference(recordName: "r\($0)", deletesSelf: false)) })
    }

    /// Zones that have a record each, whose name has the zone's number.
    private func desk(zones count: Int, hasIndexes: Bool = false) throws -> Desk {
        let desk = Desk()
        if hasIndexes { desk.database.indexedZoneMinimum = 1 }
        for number in 0..<count {
            desk.makeZone("z\(number)")
            try desk.save("r\(number)", ["n": .int64(1)], in: ZoneID(name: "z\(number)"))
        }
        return desk
    }

    private func start(_ desk: Desk, _ predicate: Predicate, zone: ZoneID? = nil) throws -> QueryRun {
        try desk.database.startQuery(Query(recordType: "Note", predicate: predicate), zone: zone, resultsLimit: 400)
    }

    private func found(_ run: QueryRun) throws -> [String] {
        try #require(run.results).matches.map { $0.zone.name + "/" + Record(stored: $0.record).system.name }
    }

    @Test("zones without records cost a query of all zones nothing") func emptyZones() throws {
        let desk = try desk(zones: 2)
        for number in 0..<2_000 { desk.makeZone("empty\(number)") }
        _ = desk.modify(ZoneID(name: "z0"), isAtomic: false, deletions: ["r0"])
        let run = try start(desk, Self.names(1..<2))
        #expect(run.step(64))
        #expect(try found(run) == ["z1/r1"])
        try desk.save("r1", ["n": .int64(1)], in: ZoneID(name: "empty7"))
        let second = try start(desk, Self.names(1..<2))
        #expect(second.step(64))
        #expect(try found(second) == ["z1/r1", "empty7/r1"])
        #expect(second.plan.steps.first == "2 zones that hold records, one after the other")
    }

    @Test("names that a query wants are sought zone by zone, a few in each step") func names() throws {
        let desk = try desk(zones: 40, hasIndexes: true)
        let run = try start(desk, Self.names(0..<300))
        run.testOnly_choice = 1
        var steps = 1
        while !run.step(64) { steps += 1 }
        #expect(steps >= 40 * 300 / 64)
        #expect(try found(run) == (0..<40).map { "z\($0)/r\($0)" })
    }

    @Test("the plan of each zone is charged by the size of the predicate") func plans() throws {
        let desk = try desk(zones: 40, hasIndexes: true)
        let wanted = Predicate.isIn(.field("n"), (0..<800).map { .int64($0) })
        while try !start(desk, wanted).step(100_000) {}
        let run = try start(desk, wanted)
        var steps = 1
        while !run.step(64) { steps += 1 }
        #expect(steps >= 40)
        #expect(try found(run).count == 40)
    }

    @Test("zones that change before a query of all zones takes them are shown as they were", arguments: [false, true])
    func changesBetween(hasIndexes: Bool) throws {
        let desk = try desk(zones: 8, hasIndexes: hasIndexes)
        for predicate in [Predicate.constant(true), Self.names(0..<20)] {
            let run = try start(desk, predicate)
            if hasIndexes { run.testOnly_choice = 1 }
            var expected = Set<String>()
            for zone in desk.database.zones where !zone.id.isDefault {
                expected.formUnion(try desk.changes(since: nil, in: zone.id).live.map { "\(zone.id.name)/\($0)" })
            }
            while !run.isReading { #expect(!run.step(1)) }
            let number = predicate == .constant(true) ? 18 : 19
            for zone in ["z1", "z3", "z5"] {
                try desk.save("r\(number)", ["n": .int64(1)], in: ZoneID(name: zone))
                _ = desk.modify(ZoneID(name: zone), isAtomic: false, deletions: ["r\(zone.dropFirst())"])
            }
            #expect(desk.deleteZone("z7").commit != nil)
            desk.makeZone("z7")
            try desk.save("r7", ["n": .int64(1)], in: ZoneID(name: "z7"))
            while !run.step(1) {}
            #expect(Set(try found(run)) == expected)
            #expect(desk.database.queryRuns.isEmpty)
        }
    }

    @Test("a zone that goes while its names are sought is shown as it was") func goneZone() throws {
        let desk = Desk()
        desk.database.indexedZoneMinimum = 1
        for number in 0..<40 { try desk.save("r\(number)") }
        let run = try start(desk, Self.names(0..<40), zone: Desk.zone)
        run.testOnly_choice = 1
        while !run.isReading { #expect(!run.step(1)) }
        for _ in 0..<20 { #expect(!run.step(1)) }
        #expect(desk.deleteZone("notes").commit != nil)
        while !run.step(1) {}
        #expect(try found(run) == (0..<40).map { "notes/r\($0)" })
    }

    @Test("a query that is given up leaves nothing in the database") func givenUp() throws {
        let desk = try desk(zones: 3)
        var run: QueryRun? = try start(desk, .constant(true))
        while run?.isReading == false { _ = run?.step(1) }
        #expect(desk.database.queryRuns.count == 1)
        run = nil
        #expect(desk.database.queryRuns.isEmpty)
    }
}
