internal import BrumeModel

/// How often an account may follow URLs of shares that lead nowhere, and ask for access: often enough for a person, and
/// too seldom for guesses and for bothering owners. Any thread.
struct ShareLinkLimits: Sendable {
    private let counts = MinuteCounts(limit: ServiceLimits.shareLinkFailuresPerMinute)

    /// Why an account may follow no URL until the next minute, or nil.
    func refusal(of account: String, nowNanoseconds: UInt64) -> ServiceError? {
        if counts.left(for: account, nowNanoseconds: nowNanoseconds) > 0 { return nil }
        return ServiceError(
            .requestRateLimited,
            "more than \(ServiceLimits.shareLinkFailuresPerMinute) URLs of shares led nowhere, or were asked for access,"
                + " in a minute; wait",
            retryAfterMilliseconds: MinuteCounts.restMilliseconds(nowNanoseconds: nowNanoseconds))
    }

    /// Counts a URL that led nowhere, or a request for access.
    func note(_ account: String, nowNanoseconds: UInt64) { counts.note(account, nowNanoseconds: nowNanoseconds) }
}
