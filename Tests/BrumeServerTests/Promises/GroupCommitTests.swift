import BrumeModel
import BrumeStore
import BrumeTestKit
import BrumeWire
import Synchronization
import Testing

@testable import BrumeServer

@Suite("Group commit on a failing disk", .timeLimit(.minutes(4)))
struct GroupCommitTests {
    private static let id = DatabaseID(
        container: "iCloud.test", environment: .development, scope: .public, owner: "")

    /// What the journal's thread said.
    private struct Told {
        var positions: [UInt64] = []
        var failures = 0
    }

    /// Hands in `count` commits, one after the other, and stops. Returns what was said, and how often after the failure.
    private func run(_ recovery: Recovery, commits count: Int) -> Told {
        let told = Mutex(Told())
        let answered = Semaphore()
        let commit = GroupCommit(
            writer: recovery.writer,
            becameDurable: { _, position in
                told.withLock { $0.positions.append(position) }
                answered.post()
            },
            segmentBegan: { _ in },
            failStop: { _ in
                told.withLock { $0.failures += 1 }
                answered.post()
            })
        commit.start()
        let database = Database(id: Self.id, epoch: 7)
        for number in 1...count {
            var bytes: [UInt8] = []
            if let made = database.ensureUserRecord(named: "_user\(number)", nowMilliseconds: 0) {
                StoreCoder.encodeJournalEntry(made.entry, into: &bytes)
            }
            commit.submit(
                GroupCommit.Submission(
                    shard: 0, entries: [bytes], byteCount: bytes.count, lastPosition: UInt64(number)))
            // After the failure nothing answers any more.
            if told.withLock({ $0.failures }) == 0 { answered.wait() }
        }
        commit.stop()
        return told.withLock { $0 }
    }

    @Test("what was told durable before a call failed is found after a power cut, and nothing is told afterwards")
    func failingCall() throws {
        var failingCall = 0
        var didFail = true
        while didFail {
            let disk = SimulatedDisk()
            let recovery = try Recovery(
                opening: disk, options: JournalWriter.Options(salt: 1, segmentBytes: 512), newEpoch: 7)
            disk.faults = SimulatedDisk.Faults(failingCall: disk.calls + failingCall)
            let told = run(recovery, commits: 8)
            didFail = told.failures > 0
            #expect(told.failures == (told.positions.count < 8 ? 1 : 0))
            #expect(told.positions == Array(1...8).prefix(told.positions.count).map { UInt64($0) })

            disk.faults = SimulatedDisk.Faults()
            disk.crash(seed: UInt64(failingCall))
            let again = try Recovery(
                opening: disk, options: JournalWriter.Options(salt: 2, segmentBytes: 512), newEpoch: 8)
            #expect(
                again.databases[Self.id]?.sequence ?? 0 >= told.positions.last ?? 0,
                "an acknowledged commit is lost after call \(failingCall) failed")
            failingCall += 1
        }
        #expect(failingCall > 16, "the sweep ended before it began")
    }
}
