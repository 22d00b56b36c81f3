internal import BrumeSystem
internal import Glibc

/// A counting semaphore: one thread waits, any thread posts.
///
/// `@unchecked Sendable`: POSIX semaphores are for many threads; the pointer never changes.
final class Semaphore: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    /// Waits for a post; a signal's interruption goes on waiting.
    func wait() {
        while sem_wait(semaphore) != 0 {}
    }

    /// The same, without sleep where that pays.
    func wait(_ spinner: inout Spinner) {
        // What was posted while the thread was busy is no wait.
        if sem_trywait(semaphore) == 0 { return }
        if !spinner.look({ sem_trywait(semaphore) == 0 }) { wait() }
        spinner.ended(nowNanoseconds: MonotonicClock.nowNanoseconds)
    }

    /// Waits for a post, or the end of the time by the machine's clock; returns whether there was a post.
    func wait(milliseconds: Int) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1_000 * 1_000_000
        deadline.tv_sec += milliseconds / 1_000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        while sem_timedwait(semaphore, &deadline) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
