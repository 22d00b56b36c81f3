internal import Glibc

/// Tasks that other threads hand to a loop, taken in batches.
///
/// The loop says when it goes to sleep; only the first task after that costs a wake-up.
///
/// `@unchecked Sendable`: all state is behind the lock. It is a pthread mutex, because many threads may contend for it:
/// the standard library's `Mutex` then hands over within the kernel, which costs more and is invisible to the thread
/// sanitizer.
final class Mailbox: @unchecked Sendable {
    typealias Task = @Sendable () -> Void

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var tasks: [Task] = []
    private var isSleeping = false
    private var isClosed = false

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "no lock: \(SystemError.text(of: result))")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Adds a task. Any thread.
    /// - Returns: Whether the loop sleeps and must be woken.
    func append(_ task: @escaping Task) -> Bool {
        locked {
            guard !isClosed else { return false }
            tasks.append(task)
            defer { isSleeping = false }
            return isSleeping
        }
    }

    /// Returns whether the loop may sleep, and if so records that it does. The loop's thread.
    func mayStartSleeping(_ wanted: Bool) -> Bool {
        locked {
            isSleeping = wanted && tasks.isEmpty
            return isSleeping
        }
    }

    /// Swaps the waiting tasks with `taken`, which is empty and keeps its capacity, and records that the loop is awake.
    /// The loop's thread.
    func takeAll(into taken: inout [Task]) {
        locked {
            isSleeping = false
            swap(&tasks, &taken)
        }
    }

    /// Whether tasks wait. The loop's thread.
    var hasTasks: Bool { locked { !tasks.isEmpty } }

    /// Drops the tasks that wait and all that come.
    func close() {
        var dropped: [Task] = []
        locked {
            isClosed = true
            swap(&tasks, &dropped)
        }
        // Released outside of the lock: releasing a task may release an object that adds another task.
        withExtendedLifetime(dropped) {}
    }
}
