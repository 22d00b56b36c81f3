import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Answers that wait")
struct AnswerTests {
    @Test("hold the records that they show, and not the arrays that those came in")
    func compaction() {
        let array = [UInt8](repeating: 7, count: 1_000_000)
        let saved = SharedBytes(of: array, at: 10..<40)
        let failure = ServiceError(.referenceViolation, "the parent is missing")
        let answer = Outcome.success(
            .recordsModified([
                ZoneModificationResult(
                    saves: [
                        SaveResult(outcome: .record(saved), fieldsOmitted: true),
                        SaveResult(outcome: .failure(failure)),
                    ], deletions: [nil]), ZoneModificationResult(deletions: [failure]),
            ]))
        guard case .success(.recordsModified(let zones)) = answer.compact,
            case .record(let record) = zones[0].saves[0].outcome
        else {
            Issue.record("the answer is another one")
            return
        }
        #expect(record == saved && zones[0].saves[0].fieldsOmitted)
        #expect(record.storage.count == saved.count, "it would keep \(record.storage.count) bytes for \(saved.count)")
        #expect(zones[0].saves[1].outcome == .failure(failure) && zones[1].deletions == [failure])
        #expect(answer.heldByteCount > saved.count)
    }
}
