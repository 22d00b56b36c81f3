internal import BrumeKit
internal import Foundation

/// Saves many records of one zone: in batches below the limits, several of them in flight.
///
/// Saves overwrite (`allKeys`), and batches are not atomic: a bad item fails alone. The SDK retries what a broken
/// connection left unanswered.
struct RecordImporter: Sendable {
    /// The number of batches in flight: enough to keep the server busy while the next one is encoded.
    static let batchesInFlight = 4

    struct Item: Sendable {
        let line: Int
        let name: String
        let fields: [String: TypedValue]
        let estimatedBytes: Int
    }

    struct Failure: Sendable {
        let line: Int
        let name: String
        let message: String
        let code: ExitCode
    }

    struct Outcome: Sendable {
        var saved = 0
        var failures: [Failure] = []
    }

    let database: CKDatabase
    let zoneID: CKRecordZone.ID
    let recordType: String

    /// Saves the items that `next` returns until it returns nil. Calls `progress` with the number of items done after
    /// each batch.
    func run(
        _ next: () throws -> Item?, progress: (Int) -> Void
    ) async throws -> Outcome {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            var outcome = Outcome()
            var running = 0
            var filler = BatchFiller<Item>()
            func collect() async throws {
                guard let part = try await group.next() else { return }
                running -= 1
                outcome.saved += part.saved
                outcome.failures += part.failures
                progress(outcome.saved + outcome.failures.count)
            }
            func start(_ batch: [Item]) async throws {
                if batch.isEmpty { return }
                if running == Self.batchesInFlight { try await collect() }
                running += 1
                group.addTask { try await save(batch) }
            }
            while let item = try next() {
                if let batch = filler.add(item, bytes: item.estimatedBytes) { try await start(batch) }
            }
            try await start(filler.take())
            while running > 0 { try await collect() }
            outcome.failures.sort { $0.line < $1.line }
            return outcome
        }
    }

    private func save(_ batch: [Item]) async throws -> Outcome {
        var lines: [CKRecord.ID: Item] = [:]
        let records = batch.map { item in
            let id = CKRecord.ID(recordName: item.name, zoneID: zoneID)
            let record = CKRecord(recordType: recordType, recordID: id)
            for (key, value) in item.fields { record[key] = value.recordValue(in: zoneID) }
            lines[id] = item
            return record
        }
        let results: [CKRecord.ID: Result<CKRecord, any Error>]
        do {
            results = try await database.modifyRecords(
                saving: records, deleting: [], savePolicy: .allKeys, atomically: false
            ).saveResults
        } catch CKError.limitExceeded where batch.count > 1 {
            // The estimate was too low: two halves fit, or show the item that never does.
            let half = batch.count / 2
            let first = try await save(Array(batch[..<half]))
            let second = try await save(Array(batch[half...]))
            return Outcome(saved: first.saved + second.saved, failures: first.failures + second.failures)
        } catch CKError.limitExceeded {
            let message = "the record is larger than a request may be"
            return Outcome(
                saved: 0, failures: [Failure(line: batch[0].line, name: batch[0].name, message: message, code: .failed)]
            )
        }
        var outcome = Outcome()
        for (id, result) in results {
            switch result {
            case .success: outcome.saved += 1
            case .failure(let error):
                let described = CommandError(describing: error)
                outcome.failures.append(
                    Failure(
                        line: lines[id]?.line ?? 0, name: id.recordName, message: described.message,
                        code: described.code))
            }
        }
        return outcome
    }
}
