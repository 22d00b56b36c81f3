import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeServer
@testable import BrumeService

/// The journal's thread on a disk without room, and on one that fails.
@Suite("A full disk", .timeLimit(.minutes(1)))
struct DiskFullTests {
    /// A journal on a simulated disk, and the thread that writes it.
    private final class Journal {
        static let database = DatabaseID(
            container: "iCloud.full", environment: .production, scope: .private, owner: "_u")

        let disk = SimulatedDisk()
        /// What the journal's thread said, in order.
        let events = Lines()
        let commit: GroupCommit
        private var position: UInt64 = 0

        /// - Parameter preparesSegments: False for tests that count the disk's calls: what is made ahead is made at any
        ///   time.
        init(segmentBytes: Int = 8192, preparesSegments: Bool = false) throws {
            let recovery = try Recovery(
                opening: disk, options: JournalWriter.Options(salt: 5, segmentBytes: segmentBytes), newEpoch: 1)
            let events = events
            commit = GroupCommit(
                writer: recovery.writer, diskFullPauseMilliseconds: 2, preparesSegments: preparesSegments,
                becameDurable: { _, position in events.add("durable \(position)") },
                segmentBegan: { _ in },
                diskFullChanged: { events.add($0 == nil ? "room" : "full") },
                failStop: { reason in events.add("stop: \(reason)") })
            commit.start()
        }

        /// Hands in the next commit, of so many bytes.
        func submit(byteCount: Int = 100) {
            position += 1
            let entry = JournalEntry(
                database: Self.database, sequence: position, committedMilliseconds: 1, changes: [],
                operationID: [UInt8](repeating: 1, count: 16), operationOutcome: [UInt8](repeating: 7, count: byteCount)
            )
            var entries = JournalEntries()
            entries.append(entry)
            commit.submit(JournalQueue.Submission(shard: 0, entries: entries, lastPosition: position))
        }

        /// The entries that a start would find now.
        func recovered() throws -> Int {
            try Recovery(
                opening: disk.copy(), options: JournalWriter.Options(salt: 6, segmentBytes: 8192), newEpoch: 1
            ).report.entries
        }

        /// From now on the disk has room for so many bytes more.
        func limit(toMore more: Int) {
            let used = disk.paths.reduce(0) { $0 + (disk.contents(of: $1)?.count ?? 0) }
            disk.faults.capacityBytes = used + more
        }
    }

    @Test("a batch waits for room and is durable then, once and in order; nothing is before")
    func waitsForRoom() async throws {
        let journal = try Journal()
        journal.submit()
        try await journal.events.wait(forLine: "durable 1")
        journal.limit(toMore: 1_000)
        journal.submit(byteCount: 8_000)
        try await journal.events.wait(forLine: "full")
        #expect(journal.commit.isDiskFull)
        journal.submit()
        journal.submit()
        let calls = journal.disk.calls
        try await waitUntil("the batch is tried again") { journal.disk.calls >= calls + 20 }
        #expect(journal.events.all == ["durable 1", "full"])
        #expect(try journal.recovered() == 1)
        journal.disk.faults.capacityBytes = nil
        try await journal.events.wait(forLine: "durable 4")
        #expect(journal.events.all.prefix(4) == ["durable 1", "full", "room", "durable 2"])
        #expect(!journal.commit.isDiskFull)
        #expect(try journal.recovered() == 4)
        journal.commit.stop()
    }

    @Test("a segment that finds no room is an error of its own, and the journal goes on")
    func rotation() async throws {
        let journal = try Journal()
        journal.submit()
        try await journal.events.wait(forLine: "durable 1")
        journal.limit(toMore: 1_000)
        let events = journal.events
        journal.commit.rotate { result in
            if case .failure(let error) = result { events.add("no rotation, full: \(error.isFull)") }
        }
        try await events.wait(forLine: "no rotation, full: true")
        #expect(!journal.disk.paths.contains { $0.hasSuffix(".tmp") }, "the unfinished segment takes room")
        journal.submit()
        try await events.wait(forLine: "durable 2")
        journal.disk.faults.capacityBytes = nil
        journal.commit.rotate { result in if case .success(let segment) = result { events.add("segment \(segment)") } }
        try await events.wait(forLine: "segment 2")
        #expect(!events.all.contains("full"))
        journal.commit.stop()
    }

    @Test("a segment that was made ahead begins on a full disk too")
    func ahead() async throws {
        let journal = try Journal(preparesSegments: true)
        let events = journal.events
        journal.submit()
        try await events.wait(forLine: "durable 1")
        // More than three quarters of a segment: the next one is asked for.
        journal.submit(byteCount: 6_500)
        try await waitUntil("the next segment is prepared") { journal.commit.preparer.isPrepared }
        journal.limit(toMore: 10)
        journal.commit.rotate { events.add("\($0)") }
        try await events.wait(forLine: "success(2)")
        journal.submit()
        try await events.wait(forLine: "durable 3")
        journal.commit.stop()
        #expect(try journal.recovered() == 3)
    }

    @Test("a server that has to stop waits for room no longer, and says why")
    func givesUp() async throws {
        let journal = try Journal()
        journal.limit(toMore: 10)
        journal.submit(byteCount: 9_000)
        try await journal.events.wait(forLine: "full")
        journal.commit.giveUpOnFullDisk()
        try await waitUntil("there is another event") { journal.events.all.count >= 2 }
        #expect(journal.events.all[1].hasPrefix("stop: the journal can't be written"))
        #expect(journal.events.all[1].contains("make room on the disk"))
        #expect(try journal.recovered() == 0)
        journal.commit.stop()
    }

    @Test("a disk that fails for another reason is not tried again")
    func failing() async throws {
        let journal = try Journal()
        // The write and the sync of a batch are one call each.
        for offset in 0...1 {
            let failing = try Journal()
            failing.disk.faults.failingCall = failing.disk.calls + offset
            failing.submit()
            try await waitUntil("there is an event") { !failing.events.all.isEmpty }
            #expect(failing.events.all.count == 1)
            #expect(failing.events.all[0].hasPrefix("stop: "))
            let calls = failing.disk.calls
            failing.commit.stop()
            #expect(failing.disk.calls == calls)
        }
        journal.commit.stop()
    }
}
