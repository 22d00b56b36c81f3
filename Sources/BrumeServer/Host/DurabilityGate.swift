internal import BrumeModel

/// Keeps what shows a commit from leaving before the commit is durable (P1): answers and failures, captures and events.
///
/// Whatever waits for a position waits for as long as the disk takes: a caller who can't wait has a deadline, and may
/// ask again. What waits is bounded in bytes; an answer beyond the bound becomes a refusal at once.
///
/// Belongs to one loop. For `@exclusivity(unchecked)` see ``Shard``.
final class DurabilityGate {
    private enum Waiter {
        case action(() -> Void)
        /// A call's outcome, which is what waits most often: it needs no closure. `byteCount` bytes are held for it.
        case outcome(Outcome, byteCount: Int, counted: Int, Responder)
    }

    /// Everything up to this position is durable.
    @exclusivity(unchecked) private(set) var position: UInt64 = 0
    /// Bytes of the outcomes that wait.
    @exclusivity(unchecked) private(set) var heldByteCount = 0
    @exclusivity(unchecked) private var waiting = DurabilityQueue<Waiter>()
    private let heldBytesLimit: Int
    /// Says why nothing can be written now, if nothing can: asked for each outcome that finds no room.
    var writeRefusal: () -> ServiceError? = { nil }

    init(heldBytesLimit: Int = ServerLimits.heldAnswerBytes) {
        self.heldBytesLimit = heldBytesLimit
    }

    /// The number of actions and outcomes that wait.
    var count: Int { waiting.count }

    /// Runs `action` when everything up to the position is durable: at once if it is.
    func whenDurable(_ position: UInt64, _ action: @escaping () -> Void) {
        if position <= self.position { return action() }
        waiting.insert(.action(action), at: position)
    }

    /// Gives an outcome when everything up to the position is durable.
    func whenDurable(_ position: UInt64, _ outcome: Outcome, _ give: @escaping (Outcome) -> Void) {
        if position <= self.position { return give(outcome) }
        let byteCount = outcome.heldByteCount
        guard hold(byteCount) else { return give(.failure(refusal)) }
        let action = { [self] in
            heldByteCount -= byteCount
            give(outcome)
        }
        waiting.insert(.action(action), at: position)
    }

    /// The same for a client of this loop; the outcome counts as the client's output while it waits.
    func whenDurable(_ position: UInt64, _ outcome: Outcome, to responder: Responder) {
        if position <= self.position { return responder.finish(outcome) }
        let byteCount = outcome.heldByteCount
        guard hold(byteCount) else { return responder.finish(.failure(refusal)) }
        let counted = responder.client.hold(byteCount)
        waiting.insert(
            .outcome(outcome.compact, byteCount: byteCount, counted: counted, responder), at: position)
    }

    /// Everything up to the position is durable: lets through what waited for it, in order.
    func open(upTo position: UInt64) {
        self.position = max(self.position, position)
        while let waiter = waiting.next(upTo: self.position) {
            switch waiter {
            case .action(let action): action()
            case .outcome(let outcome, let byteCount, let counted, let responder):
                heldByteCount -= byteCount
                responder.client.release(byteCount, counted: counted)
                responder.finish(outcome)
                responder.client.door.resumeIfPossible()
            }
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

    private var refusal: ServiceError {
        writeRefusal() ?? .diskBehind
    }
}
