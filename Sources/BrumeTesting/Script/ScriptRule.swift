internal import BrumeLock

/// One line of a server's script: what it does, and how often it did.
public final class ScriptRule: Sendable, CustomStringConvertible {
    /// What the rule does, in words.
    public let description: String
    /// How often it fires; `Int.max`: always.
    public let times: Int

    private struct Waiter {
        let id: Int
        let count: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        /// Times that were given to calls, whether it has come to them yet or not.
        var taken = 0
        var fired = 0
        /// It fires no more.
        var isClosed = false
        var isRemoved = false
        var lastWaiter = 0
        var waiters: [Waiter] = []
        var cancelledWaiters: Set<Int> = []
    }

    private let state = Lock(State())

    init(_ description: String, times: Int) {
        precondition(times > 0, "a rule fires once at least; \"\(description)\" was told \(times) times")
        self.description = description
        self.times = times
    }

    /// How often it fired.
    public var firedCount: Int { state.withLock { $0.fired } }

    /// Whether it will not fire any more: it fired as often as it was told, or was removed.
    public var isDone: Bool { state.withLock { $0.isClosed || $0.fired >= times } }

    /// Whether it fired less often than it was told; a rule for always, never; a rule that was removed is not.
    var isUnfired: Bool {
        state.withLock { state in
            !state.isRemoved && state.fired < (times == .max || state.isClosed ? 1 : times)
        }
    }

    /// It does not fire any more, and does not count as unfired.
    public func remove() {
        state.withLock { state in
            state.isClosed = true
            state.isRemoved = true
        }
    }

    /// It does not fire any more; whether it ever did still counts.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Returns once it has fired so often.
    ///
    /// - Parameter timeout: How long to wait, of real time.
    /// - Throws: ``TestServerError`` when the time is over; `CancellationError` when the task is cancelled, as a test's
    ///   time limit does.
    public func waitUntilFired(count: Int = 1, timeout: Duration = .seconds(10)) async throws {
        let situation: @Sendable () -> String = {
            let fired = self.state.withLock { $0.fired }
            return "\"\(self)\" has happened \(fired) times and not \(count): no such call came, or it came before"
        }
        try await wait(atMost: timeout, situation) { try await self.waitUntilFired(untilCancelled: count) }
    }

    private func waitUntilFired(untilCancelled count: Int) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let hasFired = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Bool? = state.withLock { state in
                    if state.cancelledWaiters.remove(id) != nil { return false }
                    if state.fired >= count { return true }
                    state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                    state.cancelledWaiters.insert(id)
                    return nil
                }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelledWaiters.remove(id) }
        if !hasFired { throw CancellationError() }
    }

    /// Takes one of its times for a call that it is about to concern; false when there is none left.
    func take() -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.taken < times else { return false }
            state.taken += 1
            return true
        }
    }

    /// It happened.
    func noteFired() {
        let met = state.withLock { state in
            state.fired += 1
            let met = state.waiters.filter { $0.count <= state.fired }
            state.waiters.removeAll { $0.count <= state.fired }
            return met
        }
        for waiter in met { waiter.continuation.resume(returning: true) }
    }

    /// Takes one of its times, which happens at once.
    func fire() -> Bool {
        guard take() else { return false }
        noteFired()
        return true
    }
}
