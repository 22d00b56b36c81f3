internal import BrumeModel

/// The calls of a client's session that have not ended: those that wait for a connection, in their order, and those
/// that are in flight on it. Bounded by ``ClientSessionLimits``.
struct ClientCalls: Sendable {
    struct Call: Sendable {
        let work: ClientSessionStateMachine.Work
        let patience: ClientSessionStateMachine.Patience
        /// When it ends while it waits for a connection.
        fileprivate let waitsUntilNanoseconds: UInt64
        /// When it ends as things are.
        fileprivate(set) var deadlineNanoseconds: UInt64
        let startedNanoseconds: UInt64
        fileprivate(set) var isInFlight = false
        fileprivate(set) var sentNanoseconds: UInt64 = 0
        /// Connections that broke while it was in flight.
        fileprivate(set) var losses = 0
        /// Servers that did not take it because they were about to stop.
        fileprivate(set) var timesTurnedAway = 0

        /// Whether the server may have done what it asks for, and nobody knows.
        var mayHaveHadEffect: Bool {
            if case .unary(let unary) = work { losses > 0 && unary.effect != .none } else { false }
        }
    }

    /// What the end of the connection means to a call that does not go on waiting.
    enum Fate: Equatable {
        /// It asked whether there is a connection.
        case probe
        /// It may not be sent again.
        case answerLost
    }

    private var calls: [UInt64: Call] = [:]
    /// Unary calls that are to be sent, those of higher priority first, each in their order; may hold ids of calls that
    /// ended.
    private(set) var waiting: ArraySlice<UInt64> = []
    private var byteCount = 0
    private var bytesInFlight = 0
    /// No call's deadline is earlier.
    private(set) var earliestDeadline = UInt64.max

    var count: Int { calls.count }
    var isEmpty: Bool { calls.isEmpty }
    /// In the order in which the calls were started.
    var ids: [UInt64] { calls.keys.sorted() }

    subscript(id: UInt64) -> Call? { calls[id] }

    /// Adds a call; a unary one waits.
    ///
    /// - Returns: False where there are too many already, by number or by bytes.
    mutating func start(
        _ id: UInt64, _ work: ClientSessionStateMachine.Work,
        patience: ClientSessionStateMachine.Patience = .untilDeadline,
        deadline: UInt64, now: UInt64
    ) -> Bool {
        precondition(calls[id] == nil, "a call is started once")
        let bytes = work.byteCount
        guard calls.count < ClientSessionLimits.callsMax, byteCount + bytes <= ClientSessionLimits.callBytesMax else {
            return false
        }
        calls[id] = Call(
            work: work, patience: patience, waitsUntilNanoseconds: deadline, deadlineNanoseconds: deadline,
            startedNanoseconds: now)
        byteCount += bytes
        earliestDeadline = min(earliestDeadline, deadline)
        if case .unary = work {
            // Calls that were cancelled while there was no connection leave their ids behind.
            if waiting.count >= 2 * ClientSessionLimits.callsMax { waiting.removeAll { calls[$0] == nil } }
            queue(id)
        }
        return true
    }

    /// Takes out a call that ends; false when it has ended.
    @discardableResult
    mutating func remove(_ id: UInt64) -> Bool {
        guard let call = calls.removeValue(forKey: id) else { return false }
        byteCount -= call.work.byteCount
        if call.isInFlight { bytesInFlight -= call.work.byteCount }
        return true
    }

    /// The calls whose time is over, in the order of their start: the caller takes them out.
    mutating func overdue(now: UInt64) -> [UInt64] {
        guard now >= earliestDeadline else { return [] }
        let overdue = calls.filter { $0.value.deadlineNanoseconds <= now }
        earliestDeadline = calls.values.reduce(.max) {
            $1.deadlineNanoseconds > now ? min($0, $1.deadlineNanoseconds) : $0
        }
        return overdue.keys.sorted()
    }

    // MARK: The connection

    /// The unary call that is to be sent next.
    mutating func next() -> (id: UInt64, unary: UnaryCall)? {
        while let id = waiting.first {
            if case .unary(let unary)? = calls[id]?.work { return (id, unary) }
            waiting.removeFirst()
        }
        return nil
    }

    /// Whether a request of so many bytes may be in flight with the others. One always may.
    func hasRoomInFlight(for bytes: Int) -> Bool {
        bytesInFlight == 0 || bytesInFlight + bytes <= ClientSessionLimits.bytesInFlightMax
    }

    /// A call was sent: the ``next()`` one, or one that does not wait.
    mutating func sent(_ id: UInt64, now: UInt64) {
        if waiting.first == id { waiting.removeFirst() }
        calls[id]!.isInFlight = true
        calls[id]!.sentNanoseconds = now
        if case .unlimited(let nanoseconds) = calls[id]!.patience {
            let (end, overflow) = now.addingReportingOverflow(nanoseconds)
            calls[id]!.deadlineNanoseconds = min(calls[id]!.waitsUntilNanoseconds, overflow ? .max : end)
            earliestDeadline = min(earliestDeadline, calls[id]!.deadlineNanoseconds)
        }
        bytesInFlight += calls[id]!.work.byteCount
    }

    /// The connection is gone. What was in flight waits again, first among its like, or not.
    ///
    /// - Returns: Those that don't, in the order of their start: the caller takes them out.
    mutating func connectionLost() -> [(id: UInt64, fate: Fate)] {
        var ended: [(id: UInt64, fate: Fate)] = []
        var again: [UInt64] = []
        for id in ids {
            var call = calls[id]!
            if case .probe = call.work { ended.append((id, .probe)) }
            guard call.isInFlight else { continue }
            call.losses += 1
            call.isInFlight = false
            call.deadlineNanoseconds = call.waitsUntilNanoseconds
            bytesInFlight -= call.work.byteCount
            calls[id] = call
            guard case .unary(let unary) = call.work else { continue }
            if unary.effect == .once || call.losses >= ClientSessionLimits.lossesMax {
                ended.append((id, .answerLost))
            } else {
                again.append(id)
            }
        }
        let queued = again + waiting.filter { calls[$0] != nil }
        waiting = []
        for priority in CallPriority.allCases.reversed() {
            waiting += queued.filter { self.priority($0) == priority }
        }
        return ended
    }

    /// A server that is about to stop has not taken a call: it waits again for the next connection, among its like in
    /// the order in which they were started.
    mutating func notTaken(_ id: UInt64) {
        guard var call = calls[id], call.isInFlight else { return }
        call.timesTurnedAway += 1
        call.isInFlight = false
        call.deadlineNanoseconds = call.waitsUntilNanoseconds
        bytesInFlight -= call.work.byteCount
        calls[id] = call
        let priority = priority(id)
        waiting.removeAll { calls[$0] == nil }
        let place =
            waiting.firstIndex { other in
                let others = self.priority(other)
                return others < priority || (others == priority && other > id)
            } ?? waiting.endIndex
        waiting.insert(id, at: place)
    }

    /// Puts a call behind those that wait with its priority, and before those with less.
    private mutating func queue(_ id: UInt64) {
        let priority = priority(id)
        var place = waiting.endIndex
        while place > waiting.startIndex, self.priority(waiting[place - 1]) < priority { place -= 1 }
        waiting.insert(id, at: place)
    }

    /// The priority of a call that waits; the least for one that ended.
    private func priority(_ id: UInt64) -> CallPriority {
        if case .unary(let call)? = calls[id]?.work { call.priority } else { .background }
    }
}
