internal import CBrume
internal import Glibc

/// A counting semaphore: one thread waits, any thread posts.
///
/// `@unchecked Sendable`: POSIX semaphores are for many threads; the pointer never changes.
package final class Semaphore: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func post() { sem_post(semaphore) }

    /// Waits for a post. A signal does not end the wait.
    package func wait() {
        while sem_wait(semaphore) != 0 {}
    }

    /// Waits for a post, without sleep where that pays.
    package func wait(_ spinner: inout Spinner) {
        // A post while the thread was busy is not a wait.
        if sem_trywait(semaphore) == 0 { return }
        if !spinner.look({ sem_trywait(semaphore) == 0 }) { wait() }
        spinner.ended(nowNanoseconds: MonotonicClock.nowNanoseconds)
    }

    /// Like ``wait(_:)``, with a time limit; returns whether there was a post.
    package func wait(_ spinner: inout Spinner, milliseconds: Int) -> Bool {
        if sem_trywait(semaphore) == 0 { return true }
        let isPosted = spinner.look({ sem_trywait(semaphore) == 0 }) || wait(milliseconds: milliseconds)
        spinner.ended(nowNanoseconds: MonotonicClock.nowNanoseconds)
        return isPosted
    }

    /// Waits for a post until the time is over, however the machine's clock is set meanwhile; returns whether there was
    /// a post.
    package func wait(milliseconds: Int) -> Bool {
        let end = MonotonicClock.nowNanoseconds + UInt64(milliseconds) * 1_000_000
        while brume_semaphore_wait_until(semaphore, Int64(end / 1_000_000_000), Int64(end % 1_000_000_000)) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
