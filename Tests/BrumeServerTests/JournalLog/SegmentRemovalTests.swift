import BrumeLock
import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What the journal's thread does with segments that snapshots have made superfluous.
@Suite("Removing the journal's segments")
struct SegmentRemovalTests {
    private static let database = DatabaseID(
        container: "iCloud.removal", environment: .production, scope: .private, owner: "_u")

    private final class Told: Sendable {
        let durable = Lock<UInt64>(0)
        let removed = Lock<Int?>(nil)
    }

    @Test("a batch waits for the removal of one segment at the most")
    func oneAtATime() throws {
        let disk = SimulatedDisk()
        let told = Told()
        let recovery = try Recovery(
            opening: disk, options: JournalWriter.Options(salt: 5, segmentBytes: 4096), newEpoch: 1)
        let commit = GroupCommit(
            writer: recovery.writer, becameDurable: { _, position in told.durable.withLock { $0 = position } },
            segmentBegan: { _ in }, diskFullChanged: { _ in }, failStop: { Issue.record("the journal stopped: \($0)") })
        var position: UInt64 = 0
        func submit() {
            position += 1
            var entries = JournalEntries()
            entries.append(
                JournalEntry(
                    database: Self.database, sequence: position, committedMilliseconds: 1, changes: [],
                    operationID: [UInt8](repeating: 1, count: 16),
                    operationOutcome: [UInt8](repeating: 7, count: 3_000)))
            commit.submit(JournalQueue.Submission(shard: 0, entries: entries, lastPosition: position))
        }
        for _ in 0..<6 {
            submit()
            commit.step { _ in }
        }
        let last = commit.segment
        #expect(last >= 6)
        commit.removeSegments(before: last) { removed, kept in
            #expect(kept == 2)
            told.removed.withLock { $0 = removed }
        }
        let before = disk.paths.filter { $0.hasSuffix(".journal") }.count
        commit.step { _ in }
        #expect(disk.paths.filter { $0.hasSuffix(".journal") }.count == before - 1)
        submit()
        commit.step { _ in }
        #expect(told.durable.withLock { $0 } == position, "the batch came before the other segments went")
        #expect(told.removed.withLock { $0 } == nil)
        while commit.hasWork { commit.step { _ in } }
        #expect(told.removed.withLock { $0 } == Int(last) - 1)
        #expect(disk.paths.filter { $0.hasSuffix(".journal") }.count == 2)
        #expect(commit.segment == last + 1)
    }
}
