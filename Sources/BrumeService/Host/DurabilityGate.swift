package import BrumeModel

/// Keeps what shows a commit from leaving before the commit is durable (P1): answers and failures, captures and events.
///
/// Whatever waits for a position waits for as long as the disk takes: a caller who can't wait has a deadline, and may
/// ask again. What waits is bounded in bytes; an answer beyond the bound becomes a refusal at once. What shows a
/// database that is lost, or is lost while it waits, becomes a refusal too.
///
/// Belongs to one loop. For `@exclusivity(unchecked)` see ``Shard``.
package final class DurabilityGate {
    private enum Waiter {
        /// What shows no database, or looks for itself whether those that it shows were lost.
        case action(() -> Void)
        /// What shows a database: gets nil when it may, or why it may not.
        case showing(LoadedDatabase, (ServiceError?) -> Void)
        /// A call's outcome, which is what waits most often: it needs no closure. `byteCount` bytes are held for it.
        case outcome(LoadedDatabase, Outcome, byteCount: Int, counted: Int, Responder)

        func shows(_ database: LoadedDatabase) -> Bool {
            switch self {
            case .action: false
            case .showing(let shown, _), .outcome(let shown, _, _, _, _): shown === database
            }
        }
    }

    /// Everything up to this position is durable.
    @exclusivity(unchecked) private(set) var position: UInt64 = 0
    /// Bytes of the outcomes that wait.
    @exclusivity(unchecked) package private(set) var heldByteCount = 0
    @exclusivity(unchecked) private var waiting = DurabilityQueue<Waiter>()
    private let heldBytesLimit: Int
    /// Says why nothing can be written now, if nothing can: asked for each outcome that finds no room.
    var writeRefusal: () -> ServiceError? = { nil }

    init(heldBytesLimit: Int = ServiceLimits.heldAnswerBytes) {
        self.heldBytesLimit = heldBytesLimit
    }

    /// The number of actions and outcomes that wait.
    package var count: Int { waiting.count }

    /// Runs `action` when everything up to the position is durable: at once if it is.
    func whenDurable(_ position: UInt64, _ action: @escaping () -> Void) {
        if position <= self.position { return action() }
        waiting.insert(.action(action), at: position)
    }

    /// Calls `show` with nil when everything up to the position is durable, or with an error if the database is lost.
    package func whenDurable(_ position: UInt64, of database: LoadedDatabase, _ show: @escaping (ServiceError?) -> Void)
    {
        if database.isLost { return show(.databaseLost) }
        if position <= self.position { return show(nil) }
        waiting.insert(.showing(database, show), at: position)
    }

    /// Gives an outcome when everything up to the position is durable.
    func whenDurable(
        _ position: UInt64, of database: LoadedDatabase, _ outcome: Outcome, _ give: @escaping (Outcome) -> Void
    ) {
        if database.isLost { return give(.failure(.databaseLost)) }
        if position <= self.position { return give(outcome) }
        let byteCount = outcome.heldByteCount
        guard hold(byteCount) else { return give(.failure(refusal)) }
        let show: (ServiceError?) -> Void = { [self] error in
            heldByteCount -= byteCount
            give(error.map { .failure($0) } ?? outcome)
        }
        waiting.insert(.showing(database, show), at: position)
    }

    /// The same for a client of this loop; the outcome counts as the client's output while it waits.
    func whenDurable(
        _ position: UInt64, of database: LoadedDatabase, _ outcome: Outcome, to responder: Responder
    ) {
        if database.isLost { return responder.finish(.failure(.databaseLost)) }
        if position <= self.position { return responder.finish(outcome) }
        let byteCount = outcome.heldByteCount
        guard hold(byteCount) else { return responder.finish(.failure(refusal)) }
        let counted = responder.client.hold(byteCount)
        waiting.insert(
            .outcome(database, outcome.compact, byteCount: byteCount, counted: counted, responder), at: position)
    }

    /// Everything up to the position is durable: lets through what waited for it, in order.
    func open(upTo position: UInt64) {
        self.position = max(self.position, position)
        while let waiter = waiting.next(upTo: self.position) { release(waiter) }
    }

    /// Refuses all that shows a database, which was lost.
    func refuse(showing database: LoadedDatabase) {
        for waiter in waiting.removeAll(where: { $0.shows(database) }) { release(waiter) }
    }

    private func release(_ waiter: Waiter) {
        switch waiter {
        case .action(let action): action()
        case .showing(let database, let show): show(database.isLost ? .databaseLost : nil)
        case .outcome(let database, let outcome, let byteCount, let counted, let responder):
            heldByteCount -= byteCount
            responder.client.release(byteCount, counted: counted)
            responder.finish(database.isLost ? .failure(.databaseLost) : outcome)
            responder.client.door.resumeIfPossible()
        }
    }

    /// Releases what waits, without running it.
    func abandon() {
        waiting = DurabilityQueue()
        writeRefusal = { nil }
    }

    /// Counts bytes that wait, if there is room for them.
    private func hold(_ byteCount: Int) -> Bool {
        guard heldByteCount + byteCount <= heldBytesLimit else { return false }
        heldByteCount += byteCount
        return true
    }

    private var refusal: ServiceError { writeRefusal() ?? .diskBehind }
}
