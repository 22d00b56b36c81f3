internal import BrumeKit

/// A clock for the schedules of `CKSyncEngine` that stands still until the test turns it: no test waits for a retry or for the
/// engine to get round to sending.
///
/// ```swift
/// let clock = TestClock()
/// let phone = try server.device(of: "ada", clock: clock)
/// // An engine on phone's container has something to send:
/// await clock.waitUntilScheduled()
/// clock.advance(by: .seconds(30))
/// ```
///
/// Several devices may share one. Connections, and the server, keep the machine's time.
public final class TestClock: Sendable {
    let clock = ManualClientClock()

    /// A clock that stands at zero.
    public init() {}

    /// How far it was turned.
    public var now: Duration { .milliseconds(Int64(clamping: clock.nowMilliseconds)) }

    /// How many schedules wait for their time.
    public var scheduleCount: Int { clock.waitCount }

    /// How far the clock has to be turned for the first schedule that waits; nil when none does.
    public var untilNextSchedule: Duration? {
        clock.nextMilliseconds.map { .milliseconds(Int64(clamping: $0 - min($0, clock.nowMilliseconds))) }
    }

    /// Turns the clock forward, and lets go on what waited for a time until then.
    ///
    /// - Parameter duration: In whole milliseconds, rounded down; a negative one traps.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock is turned forward; \(duration) would turn it back")
        let (seconds, attoseconds) = duration.components
        let (milliseconds, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
        precondition(!overflow && milliseconds < 1 << 62, "the clock is turned by more than it can show")
        clock.advance(byMilliseconds: milliseconds + UInt64(attoseconds) / 1_000_000_000_000_000)
    }

    /// Returns once so many schedules wait for their time: then the clock can be turned without missing one.
    public func waitUntilScheduled(count: Int = 1) async {
        await clock.waiting(count: count)
    }

    /// Waits for a schedule, and turns the clock to its time.
    public func advanceToNextSchedule() async {
        await clock.waiting(count: 1)
        if let next = untilNextSchedule { advance(by: next) }
    }
}
