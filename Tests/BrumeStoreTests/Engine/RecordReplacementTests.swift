import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeStore

/// A newer version of a record takes the memory of the older one, but never from somebody who still reads it.
struct RecordReplacementTests {
    private let desk = Desk()

    private func slot(_ name: String) throws -> RecordSlot {
        let zone = try zone()
        return zone[try #require(zone.liveSlot(of: name))]
    }

    private func address(_ name: String) throws -> UnsafeRawPointer? {
        try slot(name).testOnly_storage.withUnsafeBytes { $0.baseAddress }
    }

    private func save(_ texts: [String: String]) {
        let saves = texts.sorted { $0.key < $1.key }.map { name, text in
            RecordSave<CheckedFields>.of(name, ["text": .string(text)])
        }
        _ = desk.modify(policy: .allKeys, saves: saves)
    }

    @Test("a record of the same size is written over its older version", arguments: [["a"], ["a", "b", "c"]])
    func sameMemory(names: [String]) throws {
        save(Dictionary(uniqueKeysWithValues: names.map { ($0, String(repeating: "1", count: 500)) }))
        // The first save of one record leaves it the array that it came in.
        let before = try names.map { try address($0) }
        for text in ["2", "3"] {
            save(Dictionary(uniqueKeysWithValues: names.map { ($0, String(repeating: text, count: 500)) }))
            #expect(try names.map { try address($0) } == before)
            for name in names {
                #expect(desk.record(name)?.fields == ["text": .string(String(repeating: text, count: 500))])
            }
        }
    }

    @Test("an answer that was given keeps what it shows, whoever saves the record then")
    func answersStay() throws {
        save(["a": "first", "b": "first"])
        let read = FetchRecordsRequest(database: .private, zones: [.init(zone: Desk.zone, names: ["a", "b"])])
        let fetched = desk.database.fetchRecords(read)[0]
        let page = try desk.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil)
        let slots = try ["a", "b"].map { try slot($0) }
        save(["a": "other", "b": "other"])
        for records in [fetched.map { SaveResult(outcome: $0).record }, page.records.map { Record(stored: $0) }] {
            #expect(records.map { $0?.fields } == [["text": .string("first")], ["text": .string("first")]])
        }
        #expect(slots.map { Record(stored: $0.bytes).fields["text"] } == [.string("first"), .string("first")])
        #expect(desk.record("a")?.fields == ["text": .string("other")])
    }

