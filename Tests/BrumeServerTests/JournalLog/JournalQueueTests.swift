import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService
@testable import BrumeStore

@Suite("What waits for the journal's thread")
struct JournalQueueTests {
    private static let database = DatabaseID(container: "c", environment: .development, scope: .private, owner: "_0")

    private static func submission(_ position: UInt64, recordBytes: Int = 100) -> JournalQueue.Submission {
        var entries = JournalEntries()
        entries.append(
            JournalEntry(
                database: database, sequence: position, committedMilliseconds: 0,
                changes: [.recordPut(zone: 0, record: SharedBytes([UInt8](repeating: 1, count: recordBytes)))]))
        return JournalQueue.Submission(shard: 0, entries: entries, lastPosition: position)
    }

    @Test("submissions are taken in their order, up to the limit, and a rotation with the last one that came before it")
    func order() throws {
        var queue = JournalQueue()
        let nothing = queue.take(bytesLimit: 1)
        #expect(queue.isEmpty && nothing.map { $0.submissions.count } == nil)
        let first = queue.append(Self.submission(1))
        let second = queue.append(Self.submission(2))
        #expect(first && !second)
        _ = queue.append(Self.submission(3, recordBytes: 10_000))
        queue.append { _ in }
        queue.append(JournalQueue.Removal(firstKept: 7) { _, _ in })
        var taken = queue.take(bytesLimit: 1_000)
        var work = try #require(taken)
        #expect(work.submissions.map(\.lastPosition) == [1, 2] && work.rotations.isEmpty)
        #expect(work.removals.map(\.firstKept) == [7], "it has nothing to wait for")
        #expect(queue.byteCount > 10_000 && queue.hasSubmissions)
        // One that is larger than the limit goes by itself.
        taken = queue.take(bytesLimit: 1_000)
        work = try #require(taken)
        #expect(work.submissions.map(\.lastPosition) == [3] && work.rotations.count == 1 && work.removals.isEmpty)
        #expect(queue.isEmpty && queue.byteCount > 10_000, "what is being written waits for the disk as well")
        queue.becameDurable([])
        #expect(queue.byteCount == 0)
        queue.append { _ in }
        #expect(!queue.isEmpty && !queue.hasSubmissions)
        taken = queue.take(bytesLimit: 1)
        #expect(taken?.rotations.count == 1)
    }

    @Test("a rotation does not wait for submissions that came after it, however many come")
    func neverEmpty() throws {
        var queue = JournalQueue()
        for position in 1...3 { _ = queue.append(Self.submission(UInt64(position))) }
        queue.append { _ in }
        var taken: [UInt64] = []
        var rotatedBehind: UInt64?
        for position in 4...20 where rotatedBehind == nil {
            _ = queue.append(Self.submission(UInt64(position)))
            let next = queue.take(bytesLimit: 1)
            let work = try #require(next)
            taken += work.submissions.map(\.lastPosition)
            if !work.rotations.isEmpty { rotatedBehind = taken.last }
        }
        #expect(rotatedBehind == 3 && taken == [1, 2, 3])
        #expect(queue.hasSubmissions)
    }

    @Test("room of what became durable is used again, but for more than a few and what is too small or too large")
    func recycling() throws {
        var queue = JournalQueue()
        var room = queue.takeEmptied()
        #expect(room.capacity == 0)
        var emptied = Self.submission(1, recordBytes: 10_000).entries
        #expect(JournalQueue.mayKeep(emptied) && !JournalQueue.mayKeep(Self.submission(2).entries))
        let large = Self.submission(3, recordBytes: 3 * ServerLimits.expectedTurnBytes).entries
        #expect(!JournalQueue.mayKeep(large))
        emptied.removeAll()
        queue.becameDurable([emptied, emptied, emptied])
        queue.becameDurable([emptied, emptied, emptied])
        for _ in 0..<JournalQueue.emptiedMax {
            room = queue.takeEmptied()
            #expect(room.isEmpty && room.byteCount == 0 && room.capacity >= 10_000)
        }
        room = queue.takeEmptied()
        #expect(room.capacity == 0)
    }
}
