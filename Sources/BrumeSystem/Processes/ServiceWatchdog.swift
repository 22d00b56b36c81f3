internal import Glibc

/// How often a service manager wants to hear that a service is alive, by `WATCHDOG_USEC` and `WATCHDOG_PID`
/// (sd_watchdog_enabled(3)).
package struct ServiceWatchdog: Equatable, Sendable {
    /// After so long without a word the manager ends the service.
    package let timeoutMicroseconds: UInt64

    /// - Parameters:
    ///   - microseconds: What `WATCHDOG_USEC` says.
    ///   - process: What `WATCHDOG_PID` says: the process that is to speak; nil means whoever reads it.
    package init?(microseconds: String?, process: String?) {
        guard let microseconds = microseconds.flatMap(UInt64.init), microseconds > 0 else { return nil }
        if let process { guard Int32(process) == getpid() else { return nil } }
        timeoutMicroseconds = microseconds
    }

    /// A manager that is to be told more seldom is told as often as this.
    private static let intervalMillisecondsMax: UInt64 = 30_000

    /// Between two looks: half the time at most, as the manager advises, so that one may be late.
    package var intervalMilliseconds: Int {
        Int(max(1, min(timeoutMicroseconds / 2_000, Self.intervalMillisecondsMax)))
    }
}
