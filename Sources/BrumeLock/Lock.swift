@_exported public import Synchronization

#if BRUME_PTHREAD_LOCKS
    internal import Glibc

    /// A lock and the value behind it, as the thread sanitizer sees them: `Synchronization.Mutex` in everything that it
    /// is used for, made of a pthread mutex. For `make race` alone; the other branch says what everybody else gets.
    ///
    /// `@unchecked Sendable`: the value is touched under the mutex, whose place never changes.
    package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        package init(_ value: consuming sending Value) {
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            let result = pthread_mutex_init(mutex, nil)
            precondition(result == 0, "no lock can be made: error \(result)")
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
            value.deinitialize(count: 1)
            value.deallocate()
        }

        package borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value.pointee)
        }
    }
#else
    /// A lock and the value behind it: the standard library's, by a name of ours.
    ///
    /// The standard library's waits in the kernel by a way that the thread sanitizer does not see, so that all it could
    /// say of a value behind one would be false. `make race` builds everything with a pthread mutex in its place.
    package typealias Lock<Value: ~Copyable> = Mutex<Value>
#endif
