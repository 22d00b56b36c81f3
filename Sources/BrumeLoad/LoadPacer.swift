internal import BrumeSystem
internal import Glibc
internal import Synchronization

/// Keeps an open loop's rate: starts each operation when it is due, however long earlier ones take.
///
/// A thread of its own sleeps with nanosecond precision, since a loop's timers have a resolution of milliseconds.
final class LoadPacer: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let rate: Double
    /// Called on the pacer's thread, for each operation.
    private let issue: @Sendable (_ number: Int, _ intended: UInt64) -> Void

    init(rate: Double, issue: @escaping @Sendable (_ number: Int, _ intended: UInt64) -> Void) {
        self.rate = rate
        self.issue = issue
    }

    /// Begins; the first operation is due at once.
    func start() {
        SystemThread(needed: "the rate of operations") { self.run() }.detach()
    }

    /// Stops issuing operations, except those of the turn in progress.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func run() {
        let began = MonotonicClock.nowNanoseconds
        var number = 0
        while !isStopped.load(ordering: .relaxed) {
            let now = MonotonicClock.nowNanoseconds
            // Issues what is due. A pacer that was held up catches up, and the time of these operations counts from
            // when they were due.
            while dueTime(number, began) <= now {
                issue(number, dueTime(number, began))
                number += 1
            }
            // Not for long, so that a stop is heard.
            let next = min(max(dueTime(number, began), now + LoadLimits.paceNanoseconds), now + 100_000_000)
            var time = timespec(tv_sec: Int(next / 1_000_000_000), tv_nsec: Int(next % 1_000_000_000))
            while clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil) == EINTR {}
        }
    }

    private func dueTime(_ number: Int, _ began: UInt64) -> UInt64 { began + UInt64(Double(number) / rate * 1e9) }
}
