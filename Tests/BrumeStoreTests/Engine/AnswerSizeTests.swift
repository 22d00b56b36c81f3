import BrumeModel
import BrumeProtocol
import BrumeStore
import Testing

/// Small requests about large records.
@Suite("The size of answers and commits")
struct AnswerSizeTests {
    private static let large: [String: FieldValue] = ["text": .string(String(repeating: "a", count: 950_000))]

    private static func bytes(_ result: ZoneModificationResult<SharedBytes>) -> Int {
        result.saves.reduce(0) { sum, save in
            switch save.outcome {
            case .record(let record): sum + record.count
            case .failure(let error): sum + (error.serverRecord?.count ?? 0)
            case .deferred: sum
            }
        }
    }

    private let desk = Desk()
    private let names = ["a", "b", "c", "d", "e"]

    private func makeRecords() throws -> [String] {
        try names.map { try desk.save($0, Self.large) }
    }

    @Test("losers get the server's record while the answer fits into a frame, the others are to ask again")
    func conflicts() throws {
        _ = try makeRecords()
        let (result, commit) = desk.modify(isAtomic: false, saves: names.map { .of($0, ["n": .int64(1)]) })
        #expect(
            result.saveCodes == [
                .serverRecordChanged, .serverRecordChanged, .serverRecordChanged, .limitExceeded, .limitExceeded,
            ])
        #expect(result.saves[2].error?.serverRecord != nil)
        #expect(Self.bytes(result) < Limits.frameBytes)
        #expect(commit == nil)
        // Alone it gets its answer.
        #expect(desk.modify(saves: [.of("e")]).result.saveCodes == [.serverRecordChanged])
    }

    @Test("a save whose answer would not fit into a frame is not done")
    func savesOverOthers() throws {
        _ = try makeRecords()
        let saves = names.map { RecordSave<CheckedFields>.of($0, ["n": .int64(1)]) }
        let (result, _) = desk.modify(policy: .changedKeys, isAtomic: false, saves: saves)
        #expect(result.saveCodes == [nil, nil, nil, .limitExceeded, .limitExceeded])
        #expect(Self.bytes(result) < Limits.frameBytes)
        #expect(desk.record("c")?.fields["n"] == .int64(1))
        #expect(desk.record("d")?.fields["n"] == nil)

        let (atomic, commit) = desk.modify(policy: .changedKeys, saves: saves)
        #expect(atomic.saveCodes.filter { $0 == .limitExceeded }.count == 2)
        #expect(atomic.saveCodes.filter { $0 == .batchRequestFailed }.count == 3)
        #expect(commit == nil)
    }

    @Test("the zones of a request share one answer")
    func zones() throws {
        for zone in ["one", "two"] {
            desk.makeZone(zone)
            for name in names.prefix(3) { try desk.save(name, Self.large, in: ZoneID(name: zone)) }
        }
        let saves = names.prefix(3).map { RecordSave<CheckedFields>.of($0) }
        let results = desk.database.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .ifServerRecordUnchanged, isAtomic: false, operationID: [],
                zones: ["one", "two"].map { ZoneModification(zone: ZoneID(name: $0), saves: saves, deletions: []) }),
            caller: desk.caller, nowMilliseconds: 1000
        ).answer
        #expect(results.flatMap(\.saveCodes).filter { $0 == .serverRecordChanged }.count == 3)
        #expect(results[1].saveCodes == [.limitExceeded, .limitExceeded, .limitExceeded])
    }
}
