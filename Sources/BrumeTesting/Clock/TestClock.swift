internal import BrumeKit
public import FoundationEssentials
internal import Foundation

/// A clock that stands still until the test turns it: no test waits for a retry, or for an engine to get round to
/// sending.
///
/// ```swift
/// let clock = TestClock()
/// let phone = try server.device(of: "ada", clock: clock)
/// // An engine on phone's container has something to send:
/// await clock.waitUntilScheduled()
/// clock.advance(by: .seconds(30))
/// ```
///
/// The schedules of a `CKSyncEngine` follow the clock that its device was given, and a server dates records by the one
/// that it was given (``TestServer/Options/clock``). Several may share a clock. Connections keep the machine's time.
public final class TestClock: Sendable {
    let clock = ManualClientClock()
    /// The date that the clock shows before it is turned.
    public let startDate: Date

    /// A clock that has not been turned.
    ///
    /// - Parameter startDate: The first ``date``, rounded to milliseconds; by default the beginning of 2001, UTC.
    public init(startDate: Date = Date(timeIntervalSinceReferenceDate: 0)) {
        self.startDate = startDate
    }

    /// How far the clock was turned.
    public var now: Duration { .milliseconds(Int64(clamping: clock.nowMilliseconds)) }

    /// The date that the clock shows: ``startDate``, and as far on as it was turned.
    public var date: Date { Date(timeIntervalSince1970: Double(dateMilliseconds) / 1_000) }

    /// ``date`` in milliseconds since 1970.
    var dateMilliseconds: Int64 {
        Int64((startDate.timeIntervalSince1970 * 1_000).rounded()) + Int64(clamping: clock.nowMilliseconds)
    }

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
        clock.advance(
            byMilliseconds: duration.wholeMilliseconds("a clock is turned forward; \(duration) would turn it back"))
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

extension Duration {
    /// Milliseconds, rounded down.
    ///
    /// - Parameter sentence: Why a negative duration traps.
    func wholeMilliseconds(_ sentence: @autoclosure () -> String) -> UInt64 {
        precondition(self >= .zero, sentence())
        let (seconds, attoseconds) = components
        let (milliseconds, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
        precondition(!overflow && milliseconds < 1 << 62, "\(self) is more than a test's clock can show")
        return milliseconds + UInt64(attoseconds) / 1_000_000_000_000_000
    }
}
