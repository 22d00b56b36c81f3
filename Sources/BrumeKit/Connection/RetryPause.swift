internal import BrumeRandom

/// Growing pauses between attempts, with jitter, so that clients that lost one server do not come back at one instant.
///
/// Pure: its chance comes from a seed.
struct RetryPause: Sendable {
    private var failures: UInt64 = 0
    private var generator: SeededGenerator
    private let nanosecondsMin: UInt64
    private let nanosecondsMax: UInt64

    init(
        seed: UInt64, nanosecondsMin: UInt64 = ClientSessionLimits.pauseNanosecondsMin,
        nanosecondsMax: UInt64 = ClientSessionLimits.pauseNanosecondsMax
    ) {
        generator = SeededGenerator(seed: seed)
        self.nanosecondsMin = nanosecondsMin
        self.nanosecondsMax = nanosecondsMax
    }

    /// An attempt succeeded: the next pause is a short one.
    mutating func reset() {
        failures = 0
    }

    /// How long to wait after another failure: between half of the pause and all of it, and no less than the server's
    /// hint with up to a quarter (1 s at most) on top.
    mutating func next(hintMilliseconds: UInt32 = 0) -> UInt64 {
        let pause = min(nanosecondsMin << min(failures, 16), nanosecondsMax)
        failures += 1
        let jittered = pause / 2 + random(below: pause / 2 + 1)
        guard hintMilliseconds > 0 else { return jittered }
        let hint = UInt64(hintMilliseconds) * 1_000_000
        return max(jittered, hint + random(below: min(hint / 4, 1_000_000_000) + 1))
    }

    private mutating func random(below bound: UInt64) -> UInt64 { generator.next() % bound }
}
