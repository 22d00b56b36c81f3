/// Growing pauses between attempts, with jitter, so that clients that lost one server do not come back at one instant.
///
/// Pure: its chance comes from a seed.
struct RetryPause: Sendable {
    private var failures: UInt64 = 0
    private var state: UInt64
    private let nanosecondsMin: UInt64
    private let nanosecondsMax: UInt64

    init(
        seed: UInt64, nanosecondsMin: UInt64 = ClientSessionLimits.pauseNanosecondsMin,
        nanosecondsMax: UInt64 = ClientSessionLimits.pauseNanosecondsMax
    ) {
        state = seed
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

    /// SplitMix64: good enough to spread, and small.
    private mutating func random(below bound: UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return (mixed ^ (mixed >> 31)) % bound
    }
}
