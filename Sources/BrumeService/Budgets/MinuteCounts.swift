internal import BrumeLock

/// How often each account did something in the current minute, where a limit says how often it may. Any thread.
final class MinuteCounts: Sendable {
    private struct Minute {
        var number: UInt64 = 0
        /// By the account's name.
        var counts: [String: Int] = [:]
    }

    private let limit: Int
    private let minute = Lock(Minute())

    init(limit: Int) { self.limit = limit }

    /// How often an account may still do it until the next minute.
    func left(for account: String, nowNanoseconds: UInt64) -> Int {
        let count = minute.withLock { minute in
            Self.number(nowNanoseconds) > minute.number ? 0 : minute.counts[account] ?? 0
        }
        return max(0, limit - count)
    }

    func note(_ account: String, times: Int = 1, nowNanoseconds: UInt64) {
        if times == 0 { return }
        minute.withLock { minute in
            let number = Self.number(nowNanoseconds)
            // Another loop's clock may be behind by a turn.
            if number > minute.number { minute = Minute(number: number) }
            minute.counts[account, default: 0] += times
        }
    }

    /// The time until the next minute.
    static func restMilliseconds(nowNanoseconds: UInt64) -> UInt32 {
        UInt32((nanoseconds - nowNanoseconds % nanoseconds) / 1_000_000) + 1
    }

    private static let nanoseconds: UInt64 = 60_000_000_000

    private static func number(_ nowNanoseconds: UInt64) -> UInt64 { nowNanoseconds / nanoseconds }
}
