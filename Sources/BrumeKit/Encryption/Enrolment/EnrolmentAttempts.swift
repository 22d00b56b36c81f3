internal import BrumeLock

/// A device's count of its enrolments, for one account in one container and environment of one server: the same for all
/// containers of this process, whichever token they have.
struct EnrolmentAttempts: Sendable {
    private static let counts = Lock<[String: EnrolmentGuesses]>([:])

    private let keyFolder: String
    private let clock: any ClientClock

    init(keyFolder: String, clock: any ClientClock) { (self.keyFolder, self.clock) = (keyFolder, clock) }

    /// Counts one whose codes are about to be fixed, before the other side can know them.
    ///
    /// - Returns: What ``succeeded(_:)`` takes back.
    /// - Throws: `requestRateLimited` after too many that came to nothing.
    func begin() throws(CKError) -> UInt64 {
        let now = clock.nowMilliseconds
        let pause = change { guesses -> UInt64? in
            if let pause = guesses.pause(at: now) { return pause }
            guesses.count(at: now)
            return nil
        }
        if let pause { throw Self.tooMany(pause) }
        return now
    }

    /// - Throws: The same, without counting anything.
    func check() throws(CKError) {
        let now = clock.nowMilliseconds
        if let pause = change({ $0.pause(at: now) }) { throw Self.tooMany(pause) }
    }

    /// Both codes were right: it was no guess.
    func succeeded(_ begun: UInt64) { change { $0.succeeded(countedAt: begun) } }

    @discardableResult
    private func change<Value>(_ body: (inout EnrolmentGuesses) -> Value) -> Value {
        Self.counts.withLock { body(&$0[keyFolder, default: EnrolmentGuesses()]) }
    }

    private static func tooMany(_ pause: UInt64) -> CKError {
        CKError(
            .requestRateLimited,
            message:
                "\(EnrolmentGuesses.limit) enrolments came to nothing within an hour, and this device begins no other "
                + "before that hour is over: somebody may stand between the devices; the recovery code is the other "
                + "way in (CKContainer.useRecoveryCode(_:))",
            retryAfterSeconds: Double(pause) / 1_000)
    }
}
