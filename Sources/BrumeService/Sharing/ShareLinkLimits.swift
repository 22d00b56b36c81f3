internal import BrumeLock
internal import BrumeModel

/// How often an account may follow URLs of shares that lead nowhere, and ask for access: often enough for a person, and
/// too seldom for guesses and for bothering owners. Any thread.
final class ShareLinkLimits: Sendable {
    private struct Minute {
        var number: UInt64 = 0
        /// By the account's name.
        var counts: [String: Int] = [:]
    }

    private let minute = Lock(Minute())

    /// Why an account may follow no URL until the next minute, or nil.
    func refusal(of account: String, nowNanoseconds: UInt64) -> ServiceError? {
        let count = minute.withLock { minute in
            minute.number == Self.number(nowNanoseconds) ? minute.counts[account] ?? 0 : 0
        }
        guard count >= ServiceLimits.shareLinkFailuresPerMinute else { return nil }
        let rest = Self.nanoseconds - nowNanoseconds % Self.nanoseconds
        return ServiceError(
            .requestRateLimited,
            "more than \(ServiceLimits.shareLinkFailuresPerMinute) URLs of shares led nowhere, or were asked for access,"
                + " in a minute; wait",
            retryAfterMilliseconds: UInt32(rest / 1_000_000) + 1)
    }

    /// Counts a URL that led nowhere, or a request for access.
    func note(_ account: String, nowNanoseconds: UInt64) {
        minute.withLock { minute in
            let number = Self.number(nowNanoseconds)
            if minute.number != number { minute = Minute(number: number) }
            minute.counts[account, default: 0] += 1
        }
    }

    private static let nanoseconds: UInt64 = 60_000_000_000

    private static func number(_ nowNanoseconds: UInt64) -> UInt64 { nowNanoseconds / nanoseconds }
}
