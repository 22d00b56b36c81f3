/// When a thread that waits for work looks for it a while before it sleeps. Pure: it is told how its waits went.
///
/// A sleep and the wake-up from it take 30 to 70 microseconds, more than a small request does. So where work mostly
/// comes at once, as from one client that asks and asks again, or while the disk syncs what was saved, looking for it
/// answers sooner, and takes little more of the processor than falling asleep does. Where work comes later, or somebody
/// else wants the core, looking would only take time from others: an idle server looks for nothing.
struct SpinPolicy: Sendable {
    /// How many of the last eight waits must have been short.
    static let shortWaitsMin = 6
    /// How many times as long the thread does not look as it was without the core when it did. Beside a program that
    /// never sleeps each look may cost a whole time slice of some milliseconds: so it costs 3 % at most.
    static let pauseFactor: UInt64 = 32
    /// What a wait with sleep takes longer than one without would have.
    static let wakeUpNanoseconds: UInt64 = 60_000

    /// How long a thread looks at most. 0: never.
    let limitNanoseconds: UInt64
    /// The last eight, the newest in the lowest bit; 1: it was short.
    private var waits: UInt8 = 0
    private var pausedUntilNanoseconds: UInt64 = 0

    init(limitNanoseconds: UInt64) {
        self.limitNanoseconds = limitNanoseconds
    }

    var isOff: Bool { limitNanoseconds == 0 }

    /// Whether a wait that begins now is worth a look.
    func isWorthLooking(nowNanoseconds: UInt64) -> Bool {
        waits.nonzeroBitCount >= Self.shortWaitsMin && nowNanoseconds >= pausedUntilNanoseconds
    }

    /// A wait is over. One that a look ended, or might have ended, is short.
    ///
    /// - Parameter hasLooked: Whether the thread looked before it slept, or instead; otherwise its wake-up is in the
    ///   time.
    mutating func waited(nanoseconds: UInt64, hasLooked: Bool) {
        let limit = hasLooked ? limitNanoseconds : limitNanoseconds &+ Self.wakeUpNanoseconds
        waits = waits << 1 | (nanoseconds <= limit ? 1 : 0)
    }

    /// Somebody else had the core for so long while the thread looked.
    mutating func wasInterrupted(forNanoseconds: UInt64, nowNanoseconds: UInt64) {
        pausedUntilNanoseconds = nowNanoseconds &+ forNanoseconds &* Self.pauseFactor
    }
}
