internal import BrumeLock

/// The turns of transfers of assets: a few run at a time, and the others wait in the order in which they came.
///
/// Each transfer has a file open, takes a stream of the connection, and holds pieces of its content in memory; an app
/// may save and fetch any number of records at once.
final class TransferTurns: Sendable {
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var freeCount: Int
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
    }

    private let state: Lock<State>

    /// - Parameter limit: How many run at a time.
    init(limit: Int) { state = Lock(State(freeCount: limit)) }

    /// Waits for a turn, and does the work in it.
    ///
    /// - Throws: `operationCancelled` when the task is cancelled while it waits.
    func run<Result>(_ body: () async throws(CKError) -> Result) async throws(CKError) -> Result {
        guard await take() else { throw .cancelled }
        defer { give() }
        return try await body()
    }

    /// False when the task was cancelled.
    private func take() async -> Bool {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // The handler below may have come before: then the task says so.
                    if Task.isCancelled { return false }
                    if state.freeCount > 0 {
                        state.freeCount -= 1
                        return true
                    }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    private func give() {
        let next = state.withLock { state -> Waiter? in
            if state.waiters.isEmpty {
                state.freeCount += 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.continuation.resume(returning: true)
    }
}
