internal import CBrume
internal import Glibc

/// The clock that tells the time of day.
package enum SystemClock {
    /// Milliseconds since 1970.
    package static var nowMilliseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Whether the kernel takes it for right: something such as systemd-timesyncd or chrony keeps it in step.
    package static var isKeptInStep: Bool { brume_clock_is_kept_in_step() }
}
