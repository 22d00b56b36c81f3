import BrumeRandom
import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@Suite("How much history is kept")
struct HistoryTests {
    private static func desk(tombstones: Int = 4, inAll: Int? = nil, deletedZones: Int = 4) -> Desk {
        let desk = Desk(
            Database(
                id: Desk.privateID, epoch: 7,
                history: HistoryLimits(
                    tombstonesPerZone: tombstones, tombstones: inAll, deletedZones: deletedZones, runs: 4)),
            caller: Caller(user: Desk.owner, isOwner: true))
        desk.makeZone("notes")
        return desk
    }

    static func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test("above the limit the oldest deletions go, and only the tokens that need them expire")
    func tombstones() throws {
        let desk = HistoryTests.desk()
        for name in ["a", "b", "c", "d", "stays"] { try desk.save(name) }
        var tokens = [try desk.changes(since: nil).token]
        for name in ["a", "b", "c"] {
            _ = desk.modify(deletions: [name])
            tokens.append(try desk.changes(since: nil).token)
        }
        #expect(try desk.changes(since: tokens[0]).deleted == ["a", "b", "c"])
        _ = desk.modify(deletions: ["d"])
        #expect(try desk.changes(since: tokens[0]).deleted == ["a", "b", "c", "d"])
        try desk.save("f")
        _ = desk.modify(deletions: ["f"])
        #expect(HistoryTests.code { _ = try desk.changes(since: tokens[0]) } == .changeTokenExpired)
        #expect(try desk.changes(since: tokens[1]).deleted == ["b", "c", "d", "f"])
        try desk.save("g")
        _ = desk.modify(deletions: ["g"])
        for token in tokens[..<2] {
            #expect(HistoryTests.code { _ = try desk.changes(since: token) } == .changeTokenExpired)
        }
        #expect(try desk.changes(since: tokens[2]).deleted == ["c", "d", "f", "g"])
        #expect(try desk.changes(since: tokens[3]).deleted == ["d", "f", "g"])
        #expect(try desk.changes(since: nil).live == ["stays"])
        // A place that a forgotten record has left serves another one, and a forgotten name may come back.
        try desk.save("e")
        try desk.save("a")
        #expect(try desk.changes(since: tokens[3]).live == ["e", "a"])
        #expect(desk.record("a") != nil && desk.record("b") == nil)
    }

