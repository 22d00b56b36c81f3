internal import Glibc

/// Waits without sleep where that pays; see ``SpinPolicy``. Used by one thread.
package struct Spinner: Sendable {
    private var policy: SpinPolicy
    private var beganNanoseconds: UInt64 = 0
    private var hasLooked = false
    /// The number of waits in which the thread polled.
    private(set) var lookCount = 0

    /// The time between two polls above which another thread must have had the core.
    private static let interruptionNanoseconds: UInt64 = 50_000

    /// - Parameter limitNanoseconds: How long it polls at most; 0 turns polling off.
    package init(limitNanoseconds: UInt64 = 0) {
        policy = SpinPolicy(limitNanoseconds: limitNanoseconds)
    }

    /// A wait begins: polls for work, if that pays. ``ended(nowNanoseconds:)`` follows when the wait is over.
    ///
    /// - Parameters:
    ///   - deadline: The time at which there is something to do in any case.
    ///   - polls: Whether to poll at all, where that pays.
    ///   - isThere: Returns whether there is work.
    /// - Returns: Whether work was found. Otherwise the thread should sleep.
    package mutating func look(
        until deadline: UInt64 = .max, polls: Bool = true, _ isThere: () -> Bool
    ) -> Bool {
        if policy.isOff { return false }
        beganNanoseconds = MonotonicClock.nowNanoseconds
        hasLooked = polls && policy.isWorthLooking(nowNanoseconds: beganNanoseconds)
        guard hasLooked else { return false }
        lookCount += 1
        let end = min(beganNanoseconds &+ policy.limitNanoseconds, deadline)
        var last = beganNanoseconds
        while last < end {
            if isThere() { return true }
            // A thread that waits for this core gets it now, and not only when this thread's time slice is over.
            sched_yield()
            let now = MonotonicClock.nowNanoseconds
            if now - last > Self.interruptionNanoseconds {
                policy.wasInterrupted(forNanoseconds: now - last, nowNanoseconds: now)
                break
            }
            last = now
        }
        return false
    }

    /// The wait ended at this time.
    package mutating func ended(nowNanoseconds: UInt64) {
        if policy.isOff { return }
        policy.waited(nanoseconds: nowNanoseconds &- min(beganNanoseconds, nowNanoseconds), hasLooked: hasLooked)
    }
}
