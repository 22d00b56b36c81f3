internal import Synchronization

/// Tasks that other threads hand to a loop, taken in batches.
///
/// The loop says when it goes to sleep; only the first task after that costs a wake-up.
final class Mailbox: Sendable {
    typealias Task = @Sendable () -> Void

    private struct State {
        var tasks: [Task] = []
        var isSleeping = false
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Adds a task. Any thread.
    /// - Returns: Whether the loop sleeps and must be woken.
    func append(_ task: @escaping Task) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.tasks.append(task)
            defer { state.isSleeping = false }
            return state.isSleeping
        }
    }

    /// Tells whether the loop may sleep, and if so that it does. The loop's thread.
    func mayStartSleeping(_ wanted: Bool) -> Bool {
        state.withLock { state in
            state.isSleeping = wanted && state.tasks.isEmpty
            return state.isSleeping
        }
    }

    /// Swaps the tasks that wait with `tasks`, which is empty and keeps its capacity, and says that the loop is awake.
    /// The loop's thread.
    func takeAll(into tasks: inout [Task]) {
        state.withLock { state in
            state.isSleeping = false
            swap(&state.tasks, &tasks)
        }
    }

    /// Drops the tasks that wait and all that come.
    func close() {
        let dropped = state.withLock { state in
            state.isClosed = true
            let tasks = state.tasks
            state.tasks = []
            return tasks
        }
        // Released outside of the lock: a task may own something whose end hands in another task.
        withExtendedLifetime(dropped) {}
    }
}
