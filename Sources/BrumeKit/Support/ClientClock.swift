/// The time that the SDK's schedules go by: when to send, how long to pause. Connections keep their transport's time.
///
/// A protocol, so that tests turn the clock themselves; see ``ManualClientClock``.
package protocol ClientClock: AnyObject, Sendable {
    /// Milliseconds since some moment of the clock's own; never goes back.
    var nowMilliseconds: UInt64 { get }

    /// Returns once ``nowMilliseconds`` is `milliseconds` or more, at once when it is already.
    ///
    /// - Throws: When the task is cancelled, at once.
    func wait(untilMilliseconds milliseconds: UInt64) async throws(CancellationError)
}

/// The machine's monotonic clock.
package final class SystemClientClock: ClientClock {
    /// The one that everybody uses who is not a test.
    package static let shared = SystemClientClock()

    private let start = ContinuousClock.now

    private init() {}

    package var nowMilliseconds: UInt64 {
        let passed = start.duration(to: .now).components
        return UInt64(max(0, passed.seconds)) * 1_000 + UInt64(max(0, passed.attoseconds) / 1_000_000_000_000_000)
    }

    package func wait(untilMilliseconds milliseconds: UInt64) async throws(CancellationError) {
        // The clock is read in whole milliseconds, so that a wait may be over before the last one is.
        while true {
            let now = nowMilliseconds
            if Task.isCancelled { throw CancellationError() }
            if now >= milliseconds { return }
            do {
                try await Task.sleep(for: .milliseconds(Int64(clamping: min(milliseconds - now, Self.longestSleep))))
            } catch {
                throw CancellationError()
            }
        }
    }

    /// A day: sums of times stay far from any overflow.
    private static let longestSleep: UInt64 = 86_400_000
}
