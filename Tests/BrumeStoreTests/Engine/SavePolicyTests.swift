import BrumeModel
import BrumeProtocol
import BrumeStore
import Testing

@Suite("Saving records")
struct SavePolicyTests {
    let desk = Desk()

    @Test("a new record is created, also without fields, and the answer leaves its fields out")
    func creation() throws {
        let (result, commit) = desk.modify(saves: [.of("a", ["title": .string("x")]), .of("b")])
        #expect(result.saveCodes == [nil, nil])
        #expect(result.saves.map(\.fieldsOmitted) == [true, true])
        #expect(result.saves[0].record?.fields.isEmpty == true)
        #expect(commit?.entry.changes.count == 2)
        let record = try #require(desk.record("a"))
        #expect(record.fields == ["title": .string("x")])
        #expect(record.system.creator == Desk.owner && record.system.modifier == Desk.owner)
        #expect(record.system.createdMilliseconds == 2000 && record.system.modifiedMilliseconds == 2000)
        #expect(desk.record("b") != nil)
    }

    @Test("a save with the current tag merges what was sent and gives a new tag")
    func merge() throws {
        let first = try desk.save("a", ["title": .string("x"), "count": .int64(1), "gone": .int64(2)])
        let (result, _) = desk.modify(
            saves: [.of("a", ["count": .int64(5), "gone": nil, "more": .double(1)], tag: first)], now: 9000)
        #expect(result.saveCodes == [nil])
        #expect(result.saves[0].fieldsOmitted)
        let record = try #require(desk.record("a"))
        #expect(record.fields == ["title": .string("x"), "count": .int64(5), "more": .double(1)])
        #expect(record.system.changeTag != first)
        #expect(record.system.createdMilliseconds == 2000 && record.system.modifiedMilliseconds == 9000)
    }

    @Test("a save without a tag over an existing record fails and brings the server's record")
    func missingTag() throws {
        let tag = try desk.save("a", ["title": .string("x")])
        let (result, commit) = desk.modify(saves: [.of("a", ["title": .string("y")])])
        #expect(result.saveCodes == [.serverRecordChanged])
        let server = Record(stored: try #require(result.saves[0].error?.serverRecord))
        #expect(server.system.changeTag == tag)
        #expect(server.fields == ["title": .string("x")])
        #expect(commit == nil)
    }

    @Test("of saves with the same tag one wins, and the others get what it wrote", arguments: ["stale", "garbage"])
    func staleTag(kind: String) throws {
        let first = try desk.save("a", ["n": .int64(1)])
        let second = try desk.save("a", ["n": .int64(2)], tag: first)
        let (result, _) = desk.modify(saves: [.of("a", ["n": .int64(3)], tag: kind == "stale" ? first : "???")])
        #expect(result.saveCodes == [.serverRecordChanged])
        #expect(Record(stored: try #require(result.saves[0].error?.serverRecord)).system.changeTag == second)
        #expect(desk.record("a")?.fields == ["n": .int64(2)])
    }

    @Test("the tag of a record that is gone is unknown, and the policies that compare no tags make the record again")
    func goneRecord() throws {
        let tag = try desk.save("a")
        #expect(desk.modify(deletions: ["a"]).result.deletionCodes == [nil])
        #expect(desk.modify(saves: [.of("a", tag: tag)]).result.saveCodes == [.unknownItem])
        #expect(desk.record("a") == nil)
        #expect(desk.modify(policy: .changedKeys, saves: [.of("a", tag: tag)]).result.saveCodes == [nil])
        #expect(desk.modify(deletions: ["a"]).result.deletionCodes == [nil])
        let result = desk.modify(policy: .allKeys, saves: [.of("a", ["n": .int64(1)], tag: tag)]).result
        #expect(result.saveCodes == [nil])
        #expect(result.saves[0].fieldsOmitted)
    }

    @Test("policies that compare no tags win over a newer version, key by key, and answer with the whole record")
    func overwriting() throws {
        let first = try desk.save("a", ["x": .int64(1), "y": .int64(1)])
        let second = try desk.save("a", ["y": .int64(2)], tag: first)
        for (policy, tag) in [(SavePolicy.changedKeys, first), (.allKeys, "")] {
            let value = Int64(policy.rawValue) + 10
            let result = desk.modify(policy: policy, saves: [.of("a", ["x": .int64(value)], tag: tag)]).result
            #expect(result.saveCodes == [nil])
            #expect(!result.saves[0].fieldsOmitted)
            #expect(result.saves[0].record?.fields == ["x": .int64(value), "y": .int64(2)])
            #expect(result.saves[0].record?.system.changeTag != second)
        }
        let current = try #require(desk.record("a")).system.changeTag
        #expect(
            desk.modify(policy: .allKeys, saves: [.of("a", ["x": .int64(0)], tag: current)]).result.saves[0]
                .fieldsOmitted)
    }

