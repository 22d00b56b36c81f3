import BrumeModel
import BrumeProtocol
import BrumeStore
import Testing

/// A save reads the older version of its record, however little it sends: what one request reads is bounded.
@Suite("What the saves of a request read")
struct MergedBytesTests {
    private static let byteCount = 200_000
    /// So many records of ``byteCount`` have room.
    private static let room = Limits.mergedBytesPerRequest / (byteCount + 200)
    private static let text: [String: FieldValue] = ["text": .string(String(repeating: "a", count: byteCount))]

    private let desk = Desk()

    /// Makes large records that have a field `n`, which is 0, beside their text.
    private func makeRecords(_ count: Int, in zone: ZoneID = Desk.zone) throws -> [String: String] {
        let fields = Self.text.merging(["n": .int64(0)]) { first, _ in first }
        return try Dictionary(
            uniqueKeysWithValues: (0..<count).map { ("r\($0)", try desk.save("r\($0)", fields, in: zone)) })
    }

    private func saves(_ tags: [String: String], n: Int64) -> [RecordSave<CheckedFields>] {
        (0..<tags.count).map { .of("r\($0)", ["n": .int64(n)], tag: tags["r\($0)"]!) }
    }

    @Test("saves beyond the bytes that a request may read fail, and new records beside them are saved")
    func bytes() throws {
        let tags = try makeRecords(Self.room + 20)
        let fresh = RecordSave<CheckedFields>.of("new", Self.text)
        let (result, commit) = desk.modify(isAtomic: false, saves: saves(tags, n: 1) + [fresh])
        #expect(result.saveCodes.prefix(Self.room).allSatisfy { $0 == nil })
        #expect(result.saveCodes[Self.room..<tags.count].allSatisfy { $0 == .limitExceeded })
        #expect(result.saveCodes.last == .some(nil), "what a request sends always has room")
        let changes = try #require(commit).entry.changes
        #expect(changes.count == Self.room + 1)
        #expect(changes.count * Self.byteCount < Limits.commitBytes)
    }

    @Test("saves that change nothing are read, and count, too")
    func unchanged() throws {
        let tags = try makeRecords(Self.room + 20)
        let (result, commit) = desk.modify(isAtomic: false, saves: saves(tags, n: 0))
        #expect(commit == nil)
        #expect(result.saveCodes.filter { $0 == nil }.count == Self.room)
        #expect(result.saveCodes.filter { $0 == .limitExceeded }.count == 20)
    }

    @Test("an atomic batch that reads too much fails whole")
    func atomic() throws {
        let tags = try makeRecords(Self.room + 2)
        let (result, commit) = desk.modify(saves: saves(tags, n: 1))
        #expect(commit == nil)
        #expect(result.saveCodes.filter { $0 == .limitExceeded }.count == 2)
        #expect(result.saveCodes.filter { $0 == .batchRequestFailed }.count == Self.room)
        #expect(desk.modify(saves: Array(saves(tags, n: 1).prefix(Self.room))).commit != nil)
    }

    @Test("what a zone's batch has read counts for the zones after it, also where the batch failed")
    func zones() throws {
        let zones = ["one", "two"].map { ZoneID(name: $0) }
        for zone in zones { desk.makeZone(zone.name) }
        let tags = try zones.map { try makeRecords(Self.room / 2 + 5, in: $0) }
        let orphan = RecordSave<CheckedFields>.of("orphan", parent: .set("nobody"))
        let results = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .ifServerRecordUnchanged, isAtomic: true, operationID: [],
                zones: [
                    ZoneModification(zone: zones[0], saves: saves(tags[0], n: 1) + [orphan], deletions: []),
                    ZoneModification(zone: zones[1], saves: saves(tags[1], n: 1), deletions: []),
                ]),
            caller: desk.caller, nowMilliseconds: 1000
        ).answer
        #expect(results[0].saveCodes.last == .referenceViolation)
        #expect(results[1].saveCodes.contains(.limitExceeded))
    }

    @Test("fields that a request reads are counted beside their bytes")
    func fields() throws {
        let perRecord = 4_000
        var fields: [String: FieldValue] = [:]
        for number in 0..<perRecord { fields["f\(number)"] = .int64(1) }
        let checked = RecordSave<CheckedFields>.of("", fields).fields
        let room = (Limits.mergedFieldsPerRequest + perRecord - 1) / perRecord
        let names = (0..<room + 10).map { "r\($0)" }
        let tags = try names.map { name in
            let result = desk.modify(saves: [RecordSave(name: name, type: "Note", fields: checked)]).result
            return try #require(result.saves[0].record).system.changeTag
        }
        let codes = desk.modify(
            isAtomic: false, saves: zip(names, tags).map { .of($0, ["f1": .int64(1)], tag: $1) }
        ).result.saveCodes
        #expect(codes.filter { $0 == nil }.count == room)
        #expect(codes.suffix(10).allSatisfy { $0 == .limitExceeded })
    }
}
