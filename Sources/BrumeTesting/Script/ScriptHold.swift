public import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer

/// Calls or notifications that a script keeps until the test lets them go.
///
/// What is held when the server stops is let go then: calls fail with `serviceUnavailable`.
public final class ScriptHold: Sendable {
    /// Its line in the script.
    public let rule: ScriptRule

    private struct State {
        var isReleased = false
        var held: [@Sendable (CallPlan.Step) -> Void] = []
    }

    private let state = Lock(State())

    init(_ rule: ScriptRule) {
        self.rule = rule
    }

    /// How many are held.
    public var heldCount: Int { state.withLock { $0.held.count } }

    /// Returns once so many were held.
    ///
    /// - Parameter timeout: How long to wait, of real time.
    /// - Throws: ``TestServerError`` when the time is over; `CancellationError` when the task is cancelled.
    public func waitUntilHeld(count: Int = 1, timeout: Duration = .seconds(10)) async throws {
        try await rule.waitUntilFired(count: count, timeout: timeout)
    }

    /// Lets all that is held go on, in its order, and holds nothing any more.
    public func release() {
        release(.goesOn)
    }

    /// The calls that are held fail, and nothing is held any more. Notifications go on.
    public func release(
        failingWith code: CKError.Code, retryAfterSeconds: Double? = nil, message: String? = nil
    ) {
        release(.fails(ServiceError(scripted: code, retryAfterSeconds: retryAfterSeconds, message: message)))
    }

    /// The connections of the calls that are held break, and nothing is held any more. Notifications go on.
    public func releaseBreakingConnections() {
        release(.breaksConnection)
    }

    func release(_ step: CallPlan.Step) {
        let held = state.withLock { state in
            state.isReleased = true
            defer { state.held = [] }
            return state.held
        }
        rule.close()
        for resume in held { resume(step) }
    }

    /// One more waits. What came while the hold was let go goes on at once.
    func hold(_ resume: @escaping @Sendable (CallPlan.Step) -> Void) {
        let isReleased = state.withLock { state in
            if !state.isReleased { state.held.append(resume) }
            return state.isReleased
        }
        rule.noteFired()
        if isReleased { resume(.goesOn) }
    }
}

extension ServiceError {
    /// What a script makes the server say.
    init(scripted code: CKError.Code, retryAfterSeconds: Double?, message: String?) {
        let milliseconds = (retryAfterSeconds ?? 0) * 1_000
        precondition(
            milliseconds >= 0 && milliseconds <= Double(UInt32.max),
            "a script can't tell a client to try again after \(retryAfterSeconds ?? 0) seconds")
        self.init(
            ErrorCode(rawValue: Int32(code.rawValue)), message ?? "the test's script lets this fail with \(code)",
            retryAfterMilliseconds: UInt32(milliseconds.rounded(.up)))
    }
}