    @Test("who sends all keys that there are gets none of them back")
    func allKeysAreKnown() throws {
        let first = try desk.save("a", ["x": .int64(1), "y": .int64(1)])
        try desk.save("a", ["y": .int64(2)], tag: first)
        for (policy, isOmitted) in [(SavePolicy.allKeys, true), (.changedKeys, false)] {
            for round in 3...4 as ClosedRange<Int64> {
                let fields: DecodedFields = ["x": .int64(round), "y": .int64(round), "z": nil]
                for isChange in [true, false] {
                    let (result, commit) = desk.modify(policy: policy, saves: [.of("a", fields, tag: first)])
                    #expect(result.saves[0].fieldsOmitted == isOmitted)
                    #expect((result.saves[0].record?.fields.isEmpty == true) == isOmitted)
                    #expect((commit != nil) == isChange)
                }
                #expect(desk.record("a")?.fields == ["x": .int64(round), "y": .int64(round)])
            }
        }
    }

    @Test("a save that changes nothing succeeds with the same tag and without a commit")
    func noChange() throws {
        let tag = try desk.save("a", ["x": .int64(1)])
        let before = desk.database.sequence
        let (result, commit) = desk.modify(saves: [.of("a", ["x": .int64(1), "y": nil], tag: tag)])
        #expect(result.saves[0].record?.system.changeTag == tag)
        #expect(result.saves[0].fieldsOmitted)
        #expect(commit == nil)
        let stale = desk.modify(policy: .changedKeys, saves: [.of("a", ["x": .int64(1)])])
        #expect(stale.commit == nil)
        #expect(stale.result.saves[0].record?.fields == ["x": .int64(1)])
        #expect(desk.database.sequence == before)
    }

    @Test("a record's type can't change")
    func typeChange() throws {
        let tag = try desk.save("a", type: "Note")
        #expect(desk.modify(saves: [.of("a", type: "Card", tag: tag)]).result.saveCodes == [.invalidArguments])
        #expect(
            desk.modify(policy: .allKeys, saves: [.of("a", type: "Card")]).result.saveCodes == [.invalidArguments])
        #expect(desk.modify(saves: [.of("a", type: "Card")]).result.saveCodes == [.serverRecordChanged])
    }

    @Test("a record that merging makes larger than the limit is refused")
    func tooLarge() throws {
        let half = FieldValue.bytes([UInt8](repeating: 1, count: Limits.recordBytes / 2))
        let tag = try desk.save("a", ["x": half])
        #expect(desk.modify(saves: [.of("a", ["y": half], tag: tag)]).result.saveCodes == [.limitExceeded])
        #expect(desk.record("a")?.fields.count == 1)
        var many: [String: FieldValue] = [:]
        for index in 0..<Limits.fieldsPerRecord { many["f\(index)"] = .int64(0) }
        let full = try desk.save("b", many)
        #expect(desk.modify(saves: [.of("b", ["one": .int64(1)], tag: full)]).result.saveCodes == [.limitExceeded])
    }

    @Test("a save whose fields are wrong fails with what is wrong; bad names are refused")
    func problems() {
        var bad = RecordSave<CheckedFields>.of("a")
        bad.fields.problem = ServiceError(.invalidArguments, "a field is wrong")
        #expect(desk.modify(saves: [bad]).result.saves[0].error?.message == "a field is wrong")
        for name in ["", "_a", "é", String(repeating: "a", count: 256)] {
            #expect(desk.modify(saves: [.of(name)]).result.saveCodes == [.invalidArguments])
        }
        #expect(desk.modify(saves: [.of("a", type: "1")]).result.saveCodes == [.invalidArguments])
    }

    @Test("one name twice in a request is refused for both, in an atomic batch for all")
    func repeatedNames() {
        let result = desk.modify(isAtomic: false, saves: [.of("a"), .of("a"), .of("b"), .of("c")], deletions: ["b"])
            .result
        #expect(result.saveCodes == [.invalidArguments, .invalidArguments, .invalidArguments, nil])
        #expect(result.deletionCodes == [.invalidArguments])
        #expect(desk.record("c") != nil && desk.record("a") == nil && desk.record("b") == nil)
        let twice = desk.modify(isAtomic: true, saves: [.of("d"), .of("e"), .of("e")]).result
        #expect(twice.saveCodes == [.batchRequestFailed, .invalidArguments, .invalidArguments])
    }

    @Test("user records are made by the server, changed by their user, deleted by nobody")
    func userRecords() throws {
        #expect(desk.database.ensureUserRecord(named: Desk.owner, nowMilliseconds: 5)?.entry.changes.count == 1)
        #expect(desk.database.ensureUserRecord(named: Desk.owner, nowMilliseconds: 6) == nil)
        let user = try #require(desk.record(Desk.owner, in: .defaultZone))
        #expect(user.system.type == "Users" && user.system.createdMilliseconds == 5)
        #expect(desk.modify(.defaultZone, deletions: [Desk.owner]).result.deletionCodes == [.permissionFailure])
        #expect(desk.modify(saves: [.of("someone", type: "Users")]).result.saveCodes == [.permissionFailure])
        try desk.save(
            Desk.owner, ["nick": .string("o")], type: "Users", tag: user.system.changeTag, in: .defaultZone)
        #expect(desk.record(Desk.owner, in: .defaultZone)?.fields == ["nick": .string("o")])
    }
}
