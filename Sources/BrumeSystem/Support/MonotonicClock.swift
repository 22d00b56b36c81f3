internal import Glibc

/// The clock for spans and deadlines: it goes on evenly, whatever the machine's clock is set to.
package enum MonotonicClock {
    /// Since some moment that stays the same until the machine starts anew.
    package static var nowNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
