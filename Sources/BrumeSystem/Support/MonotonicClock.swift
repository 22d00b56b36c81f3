internal import Glibc

/// The clock for durations and deadlines: it advances steadily, whatever the machine's clock is set to.
package enum MonotonicClock {
    /// Nanoseconds since an arbitrary moment that stays the same until the machine restarts.
    package static var nowNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
