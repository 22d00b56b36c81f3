internal import Glibc

/// The time that a thread works, which other work on the machine makes no longer.
package enum ProcessorTime {
    /// The processor time that the calling thread spends in `body`, which may hand nothing to other threads.
    package static func of<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Duration {
        let began = now
        try body()
        return now - began
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