    @Test(
        "where the zones keep too many deletions together, each further one lets its zone forget two, down to the newest two"
    )
    func tombstonesOfAllZones() throws {
        let desk = HistoryTests.desk(tombstones: 6, inAll: 8)
        var tokens: [ZoneID: ChangeToken] = [:]
        let zones = ["a", "b", "c"].map { ZoneID(name: $0) }
        for zone in zones {
            desk.makeZone(zone.name)
            for number in 0..<10 { try desk.save("\(number)", in: zone) }
            tokens[zone] = try desk.changes(since: nil, in: zone).token
        }
        func delete(_ numbers: Range<Int>, from zone: ZoneID) {
            for number in numbers { _ = desk.modify(zone, deletions: ["\(number)"]) }
        }
        delete(0..<5, from: zones[0])
        delete(0..<3, from: zones[1])
        #expect(try desk.changes(since: tokens[zones[0]], in: zones[0]).deleted.count == 5)
        #expect(try desk.changes(since: tokens[zones[1]], in: zones[1]).deleted.count == 3)
        // Eight are there. A zone with more records than deletions forgets none.
        delete(3..<5, from: zones[1])
        #expect(try desk.changes(since: tokens[zones[1]], in: zones[1]).deleted.count == 5)
        // One comes, two go.
        let late = try desk.changes(since: nil, in: zones[1]).token
        delete(5..<6, from: zones[1])
        #expect(
            HistoryTests.code { _ = try desk.changes(since: tokens[zones[1]], in: zones[1]) } == .changeTokenExpired)
        #expect(try desk.changes(since: late, in: zones[1]).deleted == ["5"])
        #expect(desk.database.audit().histories.map(\.tombstones).prefix(4) == [0, 5, 4, 0])
        delete(6..<10, from: zones[1])
        // The two newest stay for who was here lately; other zones lose nothing by it.
        #expect(desk.database.audit().histories.map(\.tombstones).prefix(4) == [0, 5, 2, 0])
        #expect(try desk.changes(since: tokens[zones[0]], in: zones[0]).deleted.count == 5)
        // Zones that go make room.
        _ = desk.deleteZone("a")
        delete(0..<6, from: zones[2])
        #expect(try desk.changes(since: tokens[zones[2]], in: zones[2]).deleted.count == 6)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted && audit.kept.tombstones == 8)
    }

    @Test("a zone keeps as many deletions as it has records, where those are more than the limit")
    func tombstonesOfLargeZone() throws {
        let desk = HistoryTests.desk()
        _ = desk.modify(saves: (0..<30).map { .of("r\($0)") })
        let start = try desk.changes(since: nil).token
        for index in 0..<15 { _ = desk.modify(deletions: ["r\(index)"]) }
        #expect(try desk.changes(since: start).deleted.count == 15)
        _ = desk.modify(deletions: ["r15"])
        #expect(HistoryTests.code { _ = try desk.changes(since: start) } == .changeTokenExpired)
    }

    @Test("a first fetch in pages goes on while older deletions are forgotten", arguments: [1, 2, 3])
    func firstFetchOverOldHistory(limit: Int) throws {
        let desk = HistoryTests.desk()
        for index in 0..<6 { try desk.save("r\(index)") }
        for index in 0..<40 {
            try desk.save("short\(index)")
            _ = desk.modify(deletions: ["short\(index)"])
        }
        // The records are older than all deletions that are left.
        var page = try desk.changes(since: nil, limit: limit)
        var live = page.live
        while page.moreComing {
            #expect(page.deleted.isEmpty)
            page = try desk.changes(since: page.token, limit: limit)
            live += page.live
        }
        #expect(live == (0..<6).map { "r\($0)" } && page.deleted.isEmpty)
    }

    @Test("a first fetch tells of what is deleted while it goes on, or its token expires")
    func deletionsDuringFirstFetch() throws {
        let desk = HistoryTests.desk()
        for index in 0..<6 { try desk.save("r\(index)") }
        let first = try desk.changes(since: nil, limit: 2)
        _ = desk.modify(deletions: ["r0", "r5"])
        let second = try desk.changes(since: first.token, limit: 100)
        #expect(second.live == ["r2", "r3", "r4"] && second.deleted == ["r0", "r5"] && !second.moreComing)
        for index in 0..<4 {
            try desk.save("s\(index)")
            _ = desk.modify(deletions: ["s\(index)"])
        }
        #expect(HistoryTests.code { _ = try desk.changes(since: first.token) } == .changeTokenExpired)
    }

    @Test("deleted zones are forgotten in the same way, and a first fetch of the zones still pages to its end")
    func deletedZones() throws {
        let desk = HistoryTests.desk()
        for name in ["k1", "k2", "a", "b", "c", "d", "e"] { desk.makeZone(name) }
        func changes(_ token: ChangeToken?, limit: Int = 0) throws -> DatabaseChangesPage<ChangeToken> {
            try desk.database.databaseChanges(since: token, resultsLimit: limit)
        }
        var tokens = [try changes(nil).token]
        for name in ["a", "b", "c", "d"] {
            _ = desk.deleteZone(name)
            tokens.append(try changes(nil).token)
        }
        #expect(HistoryTests.code { _ = try changes(tokens[1]) } == .changeTokenExpired)
        #expect(try changes(tokens[2]).deletions.map(\.zone.name) == ["c", "d"])
        #expect(try changes(nil).changed.map(\.name) == ["notes", "k1", "k2", "e"])
        var page = try changes(nil, limit: 1)
        var names = page.changed.map(\.name)
        while page.moreComing {
            page = try changes(page.token, limit: 1)
            names += page.changed.map(\.name)
            #expect(page.deletions.isEmpty)
        }
        #expect(names == ["notes", "k1", "k2", "e"])
        // Its place is taken by another zone, and it is found no more.
        let forgotten = ZoneID(name: "a")
        #expect(desk.database.incarnation(of: forgotten) == nil)
        desk.makeZone("new")
        #expect(desk.database.incarnation(of: ZoneID(name: "new")) != nil)
        #expect(desk.database.incarnation(of: forgotten) == nil)
        #expect(try changes(tokens[4]).changed.map(\.name) == ["new"])
        for round in 0..<20 {
            desk.makeZone("z\(round)")
            _ = desk.deleteZone("z\(round)")
        }
        #expect(desk.database.zones.count == 6)
        #expect(try changes(nil).changed.map(\.name) == ["notes", "k1", "k2", "e", "new"])
    }

    @Test("replay and a snapshot lose the same history as the database did", arguments: 0..<20)
    func sameHistoryEverywhere(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let limits = HistoryLimits(tombstonesPerZone: 3, deletedZones: 3, runs: 3)
        let disk = SimulatedDisk()
        try disk.makeDirectory("snapshots")
        var desk = Desk(
            Database(id: Desk.privateID, epoch: 7, history: limits), caller: Caller(user: Desk.owner, isOwner: true))
        var journal: [JournalEntry] = []
        var tokens: [(zone: ZoneID?, token: ChangeToken)] = []
        var expired = 0
        var good = 0
        let zones = ["one", "two", "three", "four", "five", "six"]
        for step in 0..<300 {
            let comment: Comment = "seed \(seed), step \(step)"
            let commit: Commit?
            let zone = generator.pick(zones)
            if generator.oneIn(5) {
                commit = generator.oneIn(2) ? desk.deleteZone(zone).commit : desk.makeZone(zone)
            } else {
                let name = "r\(Int.random(in: 0..<12, using: &generator))"
                commit =
                    generator.oneIn(2)
                    ? desk.modify(ZoneID(name: zone), deletions: [name]).commit
                    : desk.modify(
                        ZoneID(name: zone), policy: .allKeys, saves: [.of(name, ["n": .int64(Int64(step))])]
                    ).commit
            }
            if let commit { journal.append(commit.entry) }
            if desk.database.incarnation(of: ZoneID(name: zone)) != nil {
                tokens.append(
                    (
                        ZoneID(name: zone),
                        try desk.changes(since: nil, limit: generator.pick([1, 100]), in: ZoneID(name: zone)).token
                    ))
            }
            tokens.append((nil, try desk.database.databaseChanges(since: nil, resultsLimit: 1).token))
            tokens.append((nil, try desk.database.databaseChanges(since: nil, resultsLimit: 0).token))
            if !generator.oneIn(40) { continue }
            if generator.oneIn(2) { desk.database.begin(run: UInt32.random(in: 1 ... .max, using: &generator)) }
            let second = Database(id: Desk.privateID, epoch: 7, history: limits)
            for entry in journal { try second.apply(entry) }
            try SnapshotWriter.write(desk.database.capture(), to: disk)
            let third = try #require(try SnapshotReader.load(Desk.privateID, epoch: 99, from: disk))
            third.history = limits
            func answer(_ zone: ZoneID?, _ token: ChangeToken, of database: Database) -> String {
                do throws(ServiceError) {
                    if let zone {
                        return
                            "\(try database.zoneChanges(zone: zone, since: token, resultsLimit: 3, desiredKeys: nil))"
                    }
                    return "\(try database.databaseChanges(since: token, resultsLimit: 3))"
                } catch {
                    return "\(error.code)"
                }
            }
            for (zone, token) in tokens {
                let expected = answer(zone, token, of: desk.database)
                #expect(answer(zone, token, of: second) == expected, comment)
                #expect(answer(zone, token, of: third) == expected, comment)
                if expected == "\(ErrorCode.changeTokenExpired)" { expired += 1 } else { good += 1 }
            }
            for database in [second, third] {
                #expect(database.sequence == desk.database.sequence && database.zones == desk.database.zones, comment)
            }
            let next = generator.pick([desk.database, second, third])
            if let last = journal.last { next.begin(run: last.run) }
            desk = Desk(next, caller: desk.caller)
        }
        #expect(expired > 0 && good > 0, "seed \(seed)")
    }
}
