import BrumeModel
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("The quota of records")
struct QuotaTests {
    private let desk = Desk()

    private func modify(
        quota: Int, elsewhere: Int = 0, isAtomic: Bool = true, saves: [RecordSave<CheckedFields>] = [],
        deletions: [String] = [],
        zone: ZoneID = Desk.zone
    ) -> ZoneModificationResult<SharedBytes> {
        desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .allKeys, isAtomic: isAtomic,
                zones: [ZoneModification(zone: zone, saves: saves, deletions: deletions)]), caller: desk.caller,
            nowMilliseconds: 2_000,
            quota: quota > 0 ? StorageQuota(limitBytes: quota, bytesElsewhere: elsewhere) : nil
        ).answer[0]
    }

    private func save(_ name: String, bytes: Int, parent: ParentChange = .unchanged) -> RecordSave<CheckedFields> {
        .of(name, ["x": .bytes([UInt8](repeating: 1, count: bytes))], parent: parent)
    }

    /// What a record of so many bytes comes to with its system fields.
    private func stored(bytes: Int) -> Int {
        let other = Desk()
        _ = try? other.save("probe", ["x": .bytes([UInt8](repeating: 1, count: bytes))], policy: .allKeys)
        return other.database.storedBytes
    }

    @Test("a save that would go beyond it fails, and one that fits to the byte is done")
    func boundary() throws {
        let size = stored(bytes: 1_000)
        #expect(modify(quota: size, saves: [save("aaaaa", bytes: 1_000)]).saveCodes == [nil])
        #expect(desk.database.storedBytes == size)
        let refused = modify(quota: 2 * size - 1, saves: [save("bbbbb", bytes: 1_000)])
        #expect(refused.saveCodes == [.quotaExceeded])
        let message = try #require(refused.saves[0].error?.message)
        #expect(
            message.contains("\(size) more bytes") && message.contains("\(size - 1) of the account's quota"),
            "\(message)")
        #expect(modify(quota: 2 * size, saves: [save("bbbbb", bytes: 1_000)]).saveCodes == [nil])
    }

    @Test("what other databases of the account hold takes from it")
    func elsewhere() throws {
        let size = stored(bytes: 1_000)
        let refused = modify(quota: 2 * size, elsewhere: size + 1, saves: [save("aaaaa", bytes: 1_000)])
        #expect(refused.saveCodes == [.quotaExceeded])
        #expect(modify(quota: 2 * size, elsewhere: size, saves: [save("aaaaa", bytes: 1_000)]).saveCodes == [nil])
        // Over it because of them: what takes no more still goes through.
        #expect(modify(quota: size, elsewhere: 2 * size, saves: [save("aaaaa", bytes: 1_000)]).saveCodes == [nil])
        #expect(modify(quota: size, elsewhere: 2 * size, deletions: ["aaaaa"]).deletionCodes == [nil])
    }

    @Test("who is over it still deletes, and saves what is no larger, but no more than that")
    func over() throws {
        #expect(modify(quota: 0, saves: [save("a", bytes: 1_000), save("b", bytes: 1_000)]).saveCodes == [nil, nil])
        #expect(modify(quota: 10, saves: [save("a", bytes: 900)]).saveCodes == [nil])
        #expect(modify(quota: 10, saves: [save("a", bytes: 900)]).saveCodes == [nil])
        #expect(modify(quota: 10, saves: [save("a", bytes: 901)]).saveCodes == [.quotaExceeded])
        #expect(modify(quota: 10, saves: [save("c", bytes: 1)]).saveCodes == [.quotaExceeded])
        #expect(modify(quota: 10, deletions: ["a"]).deletionCodes == [nil])
    }

    @Test("an atomic batch is refused whole, in another one each save is by itself")
    func batches() throws {
        let quota = stored(bytes: 1_000) + 300
        let saves = [save("a", bytes: 1_000), save("b", bytes: 1_000), save("c", bytes: 10)]
        #expect(
            modify(quota: quota, saves: saves).saveCodes
                == [.batchRequestFailed, .quotaExceeded, .batchRequestFailed])
        #expect(desk.database.recordCount == 0)
        #expect(modify(quota: quota, isAtomic: false, saves: saves).saveCodes == [nil, .quotaExceeded, nil])
        #expect(desk.database.storedBytes <= quota && desk.database.recordCount == 2)
    }

    @Test("what a batch deletes makes room for what it saves")
    func replacement() throws {
        let size = stored(bytes: 1_000)
        #expect(modify(quota: size, saves: [save("aaaaa", bytes: 1_000)]).saveCodes == [nil])
        let result = modify(quota: size, saves: [save("bbbbb", bytes: 1_000)], deletions: ["aaaaa"])
        #expect(result.saveCodes == [nil] && result.deletionCodes == [nil])
        #expect(desk.database.storedBytes == size)
        // A larger one that shrinks makes room as well.
        let shrunk = modify(quota: size, saves: [save("bbbbb", bytes: 100), save("c", bytes: 500)])
        #expect(shrunk.saveCodes == [nil, nil])
    }

    @Test("a deletion that may not be makes no room")
    func refusedDeletion() throws {
        let size = stored(bytes: 1_000)
        #expect(
            modify(quota: 0, saves: [save("aaaaa", bytes: 1_000), save("child", bytes: 1, parent: .set("aaaaa"))])
                .saveCodes == [nil, nil])
        let before = desk.database.storedBytes
        let result = modify(
            quota: size, isAtomic: false, saves: [save("bbbbb", bytes: 900)], deletions: ["aaaaa"])
        #expect(result.deletionCodes == [.referenceViolation] && result.saveCodes == [.quotaExceeded])
        #expect(desk.database.storedBytes == before)
    }

    @Test("a child of a record that found no room fails, and takes none")
    func orphan() throws {
        let quota = stored(bytes: 100)
        let result = modify(
            quota: quota, isAtomic: false,
            saves: [save("large", bytes: 1_000), save("child", bytes: 1, parent: .set("large")), save("b", bytes: 1)])
        #expect(result.saveCodes == [.quotaExceeded, .referenceViolation, nil])
    }

    /// Each new record finds no room when the one before it has failed: its own old record then may not shrink.
    @Test("saves that fail for each other one after the other, beside costly references, end quickly")
    func chain() throws {
        let pairs = 120
        let old = (0..<pairs).map { save("child\($0)", bytes: 600) }
        #expect(modify(quota: 0, saves: old).saveCodes.allSatisfy { $0 == nil })
        let references = FieldValue.references(
            (0..<Limits.cascadeReferencesPerRecord).map { Reference(recordName: "t\($0)", deletesSelf: true) })
        let heavy = (0..<3).map { RecordSave<CheckedFields>.of("heavy\($0)", ["to": references]) }
        let shrinking = (0..<pairs).map { save("child\($0)", bytes: 100, parent: .set("new\($0)")) }
        let growing = (0..<pairs).map { save("new\($0)", bytes: 380) }
        // All of it fits, but for the last one.
        let all = Desk()
        let request = heavy + shrinking + growing
        #expect(all.modify(policy: .allKeys, saves: old).result.saveCodes.allSatisfy { $0 == nil })
        #expect(all.modify(policy: .allKeys, saves: request).result.saveCodes.allSatisfy { $0 == nil })
        var codes: [ErrorCode?] = []
        let took = ProcessorTime.of {
            codes = modify(quota: all.database.storedBytes - 10, isAtomic: false, saves: request).saveCodes
        }
        #expect(took < .seconds(10), "\(took)")
        #expect(codes.last == .quotaExceeded)
        for pair in 0..<pairs where codes[heavy.count + pairs + pair] != nil {
            #expect(codes[heavy.count + pair] == .referenceViolation)
        }
    }

    private func makeZones(_ numbers: Range<Int>, quota: Int) -> [ErrorCode?] {
        desk.database.modifyZones(
            ModifyZonesRequest(database: .private, saves: numbers.map { ZoneID(name: "z\($0)") }), caller: desk.caller,
            nowMilliseconds: 1, quota: StorageQuota(limitBytes: quota)
        ).answer.saves.map { if case .failure(let error) = $0 { error.code } else { nil } }
    }

    private func subscribe(_ id: String, quota: Int) throws -> ErrorCode? {
        let answer = desk.database.modifySubscriptions(
            ModifySubscriptionsRequest(
                database: .private, saves: [Subscription(id: id, kind: .database(recordType: ""))]),
            caller: desk.caller, nowMilliseconds: 1, quota: StorageQuota(limitBytes: quota)
        ).answer.saves
        if case .failure(let error) = try #require(answer.first) { return error.code }
        return nil
    }

    @Test("zones, subscriptions and deletions count beyond an allowance, and no more are made when it is used up")
    func overhead() throws {
        let allowance = Limits.overheadAllowanceBytes
        let quota = allowance
        let most = (allowance + quota) / Limits.zoneBytes
        var made = 0
        while makeZones(made..<made + 100, quota: quota) == [ErrorCode?](repeating: nil, count: 100) { made += 100 }
        #expect(abs(desk.database.zoneCount - most) < 3, "\(desk.database.zoneCount) of \(most)")
        #expect(makeZones(5_000..<5_001, quota: quota) == [.quotaExceeded])
        #expect(try subscribe("s", quota: quota) == .quotaExceeded)
        #expect(modify(quota: quota, saves: [save("a", bytes: 1)]).saveCodes == [.quotaExceeded])
        // What is there is there, and goes.
        #expect(makeZones(0..<1, quota: quota) == [nil])
        for number in 0..<desk.database.zoneCount { _ = desk.deleteZone("z\(number)") }
        #expect(desk.database.quotaBytes == 0)
        #expect(makeZones(0..<1, quota: quota) == [nil])
    }

    @Test("whose records have used up the quota still makes zones and subscriptions within the allowance")
    func recordsAlone() throws {
        #expect(modify(quota: 2_000, saves: [save("a", bytes: 1_500)]).saveCodes == [nil])
        #expect(makeZones(0..<10, quota: 100) == [ErrorCode?](repeating: nil, count: 10))
        #expect(try subscribe("s", quota: 100) == nil)
        #expect(desk.database.quotaBytes == desk.database.storedBytes)
    }

    @Test(
        "a record's place and a deletion that feeds report count as some bytes beyond the allowance, and a deletion makes room"
    )
    func deletions() throws {
        let perRound = 400
        func names(_ round: Int) -> [String] { (0..<perRound).map { "\(round)-\($0)" } }
        var rounds = 0
        while desk.database.quotaBytes == desk.database.storedBytes, rounds < 30 {
            let saves = names(rounds).map { save($0, bytes: 1) }
            #expect(modify(quota: .max, saves: saves).saveCodes.allSatisfy { $0 == nil })
            rounds += 1
        }
        #expect(abs(rounds * perRound - Limits.overheadAllowanceBytes / Limits.recordOverheadBytes) <= perRound)
        for round in 0..<rounds {
            let before = desk.database.quotaBytes
            _ = modify(quota: 0, deletions: names(round))
            #expect(desk.database.quotaBytes < before, "round \(round)")
        }
        #expect(desk.database.recordCount == 0 && desk.database.storedBytes == 0)
        let overhead = rounds * perRound * Limits.tombstoneBytes + Limits.zoneBytes * 2
        #expect(abs(desk.database.quotaBytes - (overhead - Limits.overheadAllowanceBytes)) < 1_000)
    }

    @Test("a zone that was deleted counts as a deletion")
    func deletedZones() throws {
        let count = 4_000
        _ = makeZones(0..<count, quota: .max)
        #expect(desk.database.quotaBytes > (count - 10) * Limits.zoneBytes - Limits.overheadAllowanceBytes)
        for number in 0..<count / 2 { _ = desk.deleteZone("z\(number)") }
        let left = count / 2 * (Limits.zoneBytes + Limits.tombstoneBytes) - Limits.overheadAllowanceBytes
        #expect(abs(desk.database.quotaBytes - left) < 10 * Limits.zoneBytes, "\(desk.database.quotaBytes), \(left)")
    }

    @Test("a save is told what is left where its turn comes, after the request's deletions and the saves before it")
    func sentence() throws {
        let saved = modify(quota: 10_000, saves: [save("a", bytes: 1_000), save("b", bytes: 1_000)])
        #expect(saved.saveCodes == [nil, nil])
        let used = desk.database.storedBytes
        let answer = modify(
            quota: used + 10, isAtomic: false, saves: [save("c", bytes: 500), save("d", bytes: 5_000)], deletions: ["a"]
        )
        #expect(answer.saveCodes == [nil, .quotaExceeded])
        let left = used + 10 - desk.database.storedBytes
        #expect(
            try #require(answer.saves[1].error).message.contains(", and \(left) of the account's quota of \(used + 10)")
        )
    }

    @Test("a public database tells no figures")
    func publicDatabase() throws {
        let desk = Desk.ofPublicDatabase(user: "_alice")
        let answer = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .public, savePolicy: .allKeys,
                zones: [ZoneModification(zone: .defaultZone, saves: [save("a", bytes: 1_000)])]), caller: desk.caller,
            nowMilliseconds: 2_000, quota: StorageQuota(limitBytes: 512)
        ).answer[0]
        #expect(answer.saveCodes == [.quotaExceeded])
        #expect(answer.saves[0].error?.message.contains { $0.isNumber } == false)
        #expect(answer.saves[0].error?.message.contains("has no room for the record") == true)
    }

    private func savePublicly(
        _ saves: [RecordSave<CheckedFields>], deletions: [String] = [], by user: String, in desk: Desk, part: Int
    ) -> ZoneModificationResult<SharedBytes> {
        desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .public, savePolicy: .allKeys, isAtomic: false,
                zones: [ZoneModification(zone: .defaultZone, saves: saves, deletions: deletions)]),
            caller: Caller(user: user, isOwner: false), nowMilliseconds: 2_000,
            quota: StorageQuota(limitBytes: 1 << 30, limitBytesOfUser: part)
        ).answer[0]
    }

    @Test("one user's records take no more than a part of a public database, and others' saves go on")
    func partOfUser() throws {
        let desk = Desk.ofPublicDatabase(user: "_alice")
        let save = { (names: [String], bytes: Int, user: String) in
            savePublicly(names.map { self.save($0, bytes: bytes) }, by: user, in: desk, part: 5_000).saveCodes
        }
        #expect(save(["a", "b", "c"], 2_000, "_alice") == [nil, nil, .quotaExceeded])
        #expect(save(["d"], 2_000, "_bob") == [nil])
        #expect(save(["a"], 3_500, "_alice") == [.quotaExceeded], "a record that grows")
        #expect(save(["a"], 100, "_alice") == [nil], "and one that shrinks")
        #expect(save(["c"], 2_000, "_alice") == [nil])
        let deleted = savePublicly(
            [self.save("e", bytes: 2_000)], deletions: ["b"], by: "_alice", in: desk, part: 5_000)
        #expect(deleted.saveCodes == [nil] && deleted.deletionCodes == [nil])
        let many = (0..<40).map { "small\($0)" }
        let refused = save(many, 1, "_eve").count { $0 == .quotaExceeded }
        #expect((1..<20).contains(refused), "places of records count: \(refused) of 40")
        let message = savePublicly([self.save("f", bytes: 4_000)], by: "_alice", in: desk, part: 5_000).saves[0].error
        #expect(try #require(message).message.contains { $0.isNumber } == false)
        #expect(try #require(message).message.contains("what this record's creator has made"))
        #expect(desk.database.audit().kept == desk.database.audit().recounted)
    }

    @Test("whatever users save and delete in a public database, none takes more than their part", arguments: 0..<10)
    func randomUsers(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let desk = Desk.ofPublicDatabase(user: "_a")
        let (users, part) = (["_a", "_b", "_c"], 6_000)
        var refused = 0
        for step in 0..<150 {
            let user = generator.pick(users)
            let names = (0..<6).map { "r\(user)-\($0)" }.shuffled(using: &generator)
            let count = Int.random(in: 0...4, using: &generator)
            let saves = names[..<count].map { save($0, bytes: Int.random(in: 0..<2_500, using: &generator)) }
            let result = savePublicly(
                saves, deletions: Array(names[count..<count + Int.random(in: 0...2, using: &generator)]), by: user,
                in: desk, part: part)
            refused += result.saveCodes.count { $0 == .quotaExceeded }
            let audit = desk.database.audit()
            #expect(audit.kept == audit.recounted, "seed \(seed), step \(step)")
            for user in users {
                let bytes = desk.database.zoneStates[0].creatorBytes[CreatorBytes.User(user)]
                #expect(bytes <= part, "seed \(seed), step \(step): \(user) has \(bytes)")
            }
        }
        #expect(refused > 0, "seed \(seed)")
    }

    @Test("whatever is saved and deleted, no save goes beyond it, and counting again gives the same", arguments: 0..<20)
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let quota = 4_000
        var refused = 0
        for step in 0..<200 {
            let names = (0..<8).map { "r\($0)" }.shuffled(using: &generator)
            let count = Int.random(in: 0...4, using: &generator)
            let saves = names[..<count].map { name in
                let parent = generator.oneIn(4) ? ParentChange.set(generator.pick(names)) : .unchanged
                return save(name, bytes: Int.random(in: 0..<1_500, using: &generator), parent: parent)
            }
            let deletions = Array(names[count..<count + Int.random(in: 0...2, using: &generator)])
            let before = desk.database.storedBytes
            let isAtomic = Bool.random(using: &generator)
            let limit = generator.oneIn(10) ? 1_000 : quota
            let result = modify(quota: limit, isAtomic: isAtomic, saves: saves, deletions: deletions)
            refused += result.saveCodes.count { $0 == .quotaExceeded }
            let audit = desk.database.audit()
            #expect(audit.kept == audit.recounted, "seed \(seed), step \(step)")
            #expect(
                desk.database.storedBytes <= max(limit, before),
                "seed \(seed), step \(step): \(before) became \(desk.database.storedBytes)")
        }
        #expect(refused > 0, "seed \(seed)")
    }
}
