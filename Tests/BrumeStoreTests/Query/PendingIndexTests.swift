import BrumeModel
import BrumeProtocol
import BrumeRandom
import Testing

@testable import BrumeStore

@Suite("Indexes behind commits")
struct PendingIndexTests {
    /// 300 notes, and the indexes of their numbers, tags and words.
    private func desk(_ limits: IndexLimits = IndexLimits()) throws -> Desk {
        let desk = Desk()
        desk.database.indexLimits = limits
        _ = desk.modify(
            saves: (0..<300).map { number in
                let fields: [String: FieldValue?] = [
                    "n": .int64(Int64(number)), "tags": .int64s([Int64(number), -1]),
                    "body": .string("common w\(number)"),
                ]
                return .of("r\(number)", fields)
            })
        for predicate in [Self.number(1), Self.tag(1), .text("w1", .anyWord)] { _ = try find(predicate, desk, way: 1) }
        return desk
    }

    private static func number(_ number: Int64) -> Predicate { .comparison(.field("n"), .equal, .int64(number)) }
    private static func tag(_ number: Int64) -> Predicate { .anyElement(.field("tags"), .equal, .int64(number)) }

    private func find(_ predicate: Predicate, _ desk: Desk, way: Int? = nil) throws -> (names: [String], read: Int) {
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: predicate), zone: Desk.zone, resultsLimit: 400, desiredKeys: [])
        run.testOnly_choice = way
        while !run.step() {}
        return (try #require(run.results).matches.map { Record(stored: $0.record).system.name }, run.plan.recordsRead)
    }

    private func indexes(_ desk: Desk) throws -> ZoneIndexes {
        let position = try desk.database.zoneIndex(of: Desk.zone).get()
        return try #require(desk.database.zoneIndexes[desk.database.zoneStates[position].incarnation])
    }

    private func entries(_ desk: Desk) throws -> Int {
        let id = IndexID(recordType: "Note", kind: .members(.field("tags")))
        return try #require(try indexes(desk).index(id)).tree.count
    }

    private func expectInStep(_ desk: Desk) throws {
        let position = try desk.database.zoneIndex(of: Desk.zone).get()
        #expect(try indexes(desk).testOnly_differences(desk.database.zoneStates[position].slots).isEmpty)
    }

    /// Returns the steps that it took, and the most entries that one of them changed.
    private func bringInStep(_ desk: Desk, units: Int) throws -> (steps: Int, most: Int) {
        var (steps, most) = (0, 0)
        var isBehind = true
        while isBehind {
            let before = try entries(desk)
            isBehind = desk.database.applyPendingIndexes(units)
            most = max(most, abs(try entries(desk) - before))
            steps += 1
        }
        return (steps, most)
    }

    @Test("twelve records of 300,000 numbers cost a commit nothing, and the indexes a few short steps")
    func manyNumbers() throws {
        let desk = try desk()
        let before = try entries(desk)
        let large = RecordSave<CheckedFields>.of("", ["tags": .int64s(Array(0..<300_000))])
        let names = (0..<12).map { "large\($0)" }
        let saves = names.map {
            RecordSave(name: $0, type: large.type, changeTag: "", parent: large.parent, fields: large.fields)
        }
        #expect(desk.modify(saves: saves).result.saves.allSatisfy { $0.record != nil })
        #expect(try entries(desk) == before && desk.database.pendingIndexChanges == 12)
        #expect(try find(Self.tag(9_000), desk).names == names)
        let coming = try bringInStep(desk, units: 250)
        #expect(coming.steps <= 60 && coming.most <= 250, "\(coming)")
        #expect(try find(Self.tag(9_000), desk).names == names)
        #expect(try entries(desk) == before + 12, "each is found by a look at it")
        #expect(desk.modify(deletions: names).result.deletions.allSatisfy { $0 == nil })
        #expect(try entries(desk) == before + 12 && desk.database.pendingIndexChanges == 12)
        #expect(try find(Self.tag(7), desk).names == ["r7"])
        let going = try bringInStep(desk, units: 250)
        #expect(going.steps <= 60 && going.most <= 250, "\(going)")
        #expect(try entries(desk) == before)
        try expectInStep(desk)
    }

    @Test("a step changes no more entries than it was given units, however many one record has")
    func steps() throws {
        let desk = try desk(IndexLimits(elements: .max, promptBytes: 400))
        _ = desk.modify(
            saves: [
                .of("one", ["tags": .int64s(Array(1_000..<6_000))]),
                .of("two", ["tags": .int64s(Array(3_000..<8_000))]),
            ])
        let coming = try bringInStep(desk, units: 50)
        #expect(coming.steps >= 200 && coming.most <= 50, "\(coming)")
        try expectInStep(desk)
        _ = desk.modify(policy: .allKeys, saves: [.of("one", ["tags": .int64s(Array(2_000..<7_000))])])
        _ = desk.modify(deletions: ["two"])
        let going = try bringInStep(desk, units: 50)
        #expect(going.steps >= 120 && going.most <= 50, "\(going)")
        try expectInStep(desk)
    }

    @Test(
        "a small commit is in the indexes at once, and of a larger one what is behind its first two thousand units waits"
    )
    func promptness() throws {
        let desk = try desk(IndexLimits(promptUnits: 60))
        try desk.save("small", ["n": .int64(1_000), "body": .string("small words")])
        #expect(desk.database.pendingIndexChanges == 0)
        _ = desk.modify(saves: (0..<100).map { .of("s\($0)", ["n": .int64(1_000)]) })
        #expect((1..<100).contains(desk.database.pendingIndexChanges))
        // What follows pays for itself.
        let pending = desk.database.pendingIndexChanges
        for number in 0..<20 { try desk.save("t\(number)", ["n": .int64(1_000)]) }
        #expect(desk.database.pendingIndexChanges <= pending)
        #expect(try find(Self.number(1_000), desk).names.count == 121)
        _ = try bringInStep(desk, units: 1_000)
        #expect(try find(Self.number(1_000), desk).names.count == 121)
        try expectInStep(desk)
    }

    @Test("a query that begins between a commit and its indexes sees the commit")
    func acknowledged() throws {
        let desk = try desk(IndexLimits(promptBytes: 0))
        try desk.save("new", ["body": .string("fresh w8")])
        _ = desk.modify(deletions: ["r5"])
        _ = desk.modify(policy: .allKeys, saves: [.of("r6", ["body": .string("changed")])])
        var units = 0
        while desk.database.pendingIndexChanges > 0 {
            for way in 0..<3 {
                #expect(try find(.text("fresh", .anyWord), desk, way: way).names == ["new"])
                #expect(try find(.text("w8", .anyWord), desk, way: way).names == ["r8", "new"])
                #expect(try find(.text("w5 w6", .anyWord), desk, way: way).names == [])
                #expect(try find(.text("changed", .anyWord), desk, way: way).names == ["r6"])
            }
            _ = desk.database.applyPendingIndexes(1)
            units += 1
        }
        #expect(units > 3)
        #expect(try find(.text("w8", .anyWord), desk).names == ["r8", "new"])
        try expectInStep(desk)
    }

    @Test("above the limit of what may wait a large change is refused for a while, and a small one is not")
    func refusal() throws {
        let desk = try desk(IndexLimits(promptBytes: 400, pendingBytes: 30_000))
        let text = FieldValue.string(String(repeating: "some words and more ", count: 1_000))
        try desk.save("large", ["body": text])
        try desk.save("larger", ["body": text])
        let before = desk.database.sequence
        let (saved, _) = desk.modify(saves: [.of("another", ["body": text])])
        guard case .failure(let error) = saved.saves[0].outcome else {
            Issue.record("it was saved")
            return
        }
        #expect(error.code == .zoneBusy && error.retryAfterMilliseconds > 0)
        let deleted = desk.modify(deletions: ["large"]).result
        #expect(deleted.deletions[0]?.code == .zoneBusy)
        #expect(desk.database.sequence == before && desk.record("another") == nil && desk.record("large") != nil)
        try desk.save("small", ["n": .int64(2_000)])
        desk.makeZone("other")
        try desk.save("another", ["body": text], in: ZoneID(name: "other"))
        while desk.database.applyPendingIndexes(1_000) {}
        try desk.save("another", ["body": text])
        #expect(try find(Self.number(2_000), desk).names == ["small"])
    }

    @Test(
        "small requests of those who have little waiting go on beside one that leaves all that may wait, up to a limit")
    func reserve() throws {
        let desk = try desk(
            IndexLimits(promptBytes: 400, pendingBytes: 30_000, reserveBytes: 12_000, smallBytes: 4_000))
        let body = { (bytes: Int) in FieldValue.string(String(repeating: "word ", count: bytes / 5)) }
        try desk.save("large", ["body": body(20_000)])
        try desk.save("larger", ["body": body(20_000)])
        func outcome(_ name: String, _ bytes: Int, mayUseReserve: Bool) -> ErrorCode? {
            let save = RecordSave<CheckedFields>.of(name, ["body": body(bytes)])
            let result = desk.modify(saves: [save], mayUseIndexReserve: mayUseReserve).result.saves[0].outcome
            guard case .failure(let error) = result else { return nil }
            return error.code
        }
        #expect(outcome("a", 3_000, mayUseReserve: false) == .zoneBusy)
        #expect(outcome("a", 5_000, mayUseReserve: true) == .zoneBusy)
        #expect(outcome("a", 3_000, mayUseReserve: true) == nil)
        #expect(outcome("b", 3_000, mayUseReserve: true) == .zoneBusy, "the reserve ends too")
        while desk.database.applyPendingIndexes(1_000) {}
        #expect(outcome("b", 3_000, mayUseReserve: false) == nil)
    }

    private static let large = FieldValue.string(String(repeating: "word ", count: 4_000))

    @Test("a private database's indexes go rather than take over more than may wait of one request")
    func tooMuchAtOnce() throws {
        let desk = try desk(IndexLimits(promptBytes: 400, pendingBytes: 30_000))
        for name in ["a", "b"] {
            try desk.save(name, ["body": Self.large])
            while desk.database.applyPendingIndexes(1_000) {}
        }
        #expect(desk.modify(deletions: ["a", "b"]).result.deletions == [nil, nil])
        #expect(desk.database.pendingIndexBytes == 0)
        #expect(try find(Self.number(7), desk, way: 1).names == ["r7"])
        try expectInStep(desk)
    }

    /// A public database with indexes, where `_bob`'s records go with `target`, which is `_ada`'s.
    private func publicDesk(_ limits: IndexLimits, referring: Int, bytes: Int) throws -> Desk {
        let desk = Desk.ofPublicDatabase(user: "_ada")
        desk.database.indexLimits = limits
        let few = (0..<300).map { RecordSave<CheckedFields>.of("r\($0)", ["n": .int64(Int64($0))]) }
        #expect(savePublicly(few + [.of("target")], by: "_ada", desk).saves.allSatisfy { $0.record != nil })
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: Self.number(1)), zone: .defaultZone, resultsLimit: 400, desiredKeys: []
        )
        run.testOnly_choice = 1
        while !run.step() {}
        let fields: [String: FieldValue?] = [
            "body": .string(String(repeating: "x", count: bytes)),
            "to": .reference(Reference(recordName: "target", deletesSelf: true)),
        ]
        for number in 0..<referring {
            #expect(savePublicly([.of("bob\(number)", fields)], by: "_bob", desk).saves[0].record != nil)
            while desk.database.applyPendingIndexes(1_000) {}
        }
        return desk
    }

    private func savePublicly(
        _ saves: [RecordSave<CheckedFields>], deletions: [String] = [], by user: String, _ desk: Desk
    ) -> ZoneModificationResult<SharedBytes> {
        desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .public, savePolicy: .allKeys, isAtomic: false,
                zones: [ZoneModification(zone: .defaultZone, saves: saves, deletions: deletions)]),
            caller: Caller(user: user, isOwner: false), nowMilliseconds: 2_000
        ).answer[0]
    }

    @Test("a public database is told to be changed in parts, by who changes too much of their own at once")
    func tooMuchAtOncePublicly() throws {
        let desk = try publicDesk(IndexLimits(promptBytes: 400, pendingBytes: 30_000), referring: 3, bytes: 20_000)
        let own = savePublicly([], deletions: ["bob0", "bob1"], by: "_bob", desk)
        #expect(
            own.deletions.allSatisfy { $0?.code == .limitExceeded }
                && desk.database.holdsRecord("bob0", in: .defaultZone))
        // What others have hung on it does not keep a record from being deleted.
        #expect(savePublicly([], deletions: ["target"], by: "_ada", desk).deletions == [nil])
        #expect(desk.database.recordCount == 300)
    }

    @Test("others' records go with a public one up to so many bytes, and the rest refer to nothing")
    func othersBytes() throws {
        let desk = try publicDesk(IndexLimits(), referring: 20, bytes: 900_000)
        #expect(savePublicly([], deletions: ["target"], by: "_ada", desk).deletions == [nil])
        let left = desk.database.recordCount - 300
        #expect((20 - left) * 900_000 <= StoreLimits.othersCascadeBytes)
        #expect((20 - left + 1) * 900_000 + 20 * 200 > StoreLimits.othersCascadeBytes, "\(left)")
        #expect(desk.database.audit().kept == desk.database.audit().recounted)
    }

    @Test("a query that could use more indexes than a zone has room for makes some of them, and ends")
    func manyIndexes() throws {
        let desk = Desk()
        for first in stride(from: 0, to: 1_200, by: 400) {
            _ = desk.modify(saves: (first..<first + 400).map { .of("r\($0)", ["n": .int64(1)]) })
        }
        let terms = (0..<100).map { Predicate.comparison(.field("f\($0)"), .greater, .int64(-5)) }
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: .and(terms)), zone: Desk.zone, resultsLimit: 400, desiredKeys: [])
        // All are made, though the first one leads to nothing already.
        run.testOnly_choice = 1
        var steps = 0
        while !run.step(), steps < 2_000 { steps += 1 }
        #expect(run.results?.matches.isEmpty == true, "\(steps) steps")
        let made = run.plan.steps.count { $0.hasPrefix("made the index") }
        #expect((2..<ZoneIndexes.limit / 2).contains(made), "\(made)")
    }

    @Test("a query whose indexes others' queries push out again and again gives them up")
    func pushedOut() throws {
        let desk = Desk()
        for first in stride(from: 0, to: 8_000, by: 400) {
            _ = desk.modify(saves: (first..<first + 400).map { .of("r\($0)", ["n": .int64(1)]) })
        }
        func query(_ field: String) throws -> QueryRun {
            let run = try desk.database.startQuery(
                Query(recordType: "Note", predicate: .comparison(.field(field), .equal, .int64(1))), zone: Desk.zone,
                resultsLimit: 400, desiredKeys: [])
            run.testOnly_choice = 1
            return run
        }
        let run = try query("n")
        var (steps, others) = (0, 0)
        while !run.step(), steps < 2_000 {
            steps += 1
            // Each begins another index than the ones before.
            let zone = try indexes(desk)
            for _ in 0..<ZoneIndexes.limit {
                others += 1
                let position = try desk.database.zoneIndex(of: Desk.zone).get()
                zone.build(
                    IndexID(recordType: "Note", kind: .order(.field("g\(others)"))),
                    desk.database.zoneStates[position].slots, zoneBytes: 0, 1)
            }
        }
        #expect(run.results?.matches.count == 400, "\(steps) steps")
    }

    @Test(
        "a record with more words than an index takes in is found by any of them, and costs others a look while it is there"
    )
    func beyondTheLimit() throws {
        let desk = try desk(IndexLimits(words: 20))
        #expect(try find(.text("w7", .anyWord), desk).read == 1)
        let words = (0..<50).map { "x\($0)" }.joined(separator: " ")
        try desk.save("many", ["body": .string(words)])
        while desk.database.applyPendingIndexes(1_000) {}
        for word in ["x0", "x19", "x20", "x49"] {
            #expect(try find(.text(word, .anyWord), desk).names == ["many"], "\(word)")
        }
        #expect(try find(.text("x3 x48", .allWords), desk).names == ["many"])
        #expect(try find(.text("common x48", .allWords), desk).names == [])
        let other = try find(.text("w7", .anyWord), desk)
        #expect(other.names == ["r7"] && other.read == 2)
        _ = desk.modify(policy: .allKeys, saves: [.of("many", ["body": .string("w7")])])
        while desk.database.applyPendingIndexes(1_000) {}
        #expect(try find(.text("w7", .anyWord), desk).names == ["r7", "many"])
        #expect(try find(.text("w8", .anyWord), desk).read == 1)
        try expectInStep(desk)
    }

    @Test(
        "a query gives its index up where others' changes keep it from being made, and reads the records one by one",
        arguments: [20, 2_000])
    func changesThatKeepAnIndexFromBeingMade(elements: Int) throws {
        let desk = Desk()
        let recordCount = 2_000
        for first in stride(from: 0, to: recordCount, by: 400) {
            _ = desk.modify(
                saves: (first..<first + 400).map { .of("r\($0)", ["tags": .int64s([Int64($0), -1])]) })
        }
        let changed = (0..<25).map { "r\($0 * 80)" }
        var round: Int64 = 0
        func change() {
            round += 1
            let tags = FieldValue.int64s((0..<Int64(elements)).map { $0 * 1_000 + 1_000_000 + round })
            let saves = changed.map { RecordSave<CheckedFields>.of($0, ["tags": tags]) }
            #expect(desk.modify(policy: .allKeys, saves: saves).result.saves.allSatisfy { $0.record != nil })
        }
        let run = try desk.database.startQuery(
            Query(recordType: "Note", predicate: Self.tag(7)), zone: Desk.zone, resultsLimit: 400, desiredKeys: [])
        var steps = 0
        repeat {
            // What the server does in its turns: the indexes that are made go on beside the query.
            change()
            _ = desk.database.applyPendingIndexes(100)
            steps += 1
        } while !run.step() && steps < 1_000
        #expect(steps < 400, "\(steps)")
        #expect(run.plan.steps.contains { $0.hasPrefix("gave up making the index") } == (elements > 20))
        #expect(run.results?.matches.map { Record(stored: $0.record).system.name } == ["r7"])
        while desk.database.applyPendingIndexes(1_000) {}
        #expect(try find(Self.tag(7), desk).names == ["r7"])
        try expectInStep(desk)
    }

    @Test("an index is whole whatever changes at whatever step of its making", arguments: 0..<5)
    func changesWhileAnIndexIsMade(number: UInt64) throws {
        let seed = UInt64.random(in: 0...(.max)) &+ number
        var generator = SeededGenerator(seed: seed)
        let desk = Desk()
        // Few records, and large, so that changes meet one that is half in the index.
        desk.database.indexedZoneMinimum = 1
        desk.database.indexLimits = IndexLimits(elements: .max, promptBytes: 400)
        func save(_ name: String) {
            let count = generator.oneIn(4) ? 3 : Int.random(in: 300...900, using: &generator)
            let tags = (0..<count).map { _ in Int64.random(in: 0..<2_000, using: &generator) }
            _ = desk.modify(policy: .allKeys, saves: [.of(name, ["tags": .int64s(tags)])])
        }
        for number in 0..<20 { save("r\(number)") }
        var created = 20
        let position = try desk.database.zoneIndex(of: Desk.zone).get()
        for _ in 0..<8 {
            let run = try desk.database.startQuery(
                Query(recordType: "Note", predicate: Self.tag(7)), zone: Desk.zone, resultsLimit: 400, desiredKeys: [])
            run.testOnly_choice = 1
            while !run.step(Int.random(in: 1...40, using: &generator)) {
                // Often one of the newest, which the index takes in last.
                switch Int.random(in: 0..<24, using: &generator) {
                case 0:
                    save("r\(created)")
                    created += 1
                case 1: _ = desk.modify(deletions: ["r\(Int.random(in: 0..<created, using: &generator))"])
                case 2: save("r\(Int.random(in: 0..<created, using: &generator))")
                case 3...4: save("r\(Int.random(in: 0..<3, using: &generator))")
                case 5...7: save("r\(Int.random(in: created - 5..<created, using: &generator))")
                case 8...9: _ = desk.database.applyPendingIndexes(Int.random(in: 1...400, using: &generator))
                default: break
                }
            }
            // Where the query gave it up after so many changes, another one goes on.
            _ = try find(Self.tag(7), desk, way: 1)
            while desk.database.applyPendingIndexes(1_000) {}
            #expect(
                try indexes(desk).testOnly_differences(desk.database.zoneStates[position].slots).isEmpty,
                "seed \(seed)")
            desk.database.zoneIndexes = [:]
        }
    }

    @Test(
        "what is pending goes with its zone, and with its index; what is left of a large index is given back in steps")
    func endings() throws {
        let desk = try desk(IndexLimits(promptBytes: 0))
        try desk.save("new", ["n": .int64(5_000), "tags": .int64s([5_000])])
        // As many others as make it the one that was used least recently.
        for number in 0...ZoneIndexes.limit {
            _ = try find(.comparison(.field("f\(number)"), .equal, .string("x")), desk, way: 1)
            _ = desk.database.applyPendingIndexes(1)
        }
        #expect(try find(Self.number(5_000), desk, way: 1).names == ["new"])
        _ = desk.modify(saves: (0..<300).map { .of("s\($0)", ["n": .int64(6_000), "tags": .int64s([6_000])]) })
        #expect(try find(Self.tag(6_000), desk, way: 1).names.count == 300)
        #expect(desk.database.pendingIndexChanges > 0 && desk.database.pendingIndexBytes > 0)
        _ = desk.deleteZone("notes")
        #expect(desk.database.pendingIndexChanges == 0 && desk.database.pendingIndexBytes == 0)
        #expect(desk.database.hasPendingIndexes)
        var steps = 0
        while desk.database.applyPendingIndexes(1) { steps += 1 }
        #expect(steps > 0 && !desk.database.hasPendingIndexes)
    }

    @Test("few large records make a table of small parts, as many small ones do")
    func parts() {
        let table = TermTable(recordCount: 64, recordBytes: 64 << 20)
        var generator = SystemRandomNumberGenerator()
        for ordinal in UInt32(0)..<64 {
            for _ in 0..<4_096 { _ = table.add(generator.next(), ordinal) }
        }
        var tree = PostingTree()
        var most = 0
        while let work = table.movePart(to: &tree) { most = max(most, work) }
        #expect(tree.count == 64 * 4_096)
        #expect(most < 512, "\(most)")
    }
}
