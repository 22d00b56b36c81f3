/// When a sync engine does by itself what is to be done: soon, or after a pause when it failed. Times are in
/// milliseconds.
///
/// Pure.
struct SyncEngineSchedule: Sendable {
    /// Changes of the state within this time are told together (CloudKit's own delay).
    static let stateUpdateDelay: UInt64 = 100

    /// How long after the last addition of a change a send begins: longer than an app that adds changes within a
    /// transaction of its database takes to commit it, as the delegate is asked for what the transaction wrote. A
    /// second by default.
    let sendDelay: UInt64

    /// Additions that don't end put a send off for so many delays at most.
    private static let sendDelaysMax: UInt64 = 5

    /// Something to be done, and what holds it up.
    private struct Due: Sendable {
        /// From when on it is wanted; nil: it is not.
        var wanted: UInt64?
        /// Not before that.
        var held: UInt64 = 0
        /// Whether the way to the server is all that holds it up.
        var isHeldByConnection = false
        var pause: RetryPause

        var due: UInt64? { wanted.map { max($0, held) } }

        mutating func hold(_ error: CKError, now: UInt64) {
            held = now + pause.nextMilliseconds(error)
            isHeldByConnection = error.retryAfterSeconds == nil && error.concernsConnection
        }

        mutating func release() {
            held = 0
            pause.reset()
        }
    }

    private var fetch: Due
    private var send: Due
    /// Since when a send is wanted.
    private var sendWantedSince: UInt64 = 0
    private var failedSends = 0
    /// When the delegate is asked again for the records that it did not have; nil: it is not.
    private var unprovidedDue: UInt64?
    private var unprovidedSends: UInt64 = 0
    private var accountPause: RetryPause
    private var subscriptionPause: RetryPause
    private var listenPause: RetryPause

    var accountDue: UInt64 = 0
    private(set) var subscriptionDue: UInt64 = 0
    private(set) var listenDue: UInt64 = 0

    init(seed: UInt64, sendDelay: UInt64 = 1_000) {
        self.sendDelay = sendDelay
        fetch = Due(pause: RetryPause(seed: seed))
        send = Due(pause: RetryPause(seed: seed &+ 1))
        accountPause = RetryPause(seed: seed &+ 2)
        subscriptionPause = RetryPause(seed: seed &+ 3)
        listenPause = RetryPause(seed: seed &+ 4)
    }

    var fetchDue: UInt64? { fetch.due }
    /// Until when the sends that the engine makes by itself are held up.
    var sendHeldUntil: UInt64 { send.held }
    var sendDue: UInt64? {
        guard let unprovidedDue else { return send.due }
        return min(send.due ?? .max, max(unprovidedDue, send.held))
    }

    // MARK: Fetching

    mutating func wantFetch(now: UInt64) {
        if fetch.wanted == nil { fetch.wanted = now }
    }

    /// A fetch of everything begins: what was wanted is under way.
    mutating func fetchBegan() {
        fetch.wanted = nil
    }

    mutating func fetchSucceeded() {
        fetch.release()
    }

    mutating func fetchFailed(_ error: CKError, now: UInt64) {
        guard error.isTransient else { return }
        wantFetch(now: now)
        fetch.hold(error, now: now)
    }

    // MARK: Sending

    mutating func wantSend(now: UInt64) {
        if send.wanted == nil { sendWantedSince = now }
        send.wanted = settled(added: sendWantedSince, last: now)
    }

    /// When a change that was first and last added at the given times may be sent by itself.
    func settled(added first: UInt64, last: UInt64) -> UInt64 {
        min(last + sendDelay, first + Self.sendDelaysMax * sendDelay)
    }

    /// A send of everything begins: what was wanted is under way.
    mutating func sendBegan() {
        send.wanted = nil
        unprovidedDue = nil
    }

    /// Changes are pending for which the delegate gave no record, as where the app's transaction that writes them takes
    /// longer than the send was put off: it is asked again after a second, and then after pauses that grow to a minute.
    mutating func changesRemained(now: UInt64) {
        unprovidedDue = now + min(1_000 << min(unprovidedSends, 6), Self.unprovidedPauseMax)
        unprovidedSends += 1
    }

    /// Something was added: what the delegate lacked it may have soon.
    mutating func changesAdded() {
        unprovidedSends = 0
    }

    /// The longest pause before the delegate is asked again, in milliseconds: an app that never has a record and leaves
    /// its change pending is woken once a minute.
    private static let unprovidedPauseMax: UInt64 = 60_000

    mutating func sendSucceeded() {
        send.release()
        failedSends = 0
    }

    /// Try again after a pause, the server's if it names one.
    mutating func sendFailed(_ error: CKError, now: UInt64) {
        wantSend(now: now)
        send.hold(error, now: now)
    }

    /// Some items failed for good and others wait, maybe the same ones that the delegate has mended: the first time
    /// they are tried soon, and then with growing pauses, so that an app that always mends wrongly does no harm.
    mutating func sendHadFailures(_ error: CKError, madeProgress: Bool, now: UInt64) {
        if madeProgress {
            send.release()
            failedSends = 0
        }
        wantSend(now: now)
        failedSends += 1
        if failedSends > Self.quickTriesMax { send.hold(error, now: now) }
    }

    private static let quickTriesMax = 3

    // MARK: The rest

    /// The way to the server is open, so that nothing waits for it any longer. What the server asked to wait for does.
    mutating func connectionCameBack() {
        if fetch.isHeldByConnection { fetch.held = 0 }
        if send.isHeldByConnection { send.held = 0 }
        listenPause.reset()
    }

    mutating func accountChecked() {
        accountPause.reset()
        accountDue = 0
    }

    mutating func accountCheckFailed(_ error: CKError, now: UInt64) {
        accountDue = now + accountPause.nextMilliseconds(error)
    }

    mutating func subscribingFailed(_ error: CKError, now: UInt64) {
        // Where no subscription can be, fetches happen when the app calls for them, and at the next launch.
        subscriptionDue = error.isTransient ? now + subscriptionPause.nextMilliseconds(error) : .max
    }

    mutating func listeningFailed(now: UInt64) {
        listenDue = now + listenPause.nextMilliseconds(nil)
    }

    /// Another user: nothing of what was held up counts.
    mutating func accountChanged() {
        fetch.release()
        send.release()
        failedSends = 0
        unprovidedDue = nil
        unprovidedSends = 0
        subscriptionDue = 0
        subscriptionPause.reset()
        listenDue = 0
        listenPause.reset()
    }
}

extension RetryPause {
    /// The next pause, no less than what the error asks for, and no more than an hour, whatever it asks for.
    fileprivate mutating func nextMilliseconds(_ error: CKError?) -> UInt64 {
        let seconds = min(max(error?.retryAfterSeconds ?? 0, 0), 3_600)
        return next(hintMilliseconds: seconds.isNaN ? 0 : UInt32(seconds * 1_000)) / 1_000_000 + 1
    }
}
