import BrumeModel
@testable import BrumeStore
import Testing

@Suite("What deleted zones leave")
struct RemainsTests {
    private final class Box {
        var remains: [Remains] = []
    }

    @Test("emptying takes some hundreds of zones at a time, until nothing is left")
    func emptying() throws {
        let desk = Desk()
        let zones = (0..<600).map { ZoneID(name: "z\($0)") }
        for start in stride(from: 0, to: 600, by: 300) {
            _ = desk.database.modifyZones(
                ModifyZonesRequest(database: .private, saves: Array(zones[start..<start + 300])), caller: desk.caller,
                nowMilliseconds: 1)
        }
        for number in 0..<10 { try desk.save("r\(number)", in: zones[number]) }
        var commits = 0
        var records = 0
        var emptying = desk.database.beginEmptying()
        while let emptied = desk.database.empty(&emptying, nowMilliseconds: 1) {
            #expect(try #require(emptied.commit).zones.count <= 256)
            commits += 1
            records += emptied.records
        }
        #expect(commits == 3 && records == 10)
        #expect(desk.database.zones.map(\.id) == [.defaultZone])
        // Of records: one zone at least, and no more than it takes to come to the limit.
        for number in 0..<3 {
            desk.makeZone("n\(number)")
            for record in 0..<5 { try desk.save("r\(record)", in: ZoneID(name: "n\(number)")) }
        }
        emptying = desk.database.beginEmptying()
        #expect(try #require(desk.database.empty(&emptying, limit: 6, nowMilliseconds: 1)).records == 10)
        #expect(try #require(desk.database.empty(&emptying, limit: 6, nowMilliseconds: 1)).records == 5)
    }

    @Test(
        "a database that forgets its user has neither subscriptions nor answers with records, and replays to the same")
    func forgotten() throws {
        let desk = Desk(Database(id: Desk.privateID, epoch: 7), caller: Caller(user: Desk.owner, isOwner: true))
        let replayed = Database(id: Desk.privateID, epoch: 7)
        func replay(_ commit: Commit?) throws {
            if let commit { try replayed.apply(commit.entry) }
        }
        try replay(desk.makeZone("notes"))
        try replay(desk.database.ensureUserRecord(named: Desk.owner, nowMilliseconds: 1))
        for number in 0..<40 {
            try replay(desk.modify(saves: [.of("secret\(number)", ["text": .string("confidential")])]).commit)
            for database in [desk.database, replayed] {
                database.remember(operation: [UInt8(number)], encoded: Array("confidential".utf8))
            }
        }
        let subscribed = desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .private, saves: [Subscription(id: "s", kind: .database(recordType: ""))]),
            caller: desk.caller, nowMilliseconds: 1)
        try replay(subscribed.commit)
        let statement = SharedBytes(Array("which devices there are".utf8))
        try replay(desk.database.append(statement: statement, number: 1, nowMilliseconds: 1))
        for zone in [Desk.zone, .defaultZone] {
            try replay(
                desk.database.append(
                    ringEntry: statement, number: 1, root: "", zone: zone, quota: nil, nowMilliseconds: 1))
        }
        var emptying = desk.database.beginEmptying()
        while let emptied = desk.database.empty(&emptying, nowMilliseconds: 1) { try replay(emptied.commit) }
        #expect(desk.database.subscriptions.count == 1 && desk.database.operations.count == 40)
        let before = desk.database.sequence
        let commits = desk.database.forgetUser(nowMilliseconds: 2)
        #expect(commits.map(\.sequence) == [before + 1, before + 2])
        #expect(desk.database.subscriptions.isEmpty && desk.database.statements.isEmpty)
        #expect(desk.database.rings == ZoneRings())
        #expect(desk.database.operations.count == 1 && desk.database.operations.bytes == 1)
        #expect(desk.database.recordCount == 1 && desk.database.audit().kept == desk.database.audit().recounted)
        for commit in commits { try replay(commit) }
        #expect(replayed.subscriptions.isEmpty && replayed.audit() == desk.database.audit())
        // A retry after a crash between the two.
        #expect(desk.database.forgetUser(nowMilliseconds: 3).count == 2)
        let unused = Database(id: Desk.privateID, epoch: 7)
        #expect(unused.forgetUser(nowMilliseconds: 3).isEmpty, "nobody ever used it")
        // The disk was full when the user came.
        let nameless = Desk()
        _ = try nameless.database.append(statement: statement, number: 1, nowMilliseconds: 1)
        nameless.database.remember(operation: [1], encoded: Array("confidential".utf8))
        let last = nameless.database.forgetUser(nowMilliseconds: 3)
        #expect(last.count == 3 && last[1].entry.changes.contains(.statementsEnd))
        #expect(nameless.database.statements.isEmpty && nameless.database.operations.bytes == 1)
    }

    @Test("what users make while a database is emptied stays, and the emptying ends")
    func newcomers() throws {
        let desk = Desk()
        for number in 0..<30 { try desk.save("old\(number)", in: .defaultZone) }
        _ = desk.modify(.defaultZone, deletions: (0..<5).map { "old\($0)" })
        for number in 0..<4 { desk.makeZone("old\(number)") }
        var emptying = desk.database.beginEmptying()
        var parts = 0
        while desk.database.empty(&emptying, limit: 3, nowMilliseconds: 1) != nil {
            parts += 1
            try #require(parts < 100)
            desk.makeZone("new\(parts)")
            try desk.save("zoned", in: ZoneID(name: "new\(parts)"))
            for number in 0..<5 { try desk.save("new\(parts)-\(number)", in: .defaultZone) }
            // One of those that have not gone yet: it is as old as it was.
            if parts == 1 { try desk.save("old29", in: .defaultZone, policy: .allKeys) }
        }
        #expect(desk.database.recordCount == 6 * parts)
        #expect(!desk.database.holdsRecord("old29", in: .defaultZone))
        #expect(desk.database.zones.map(\.id.name) == ["_defaultZone"] + (1...parts).map { "new\($0)" })
    }

    @Test("emptying looks at each user record once, and at no more of them in one part than at others")
    func userRecords() throws {
        let desk = Desk.ofPublicDatabase(user: "_ada")
        for user in 0..<20 {
            _ = desk.database.ensureUserRecord(named: "_u\(user)", nowMilliseconds: 1)
        }
        var emptying = desk.database.beginEmptying()
        var parts = 0
        while let part = desk.database.empty(&emptying, limit: 6, nowMilliseconds: 1) {
            #expect(part.commit == nil && part.records == 0)
            parts += 1
        }
        #expect(parts == (desk.database.recordCount + 5) / 6)
    }

    @Test(
        "a large zone's records are given to the host, a small one's are gone at once, and counts are right meanwhile")
    func givenBack() throws {
        let desk = Desk()
        let box = Box()
        desk.database.giveBack = { box.remains.append($0) }
        desk.makeZone("large")
        for start in stride(from: 0, to: 400, by: 100) {
            _ = desk.modify(ZoneID(name: "large"), saves: (start..<start + 100).map { .of("r\($0)") })
        }
        try desk.save("r")
        _ = desk.deleteZone("notes")
        #expect(box.remains.isEmpty)
        _ = desk.deleteZone("large")
        #expect(box.remains.count == 1)
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted && audit.kept.storedBytes == 0)
        box.remains[0].giveBack()
        desk.makeZone("large")
        #expect(try desk.changes(since: nil, in: ZoneID(name: "large")).live == [])
    }
}
