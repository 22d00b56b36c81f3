internal import Glibc

/// The machine's clocks.
enum Clocks {
    static func monotonicNanoseconds() -> UInt64 { read(CLOCK_MONOTONIC) }

    /// Since 1970.
    static func wallMilliseconds() -> Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
