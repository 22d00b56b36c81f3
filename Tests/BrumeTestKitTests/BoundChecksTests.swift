import BrumeModel
import BrumeServer
import BrumeStore
import BrumeTestKit
import Testing

/// The checks that a simulation asks after counts and bounds, each with what it must not let pass.
@Suite("Counts and bounds")
struct BoundChecksTests {
    private static let history = HistoryLimits(
        tombstonesPerZone: 4, tombstones: 6, deletedZones: 3, runs: 2)
    private static let id = DatabaseID(
        container: "iCloud.a", environment: .development, scope: .private, owner: "_1")

    private static func audit(_ change: (inout DatabaseAudit) -> Void) -> String? {
        var audit = DatabaseAudit(limits: history)
        audit.runs = 2
        audit.histories = [
            DatabaseAudit.History(zone: "", live: 1, tombstones: 3, feedEntries: 8),
            DatabaseAudit.History(zone: "notes", live: 50, tombstones: 50, feedEntries: 200),
        ]
        change(&audit)
        return BoundChecks.problem(with: audit, of: id, history: history)
    }

    @Test("what is within its limits passes")
    func good() {
        #expect(Self.audit { _ in } == nil)
        #expect(
            Self.audit {
                $0.kept.tombstones = 10
                $0.recounted = $0.kept
            } == nil)
        #expect(BoundChecks.problem(backlogEvents: 5, bytes: 100, limit: 5) == nil)
        #expect(
            BoundChecks.problem(backlogEvents: 1, bytes: StepwiseServer.backlogByteLimit + 1, limit: 5) == nil)
        #expect(BoundChecks.problem(withSegments: [4, 5], from: 4) == nil)
        #expect(BoundChecks.problem(with: StepwiseServer.Waiting(), isAtRest: true) == nil)
    }

    @Test("each count that is not its recount is noticed")
    func counts() {
        let changes: [(inout DatabaseAudit.Counts) -> Void] = [
            { $0.records += 1 }, { $0.storedBytes -= 1 }, { $0.approximateBytes += 1 }, { $0.operations += 1 },
            { $0.operationBytes += 1 }, { $0.tombstones += 1 },
        ]
        for change in changes {
            #expect(Self.audit { change(&$0.kept) }?.hasPrefix("I9:") == true)
            #expect(Self.audit { change(&$0.recounted) }?.hasPrefix("I9:") == true)
        }
    }

    @Test("each limit of a database's past is noticed where it is passed")
    func limits() {
        let changes: [(inout DatabaseAudit) -> Void] = [
            { $0.runs = 3 },
            { $0.histories[0].tombstones = 4 },
            {
                // Six, and two for each of the two feeds.
                $0.kept.tombstones = 11
                $0.recounted = $0.kept
            },
            { $0.histories[1].tombstones = 51 },
            { $0.histories[1].feedEntries = 201 },
            {
                $0.kept.operations = Limits.rememberedOperations + 1
                $0.recounted = $0.kept
            },
            {
                ($0.kept.operations, $0.kept.operationBytes) = (2, Limits.rememberedOperationBytes + 1)
                $0.recounted = $0.kept
            },
            {
                $0.kept.participantOperations = Limits.rememberedParticipantOperations + 1
                $0.recounted = $0.kept
            },
        ]
        for (index, change) in changes.enumerated() {
            #expect(Self.audit(change)?.hasPrefix("I10:") == true, "change \(index)")
        }
    }

    @Test("what waits, and what stays on the disk, is noticed where it is too much")
    func queues() {
        #expect(BoundChecks.problem(backlogEvents: 6, bytes: 100, limit: 5) != nil)
        #expect(BoundChecks.problem(backlogEvents: 2, bytes: StepwiseServer.backlogByteLimit + 1, limit: 5) != nil)
        #expect(BoundChecks.problem(withSegments: [3, 4, 5], from: 4) != nil)
        var waiting = StepwiseServer.Waiting()
        waiting.sessionBytes = 1
        #expect(BoundChecks.problem(with: waiting, isAtRest: true) != nil)
        #expect(BoundChecks.problem(with: waiting, isAtRest: false) == nil)
        waiting.answerBytes = StepwiseServer.heldAnswerByteLimit + 1
        #expect(BoundChecks.problem(with: waiting, isAtRest: false) != nil)
    }
}
