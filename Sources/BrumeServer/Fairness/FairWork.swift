internal import BrumeSystem

/// Work of accounts on a loop that belongs to no account: one piece in a turn, and one account after the other.
///
/// Nobody waits for all that somebody else has asked for there, and what the loop is given directly waits for one piece
/// at most.
///
/// `@unchecked Sendable`: `queue` belongs to the loop.
final class FairWork: @unchecked Sendable {
    private let loop: EventLoop
    private var queue = FairQueue<@Sendable () -> Void>()

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Has the loop do something when it is the account's turn. Any thread.
    func add(of account: ClientShare.Key, _ work: @escaping @Sendable () -> Void) {
        loop.execute { [self] in
            queue.append(work, of: account)
            if queue.count == 1 { doNextInNextTurn() }
        }
    }

    /// Not in this turn: others may have asked in the same one, and all of them come before anybody's second piece.
    private func doNextInNextTurn() {
        loop.execute { [self] in
            queue.popFirst()?.element()
            if !queue.isEmpty { doNextInNextTurn() }
        }
    }
}
