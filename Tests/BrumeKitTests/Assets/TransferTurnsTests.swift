import BrumeLock
import Testing

@testable import BrumeKit

@Suite("Turns of transfers, and what is done for several items", .timeLimit(.minutes(1)))
struct TransferTurnsTests {
    @Test("so many run at a time, and every one of them gets its turn")
    func limit() async throws {
        let turns = TransferTurns(limit: 3)
        let running = Running()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try? await turns.run { () throws(CKError) in await running.pass() }
                }
            }
        }
        #expect(running.doneCount == 50 && running.most <= 3)
    }

    @Test("who is cancelled waits no longer, and takes no turn from the others")
    func cancellation() async throws {
        let turns = TransferTurns(limit: 1)
        try await turns.run { () throws(CKError) in
            let waiting = Task { try await turns.run { () throws(CKError) in Issue.record("it has no turn") } }
            waiting.cancel()
            let error = await #expect(throws: CKError.self) { try await waiting.value }
            #expect(error?.code == .operationCancelled)
        }
        let isDone = try await turns.run { () throws(CKError) in true }
        #expect(isDone)
    }

    @Test("outcomes stand at their items' places, a few under way at a time")
    func places() async {
        let running = Running()
        let (outcomes, failure) = await outcomes(of: Array(0..<40), atATime: 4) { (item) throws(CKError) in
            await running.pass()
            if item % 7 == 3 { throw CKError(.unknownItem) }
            return item * 2
        }
        #expect(failure == nil && running.most <= 4)
        for (item, outcome) in outcomes.enumerated() {
            switch outcome {
            case .success(let double)?: #expect(double == item * 2 && item % 7 != 3)
            case .failure(let error)?: #expect(error.code == .unknownItem && item % 7 == 3)
            case nil: Issue.record("item \(item) has no outcome")
            }
        }
    }

    @Test("after an error that concerns all no other begins", arguments: [1, 40])
    func end(count: Int) async {
        let begun = Lock(0)
        let (outcomes, failure) = await outcomes(of: Array(0..<count), atATime: 2) { (item) throws(CKError) -> Int in
            begun.withLock { $0 += 1 }
            throw CKError(.networkFailure)
        }
        #expect(failure?.code == .networkFailure && begun.withLock { $0 <= 2 })
        #expect(outcomes.count == count && outcomes.allSatisfy { $0 == nil })
    }
}

/// How many are under way at a time.
private final class Running: Sendable {
    private struct Counts {
        var now = 0
        var most = 0
        var done = 0
    }

    private let counts = Lock(Counts())

    var most: Int { counts.withLock { $0.most } }
    var doneCount: Int { counts.withLock { $0.done } }

    func pass() async {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
        await Task.yield()
        counts.withLock { counts in
            counts.now -= 1
            counts.done += 1
        }
    }
}
