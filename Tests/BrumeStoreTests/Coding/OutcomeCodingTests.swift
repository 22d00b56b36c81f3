import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Outcomes of operations, as they are kept")
struct OutcomeCodingTests {
    private static let failure = ServiceError(
        .serverRecordChanged, "the record has changed; merge, and save again", retryAfterMilliseconds: 7,
        serverRecord: [1, 2, 3])
    private static let detailed = ServiceError(.zoneNotFound, "the zone is gone", detail: .encryptedDataReset)
    private static let outdated = ServiceError(
        .accountTemporarilyUnavailable, "the ring has another key", detail: .keysChanged)

    private static var outcomes: [OperationOutcome] {
        [
            .records([]),
            .records([ZoneModificationResult(saves: [SaveResult(outcome: .record(RecordSamples.storedRecord))])]),
            .records([
                ZoneModificationResult(
                    saves: [
                        SaveResult(outcome: .record(SharedBytes([])), fieldsOmitted: true),
                        SaveResult(outcome: .failure(failure)), SaveResult(outcome: .failure(detailed)),
                    ], deletions: [nil, failure, nil]),
                ZoneModificationResult(saves: [SaveResult(outcome: .failure(outdated))]),
                ZoneModificationResult(deletions: [detailed, nil]), ZoneModificationResult(),
            ]),
            .zones(
                ModifyZonesResult(
                    saves: [
                        .success(Zone(id: ZoneID(name: "a\0b"), capabilities: .custom)), .failure(detailed),
                        .success(Zone(id: .defaultZone, capabilities: [])),
                    ], deletions: [nil, detailed]),
                firstFetches: [
                    ChangeToken(
                        kind: .zone, epoch: .max, incarnation: 3, position: ChangePosition(rawValue: 4),
                        firstFetchHead: ChangePosition(rawValue: 5), pageHead: ChangePosition(rawValue: .max)), nil,
                    nil,
                ]),
            .subscriptions(
                ModifySubscriptionsResult(
                    saves: [.success(MessageSamples.subscriptions[0]), .failure(detailed)], deletions: [detailed])),
        ]
    }

    @Test("come back as they were", arguments: outcomes.indices)
    func roundTrip(index: Int) throws {
        let outcome = Self.outcomes[index]
        #expect(try StoreCoder.decodeOutcome(StoreCoder.encodeOutcome(outcome)) == outcome)
    }

    @Test("of records have the layout of the protocol's answer")
    func layout() {
        for case .records(let zones) in Self.outcomes {
            #expect(StoreCoder.encodeOutcome(.records(zones)) == MessageCoder().encodeModifyRecordsResponse(zones))
        }
    }

    @Test("that are cut or changed are read or refused, and never trap")
    func damage() {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for outcome in Self.outcomes {
            let bytes = StoreCoder.encodeOutcome(outcome)
            for count in 0..<bytes.count { _ = try? StoreCoder.decodeOutcome(Array(bytes.prefix(count))) }
            guard !bytes.isEmpty else { continue }
            for _ in 0..<500 {
                var changed = bytes
                for _ in 0...Int.random(in: 0..<3, using: &generator) {
                    changed[Int.random(in: changed.indices, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                _ = try? StoreCoder.decodeOutcome(changed)
            }
        }
        let unknown = StoreCoder.encodeOutcome(.records([ZoneModificationResult(deletions: [Self.detailed])]))
        var later = unknown
        later[later.count - 1] = 99
        #expect(throws: StoreCodingError.self, "seed \(seed)") { try StoreCoder.decodeOutcome(later) }
    }
}
