internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeSystem

/// The sessions of one loop, and what concerns all of them: deadlines, used-up budgets, the server's stop.
///
/// `@unchecked Sendable`: belongs to the loop of its shard.
final class SessionTable: @unchecked Sendable {
    let shard: Shard
    let coder = MessageCoder()
    private unowned let server: ServerCore
    @exclusivity(unchecked) var figures = DoorFigures()
    private var sessions = Arrivals<Session>()
    private var refusals = LogThrottle(linesPerSecond: ServerLimits.refusalLinesPerSecond)
    private var slowCalls = LogThrottle(linesPerSecond: ServerLimits.slowCallLinesPerSecond)

    init(of shard: Shard, server: ServerCore) {
        self.shard = shard
        self.server = server
    }

    func add(_ session: Session) { sessions.insert(session) }

    func remove(_ session: Session) { sessions.remove(session) }

    /// Cuts all sessions off, after the server went away without closing them.
    func abandon() {
        for session in sessions.all { session.abandon() }
        sessions.removeAll()
    }

    // MARK: Time and room

    /// Looks after deadlines and budgets now and then.
    func sweepLater() {
        _ = shard.loop.schedule(afterMilliseconds: ServiceLimits.sweepMilliseconds) { [unowned self] in
            for session in sessions.all { session.timePassed() }
            makeRoom()
            sweepLater()
        }
    }

    /// Ends the session that holds most of a used-up budget, but none that holds little. Output is taken from the
    /// account, or the address, that holds most of it.
    private func makeRoom() {
        let shares = server.shares
        if shares.anonymousOutput.isFull {
            let isFull = shares.output.isFull
            let candidates = sessions.all.filter {
                $0.unreadByteCount > ServerLimits.unreadFloorBytes && (isFull || $0.identity?.role == .anonymous)
            }
            let largest = candidates.max {
                ($0.share?.output.bytes ?? 0, $0.unreadByteCount) < ($1.share?.output.bytes ?? 0, $1.unreadByteCount)
            }
            largest?.giveWay(holdingOutput: true)
        }
        if sessions.all.contains(where: { $0.inputShortage == .budget }) {
            let now = shard.loop.nowNanoseconds
            let old = sessions.all.filter {
                !$0.isEnding && $0.reservedInput.bytes > 0
                    && now - $0.reservedInput.sinceNanoseconds > ServerLimits.frameGraceNanoseconds
            }
            old.max { $0.reservedInput.bytes < $1.reservedInput.bytes }?.giveWay(holdingOutput: false)
        }
    }

    /// Logs a line about a peer that was refused, unless there were too many such lines.
    func logRefusal(peer: String, _ status: CallStatus) {
        figures.refusedConnections += 1
        guard let leftOut = refusals.admit(nowNanoseconds: shard.loop.nowNanoseconds) else { return }
        server.log.info(
            "connection refused",
            [("peer", peer), ("code", String(status.code)), ("reason", status.message)]
                + (leftOut > 0 ? [("leftOut", String(leftOut))] : []))
    }

    /// Logs a call that took long, unless there were too many such lines. Its name is the client's, whose error has it,
    /// too.
    func logSlow(_ call: ServerConnectionStateMachine.EndedCall, failure: ErrorCode?, nowNanoseconds: UInt64) {
        guard let leftOut = slowCalls.admit(nowNanoseconds: nowNanoseconds) else { return }
        let method = Method(rawValue: call.method)
        server.log.warning(
            "slow call",
            [
                ("method", method.name), ("milliseconds", String((nowNanoseconds - call.beganNanoseconds) / 1_000_000)),
                ("request", call.requestID), ("code", failure.map { String($0.rawValue) } ?? "0"),
            ] + (call.traceParent?.logFields ?? []) + (leftOut > 0 ? [("leftOut", String(leftOut))] : []))
    }

    // MARK: The server's stop

    /// Tells all sessions that the server is about to stop.
    func drain() {
        for session in sessions.all { session.drain() }
    }

    func close() {
        for session in sessions.all { session.close() }
    }

    /// Calls in flight.
    var unaryCallCount: Int { sessions.sum { $0.unaryCallCount } }

    /// Bytes of answers under way that count as output of sessions.
    var heldByteCount: Int { sessions.sum { $0.client?.heldByteCount ?? 0 } }

    /// Adds what the sessions hold and what was counted.
    func addFigures(to figures: inout ServerFigures) {
        self.figures.add(to: &figures)
        figures.connections.open += sessions.count
        for session in sessions.all {
            figures.openCalls += session.openCallCount
            figures.push.streams += session.streams.count
        }
    }
}
