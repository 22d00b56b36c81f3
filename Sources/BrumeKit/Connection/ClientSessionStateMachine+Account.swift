internal import BrumeModel

/// What a session does about an account that its server does not take: it says so, and looks now and then whether the
/// server takes it again, for apps that wait to be told.
extension ClientSessionStateMachine {
    struct AccountWatch: Sendable {
        /// Whether anybody wants to know.
        fileprivate var isWatched = false
        fileprivate var isRefused = false
        private var notBeforeNanoseconds: UInt64 = 0
        private var pause: RetryPause

        init(seed: UInt64) {
            pause = RetryPause(
                seed: seed, nanosecondsMin: ClientSessionLimits.refusedAccountPauseNanosecondsMin,
                nanosecondsMax: ClientSessionLimits.refusedAccountPauseNanosecondsMax)
        }

        /// When to look again; nil: not at all.
        var nextLookNanoseconds: UInt64? { isWatched && isRefused ? notBeforeNanoseconds : nil }

        func isLookDue(now: UInt64) -> Bool { nextLookNanoseconds.map { now >= $0 } ?? false }

        /// A connection is on its way, be it for a call: whatever it finds, the next look waits longer.
        mutating func looked(now: UInt64) {
            if isRefused { notBeforeNanoseconds = now + pause.next() }
        }

        /// The account may be back: the next look waits no longer.
        mutating func circumstancesChanged(now: UInt64) {
            notBeforeNanoseconds = now
            pause.reset()
        }

        mutating func accepted() {
            isRefused = false
            pause.reset()
        }

        fileprivate mutating func refused(now: UInt64) {
            guard !isRefused else { return }
            isRefused = true
            notBeforeNanoseconds = now + pause.next()
        }
    }

    /// Somebody wants to know when the server takes the account again, or nobody does.
    package mutating func accountWatched(_ isWatched: Bool, now: UInt64) -> [Action] {
        account.isWatched = isWatched
        return advance(now: now)
    }

    /// The server ended the connection, or did not take it in, with that error.
    mutating func accountRefused(_ error: ServiceError, now: UInt64) -> [Action] {
        guard error.concernsAccount else { return [] }
        account.refused(now: now)
        return [.accountRefused(error)]
    }
}