    @Test("records that share memory since a snapshot was loaded are shown as they were, whoever saves them then")
    func packedAnswersStay() throws {
        let names = (0..<20).map { "r\($0)" }
        save(Dictionary(uniqueKeysWithValues: names.map { ($0, "first") }))
        let disk = SimulatedDisk()
        try disk.makeDirectory(SnapshotFormat.folder)
        try SnapshotWriter.write(desk.database.capture(), to: disk)
        let loaded = Desk(
            try #require(try SnapshotReader.load(Desk.privateID, epoch: 9, from: disk)), caller: desk.caller)
        let arePacked = loaded.database.zoneStates.contains { zone in
            zone.slots.count == names.count && (0..<Int32(names.count)).allSatisfy { zone.slots.isPacked($0) }
        }
        try #require(arePacked)
        let read = FetchRecordsRequest(database: .private, zones: [.init(zone: Desk.zone, names: names)])
        let fetched = loaded.database.fetchRecords(read)[0]
        let page = try loaded.database.zoneChanges(zone: Desk.zone, since: nil, resultsLimit: 0, desiredKeys: nil)
        // One by one, so that those that are left move to a new array on the way.
        for name in names {
            _ = loaded.modify(policy: .allKeys, saves: [.of(name, ["text": .string("other")])])
            #expect(loaded.record(name)?.fields == ["text": .string("other")])
        }
        for records in [fetched.map { SaveResult(outcome: $0).record }, page.records.map { Record(stored: $0) }] {
            #expect(records.map { $0?.fields } == names.map { _ in ["text": .string("first")] })
        }
    }

    @Test(
        "a save's own answer and commit keep what they say when the record is saved again",
        arguments: [["a"], ["a", "b"]])
    func commitsStay(names: [String]) throws {
        let first = desk.modify(policy: .allKeys, saves: names.map { .of($0, ["n": .int64(1)]) })
        _ = desk.modify(policy: .allKeys, saves: names.map { .of($0, ["n": .int64(2)]) })
        #expect(first.result.saves.map { $0.record?.system.changeTag } == names.map { _ in Self.tag(first) })
        let again = Desk().database
        try again.apply(#require(first.commit).entry)
        let read = FetchRecordsRequest(database: .private, zones: [.init(zone: Desk.zone, names: names)])
        let records = again.fetchRecords(read)[0].map { SaveResult(outcome: $0).record?.fields }
        #expect(records == names.map { _ in ["n": .int64(1)] })
    }

    private static func tag(_ saved: (result: ZoneModificationResult<SharedBytes>, commit: Commit?)) -> String? {
        saved.commit.map { ChangeTag(number: Database.plainTagNumber(run: 7, sequence: $0.sequence)).text }
    }

    @Test("a record that became much smaller gives the room back, and one that grew gets it")
    func otherSizes() throws {
        for count in [40_000, 100, 99, 1_000, 1_010, 20_000, 0, 30] {
            save(["a": String(repeating: "x", count: count)])
            let slot = try slot("a")
            #expect(slot.byteCount >= count && isSnug(slot))
            #expect(desk.record("a")?.fields == ["text": .string(String(repeating: "x", count: count))])
            #expect(!slot.isPacked)
        }
        let audit = desk.database.audit()
        #expect(audit.kept == audit.recounted)
    }

    /// Whether the array has little more than the record.
    private func isSnug(_ slot: RecordSlot) -> Bool {
        slot.testOnly_storage.capacity <= slot.byteCount + slot.byteCount / 8 + 32
    }

    @Test("the only record of a request that stands has no more memory than it needs")
    func alone() throws {
        let half = String(repeating: "x", count: Limits.recordBytes / 2 + 100)
        _ = desk.modify(saves: [.of("large", ["first": .string(half)])])
        _ = desk.modify(
            policy: .changedKeys, isAtomic: false,
            saves: [.of("large", ["second": .string(half)]), .of("a", ["n": .int64(1)])])
        #expect(isSnug(try slot("a")))
        let others = (0..<100).map { RecordSave<CheckedFields>.of("r\($0)", ["text": .string("the same")]) }
        _ = desk.modify(policy: .allKeys, saves: others)
        _ = desk.modify(policy: .allKeys, saves: others + [.of("b", ["n": .int64(1)])])
        #expect(isSnug(try slot("b")))
        #expect(desk.record("a")?.fields == ["n": .int64(1)] && desk.record("b")?.fields == ["n": .int64(1)])
    }

    @Test("saves beside one that is too large are stored as they are, and nothing is kept of that one")
    func tooLarge() throws {
        let half = String(repeating: "x", count: Limits.recordBytes / 2 + 100)
        _ = desk.modify(saves: [.of("b", ["first": .string(half)])])
        let saves: [RecordSave<CheckedFields>] = [
            .of("a", ["n": .int64(1)]), .of("b", ["second": .string(half)]), .of("c", ["n": .int64(3)]),
        ]
        var batch = batch(saves)
        let result = batch.evaluate(in: try zone())
        #expect(result.saves.map { $0.error?.code } == [nil, .limitExceeded, nil])
        #expect(result.saves.map { $0.record?.system.name } == ["a", nil, "c"])
        #expect(batch.records.count < 1_000)
    }

    private func zone() throws -> ZoneState {
        try #require(desk.database.zoneStates.first { $0.name == Desk.zone.name })
    }

    private func batch(_ saves: [RecordSave<CheckedFields>]) -> ZoneBatch {
        ZoneBatch(
            ZoneModification(zone: Desk.zone, saves: saves), savePolicy: .changedKeys, isAtomic: false,
            caller: Caller(user: Desk.privateID.owner, isOwner: true), scope: .private,
            tag: ChangeTag(number: 9), nowMilliseconds: 1, bytesLeft: ByteBudget(),
            referenceBudget: ReferenceBudget(), shareAddresses: .plain(),
            secretPlace: ShareAddresses.Place(run: 7, sequence: 1, zone: 1), runOfZone: 7)
    }
}
