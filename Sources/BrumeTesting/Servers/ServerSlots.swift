internal import BrumeLock

/// Room for the servers that run in this process at a time. Tests in parallel may be many more than that: a start waits
/// for its turn, and fails with a sentence when it does not come.
enum ServerSlots {
    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var taken = 0
        var lastID = 0
        var waiters: [Waiter] = []
        var withdrawn: Set<Int> = []
    }

    private static let state = Lock(State())

    static func enter() async throws {
        let (isFree, id) = state.withLock { state in
            if state.taken < TestLimits.serversMax {
                state.taken += 1
                return (true, 0)
            }
            state.lastID += 1
            return (false, state.lastID)
        }
        if isFree { return }
        let timeout = Task {
            try await Task.sleep(for: TestLimits.slotTimeout)
            withdraw(id)
        }
        defer { timeout.cancel() }
        let hasSlot = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Bool? = state.withLock { state in
                    if state.withdrawn.remove(id) != nil { return false }
                    if state.taken < TestLimits.serversMax {
                        state.taken += 1
                        return true
                    }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            withdraw(id)
        }
        state.withLock { _ = $0.withdrawn.remove(id) }
        if hasSlot { return }
        try Task.checkCancellation()
        throw TestServerError(
            "\(TestLimits.serversMax) test servers run in this process, which is the limit, and none stopped within "
                + "\(TestLimits.slotTimeout): stop those whose tests are over, with TestServer.run or stop()")
    }

    private static func withdraw(_ id: Int) {
        let waiter: Waiter? = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                state.withdrawn.insert(id)
                return nil
            }
            return state.waiters.remove(at: index)
        }
        waiter?.continuation.resume(returning: false)
    }

    /// A server has stopped: the one that waits longest has its place.
    static func leave() {
        let next: Waiter? = state.withLock { state in
            if state.waiters.isEmpty {
                state.taken -= 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.continuation.resume(returning: true)
    }
}
