/// Decides when a thread that waits for work polls for it a while before it sleeps. Pure: it is told how its waits
/// went.
///
/// A sleep and the wake-up from it take 30 to 70 microseconds, more than a small request does. So when work mostly
/// comes at once, as from one client that sends request after request, or while the disk syncs what was saved, polling
/// for it answers sooner, and takes little more of the processor than falling asleep does. When work comes later, or
/// another thread wants the core, polling would only take time from others: an idle server does not poll.
struct SpinPolicy: Sendable {
    /// How many of the last eight waits must have been short.
    static let shortWaitsMin = 6
    /// After a poll in which another thread had the core, the thread does not poll for this many times as long. Beside
    /// a program that never sleeps each poll may cost a whole time slice of some milliseconds: so it costs 3 % at most.
    static let pauseFactor: UInt64 = 32
    /// The additional time that a wait with sleep takes, compared with one without.
    static let wakeUpNanoseconds: UInt64 = 60_000

    /// How long a thread polls at most; 0 means never.
    let limitNanoseconds: UInt64
    /// The last eight waits, the newest in the lowest bit; 1 means that it was short.
    private var waits: UInt8 = 0
    private var pausedUntilNanoseconds: UInt64 = 0

    init(limitNanoseconds: UInt64) {
        self.limitNanoseconds = limitNanoseconds
    }

    var isOff: Bool { limitNanoseconds == 0 }

    /// Whether polling pays for a wait that begins now.
    func isWorthLooking(nowNanoseconds: UInt64) -> Bool {
        waits.nonzeroBitCount >= Self.shortWaitsMin && nowNanoseconds >= pausedUntilNanoseconds
    }

    /// A wait is over. It counts as short when polling ended it, or might have ended it.
    ///
    /// - Parameter hasLooked: Whether the thread polled before it slept, or instead; otherwise its wake-up is included
    ///   in the time.
    mutating func waited(nanoseconds: UInt64, hasLooked: Bool) {
        let limit = hasLooked ? limitNanoseconds : limitNanoseconds &+ Self.wakeUpNanoseconds
        waits = waits << 1 | (nanoseconds <= limit ? 1 : 0)
    }

    /// Another thread had the core for that long while this one polled.
    mutating func wasInterrupted(forNanoseconds: UInt64, nowNanoseconds: UInt64) {
        pausedUntilNanoseconds = nowNanoseconds &+ forNanoseconds &* Self.pauseFactor
    }
}
