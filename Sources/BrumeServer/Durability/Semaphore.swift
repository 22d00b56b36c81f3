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
}
