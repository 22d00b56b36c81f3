internal import Glibc

/// Waits without sleep where that pays; see ``SpinPolicy``. One thread's.
package struct Spinner: Sendable {
    private var policy: SpinPolicy
    private var beganNanoseconds: UInt64 = 0
    private var hasLooked = false
    /// Looks since the beginning.
    private(set) var lookCount = 0

    /// Two looks that are further apart have had somebody else between them.
    private static let interruptionNanoseconds: UInt64 = 50_000

    /// - Parameter limitNanoseconds: How long a look takes at most; 0: there is none.
    package init(limitNanoseconds: UInt64 = 0) {
        policy = SpinPolicy(limitNanoseconds: limitNanoseconds)
    }

    /// A wait begins: looks for work, if that pays. ``ended(nowNanoseconds:)`` follows when the wait is over.
    ///
    /// - Parameters:
    ///   - deadline: When there is something to do in any case.
    ///   - isThere: Whether there is work.
    /// - Returns: Whether work was found. Otherwise the thread is to sleep.
    package mutating func look(until deadline: UInt64 = .max, _ isThere: () -> Bool) -> Bool {
        if policy.isOff { return false }
        beganNanoseconds = MonotonicClock.nowNanoseconds
        hasLooked = policy.isWorthLooking(nowNanoseconds: beganNanoseconds)
        guard hasLooked else { return false }
        lookCount += 1
        let end = min(beganNanoseconds &+ policy.limitNanoseconds, deadline)
        var last = beganNanoseconds
        while last < end {
            if isThere() { return true }
            // Whoever else waits for this core gets it now, and not when this thread's time is up.
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

    /// The wait is over, since this time.
    package mutating func ended(nowNanoseconds: UInt64) {
        if policy.isOff { return }
        policy.waited(nanoseconds: nowNanoseconds &- min(beganNanoseconds, nowNanoseconds), hasLooked: hasLooked)
    }
}
