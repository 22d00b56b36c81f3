internal import BrumeModel
internal import BrumeProtocol
internal import BrumeSystem

/// The sessions of one loop, and what concerns all of them: deadlines, used-up budgets, the operator, the server's
/// stop.
///
/// Belongs to the loop.
final class SessionTable {
    private let loop: EventLoop
    private unowned let server: ServerCore
    private let refused: () -> Void
    private var sessions: [ObjectIdentifier: Session] = [:]
    private var refusals = LogThrottle(linesPerSecond: ServerLimits.refusalLinesPerSecond)

    /// - Parameter refused: Called for each peer that is turned away.
    init(loop: EventLoop, server: ServerCore, refused: @escaping () -> Void) {
        self.loop = loop
        self.server = server
        self.refused = refused
    }

    func add(_ session: Session) { sessions[ObjectIdentifier(session)] = session }

    func remove(_ session: Session) { sessions[ObjectIdentifier(session)] = nil }

    /// Cuts all sessions off, after the server went away without closing them.
    func abandon() {
        for session in sessions.values { session.abandon() }
        sessions = [:]
    }

    // MARK: Time and room

    /// Looks after deadlines and budgets. Called now and then.
    func sweep() {
        for session in Array(sessions.values) { session.timePassed() }
        makeRoom()
    }

    /// Ends the session that holds most of a used-up budget, but none that holds little. Output is taken from the
    /// account, or the address, that holds most of it.
    private func makeRoom() {
        let shares = server.shares
        if shares.anonymousOutput.isFull {
            let isFull = shares.output.isFull
            let candidates = sessions.values.filter {
                $0.unreadByteCount > ServerLimits.unreadFloorBytes && (isFull || $0.identity?.role == .anonymous)
            }
            let largest = candidates.max {
                ($0.share?.output.bytes ?? 0, $0.unreadByteCount) < ($1.share?.output.bytes ?? 0, $1.unreadByteCount)
            }
            largest?.giveWay(holdingOutput: true)
        }
        if sessions.values.contains(where: { $0.inputShortage == .budget }) {
            let now = loop.nowNanoseconds
            let old = sessions.values.filter {
                !$0.isEnding && $0.reservedInput.bytes > 0
                    && now - $0.reservedInput.sinceNanoseconds > ServerLimits.frameGraceNanoseconds
            }
            old.max { $0.reservedInput.bytes < $1.reservedInput.bytes }?.giveWay(holdingOutput: false)
        }
    }

    // MARK: The operator

    /// Closes the sessions of an account, telling them why.
    ///
    /// - Parameter reason: The reason to give; nil when the account's tokens were revoked.
    func revoke(accountName: String, reason: ServiceError? = nil) {
        for session in Array(sessions.values) where session.identity?.role == .account(name: accountName) {
            session.revoked(reason)
        }
    }

    /// Logs a line about a peer that was refused, unless there were too many such lines.
    func logRefusal(peer: String, _ status: CallStatus) {
        refused()
        guard let leftOut = refusals.admit(nowNanoseconds: loop.nowNanoseconds) else { return }
        server.log.info(
            "connection refused",
            [("peer", peer), ("code", String(status.code)), ("reason", status.message)]
                + (leftOut > 0 ? [("leftOut", String(leftOut))] : []))
    }

    // MARK: The server's stop

    /// Tells all sessions that the server is about to stop.
    func drain() {
        for session in Array(sessions.values) { session.drain() }
    }

    func close() {
        for session in Array(sessions.values) { session.close() }
    }

    /// Calls `body` with each client whose session has arrived here.
    func forEachClient(_ body: (Client) -> Void) {
        for session in sessions.values { if let client = session.client { body(client) } }
    }

    /// Calls in flight.
    var unaryCallCount: Int { sessions.values.reduce(0) { $0 + $1.unaryCallCount } }

    /// Bytes of answers under way that count as output of sessions.
    var heldByteCount: Int { sessions.values.reduce(0) { $0 + ($1.client?.heldByteCount ?? 0) } }

    /// What the sessions hold, for the figures.
    var counts: (connections: Int, openCalls: Int, streams: Int) {
        sessions.values.reduce(into: (sessions.count, 0, 0)) {
            $0.1 += $1.openCallCount
            $0.2 += $1.streams.count
        }
    }
}
