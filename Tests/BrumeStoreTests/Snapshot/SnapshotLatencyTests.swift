import BrumeRandom
import BrumeModel
import BrumeTestKit
import Foundation
import Synchronization
import Testing

@testable import BrumeStore

@Suite("Commits while a snapshot is written")
struct SnapshotLatencyTests {
    @Test("a commit behind a capture copies the chunks that it touches and no others")
    func sharing() throws {
        let desk = SnapshotLatencyTests.desk(records: 10_000)
        let capture = desk.database.capture()
        try desk.save("r77", ["n": .int64(1)], policy: .allKeys)
        try desk.save("r9000", ["n": .int64(1)], policy: .allKeys)
        try desk.save("new", ["n": .int64(1)])
        let before = try #require(capture.zones.last).slots.chunks
        let after = try #require(desk.database.zoneStates.last).slots.chunks
        let changed = before.indices.filter { index in
            before[index].withUnsafeBufferPointer { $0.baseAddress }
                != after[index].withUnsafeBufferPointer { $0.baseAddress }
        }
        #expect(before.count == (10_000 + RecordSlots.chunkSlots - 1) / RecordSlots.chunkSlots)
        #expect(changed.count == 3)
        // What was captured stays as it was.
        let n = try capture.zones.last.map {
            try Record(stored: #require($0.slots.chunks[1].dropFirst(13).first).bytes)
        }
        #expect(n?.system.name == "r77" && n?.fields["n"] == nil)
    }

    /// `BRUME_LATENCY_RECORDS` makes it larger: with 200,000, in a release build, it gives the figures.
    @Test("no commit waits for a snapshot that is being written")
    func latency() throws {
        let records = ProcessInfo.processInfo.environment["BRUME_LATENCY_RECORDS"].flatMap { Int($0) } ?? 10_000
        let database = SnapshotLatencyTests.desk(records: records).database
        let undisturbed = SnapshotLatencyTests.commitTimes(of: database, records: records, while: { $0 < 4_000 })
        let isDone = Atomic<Bool>(false)
        var captureTime = Duration.zero
        var duringSnapshots: [CommitTime] = []
        // Several, so that there are enough commits to speak of.
        for _ in 0..<3 {
            isDone.store(false, ordering: .relaxed)
            let beforeCapture = ContinuousClock.now
            let capture = database.capture()
            captureTime = max(captureTime, beforeCapture.duration(to: .now))
            let thread = Thread {
                do {
                    let disk = SimulatedDisk()
                    try disk.makeDirectory("snapshots")
                    _ = try SnapshotWriter.write(capture, to: disk)
                } catch {
                    Issue.record("\(error)")
                }
                isDone.store(true, ordering: .releasing)
            }
            thread.start()
            duringSnapshots += SnapshotLatencyTests.commitTimes(
                of: database, records: records, while: { _ in !isDone.load(ordering: .acquiring) })
        }
        print("commits of one record, database of \(records) records; capture took \(captureTime)")
        print("  without a snapshot: \(SnapshotLatencyTests.distribution(undisturbed))")
        print("  while one is written: \(SnapshotLatencyTests.distribution(duringSnapshots))")
        #expect(captureTime < .milliseconds(100))
        let disk = SimulatedDisk()
        try disk.makeDirectory("snapshots")
        let beforeWrite = ContinuousClock.now
        let bytes = try SnapshotWriter.write(database.capture(), to: disk)
        let beforeLoad = ContinuousClock.now
        let loaded = try #require(try SnapshotReader.load(database.id, epoch: 7, from: disk))
        print("  the snapshot has \(bytes) bytes, written in \(beforeWrite.duration(to: beforeLoad)),", terminator: " ")
        print("loaded in \(beforeLoad.duration(to: .now)); in memory about \(loaded.approximateBytes) bytes")
        #expect(loaded.recordCount == records && loaded.approximateBytes > records * 192)
        // The thread's own time: on a machine that builds beside this the clock says little.
        let work = duringSnapshots.map(\.work).sorted()
        #expect(work[work.count * 99 / 100] < .milliseconds(2))
    }

    /// Of one commit: what the clock says, and what the thread did. They differ where others have the cores.
    private struct CommitTime {
        let elapsed: Duration
        let work: Duration
    }

    private static func desk(records: Int) -> Desk {
        let desk = Desk()
        for start in stride(from: 0, to: records, by: 400) {
            let saves = (start..<min(start + 400, records)).map {
                RecordSave<CheckedFields>.of(
                    "r\($0)", ["text": .string("a text of some forty characters, number \($0)")])
            }
            _ = desk.modify(saves: saves)
        }
        return desk
    }

    /// The time of each commit of one record, from all over the zone.
    private static func commitTimes(
        of database: Database, records: Int, while goesOn: (Int) -> Bool
    ) -> [CommitTime] {
        let desk = Desk(database, caller: Caller(user: Desk.owner, isOwner: true))
        var times: [CommitTime] = []
        var generator = SeededGenerator(seed: 5)
        repeat {
            let name = "r\(Int.random(in: 0..<records, using: &generator))"
            let save = RecordSave<CheckedFields>.of(name, ["n": .int64(Int64(times.count))])
            let start = ContinuousClock.now
            let workStart = threadTime()
            _ = desk.modify(policy: .allKeys, saves: [save])
            let work = threadTime() - workStart
            times.append(CommitTime(elapsed: start.duration(to: .now), work: work))
        } while goesOn(times.count)
        return times
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func distribution(_ times: [CommitTime]) -> String {
        "\(times.count) commits: elapsed \(distribution(times.map(\.elapsed))); work \(distribution(times.map(\.work)))"
    }

    private static func distribution(_ times: [Duration]) -> String {
        let sorted = times.sorted()
        func at(_ part: Double) -> String {
            let duration = sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
            return String(format: "%.3f ms", Double(duration.components.attoseconds) / 1e15)
        }
        return "p50 \(at(0.5)), p99 \(at(0.99)), p999 \(at(0.999)), max \(at(1))"
    }
}
