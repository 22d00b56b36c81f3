internal import CBrume

/// The clock that tells the time of day.
package enum SystemClock {
    /// Whether the kernel takes it for right: something such as systemd-timesyncd or chrony keeps it in step.
    package static var isKeptInStep: Bool { brume_clock_is_kept_in_step() }
}
