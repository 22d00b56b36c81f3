internal import BrumeLock

/// A clock that stands still until someone turns it.
package final class ManualClientClock: ClientClock {
    private struct Waiter {
        let until: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Watcher {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now: UInt64
        var lastID: UInt64 = 0
        var waiters: [UInt64: Waiter] = [:]
        var watchers: [Watcher] = []
        /// Waits that were cancelled before they began.
        var cancelled: Set<UInt64> = []

        mutating func takeWatchers() -> [Watcher] {
            let met = watchers.filter { $0.count <= waiters.count }
            if !met.isEmpty { watchers.removeAll { $0.count <= waiters.count } }
            return met
        }
    }

    private let state: Lock<State>

    package init(nowMilliseconds: UInt64 = 0) {
        state = Lock(State(now: nowMilliseconds))
    }

    package var nowMilliseconds: UInt64 { state.withLock { $0.now } }

    /// Waits that are under way.
    package var waitCount: Int { state.withLock { $0.waiters.count } }

    /// When the first of the waits that are under way ends; nil when there is none.
    package var nextMilliseconds: UInt64? { state.withLock { $0.waiters.values.map(\.until).min() } }

    /// Turns the clock forward, and ends the waits that are over by then, the earliest first.
    package func advance(byMilliseconds milliseconds: UInt64) {
        let over = state.withLock { state in
            state.now += milliseconds
            let ids = state.waiters.filter { $0.value.until <= state.now }.sorted {
                ($0.value.until, $0.key) < ($1.value.until, $1.key)
            }
            return ids.map { state.waiters.removeValue(forKey: $0.key)!.continuation }
        }
        for continuation in over { continuation.resume(returning: true) }
    }

    /// Returns once so many waits are under way, so that a test turns the clock only when somebody looks at it.
    package func waiting(count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let met = state.withLock { state in
                state.watchers.append(Watcher(count: count, continuation: continuation))
                return state.takeWatchers()
            }
            for watcher in met { watcher.continuation.resume() }
        }
    }

    package func wait(untilMilliseconds milliseconds: UInt64) async throws(CancellationError) {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (outcome, met): (Bool?, [Watcher]) = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return (false, []) }
                    if state.now >= milliseconds { return (true, []) }
                    state.waiters[id] = Waiter(until: milliseconds, continuation: continuation)
                    return (nil, state.takeWatchers())
                }
                if let outcome { continuation.resume(returning: outcome) }
                for watcher in met { watcher.continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelled.remove(id) }
        if !isOver { throw CancellationError() }
    }
}
