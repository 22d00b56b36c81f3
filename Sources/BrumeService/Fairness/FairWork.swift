internal import BrumeSystem

/// Work of accounts on a loop that belongs to no account: one piece at a time, and one account after the other.
///
/// Nobody waits for all that somebody else has asked for there, and what the loop is given directly waits for one piece
/// at most.
///
/// `@unchecked Sendable`: `queue` belongs to the loop.
final class FairWork: @unchecked Sendable {
    /// A piece of work. It calls what it is given, once and on the loop, when it is over.
    typealias Piece = @Sendable (_ isOver: @escaping @Sendable () -> Void) -> Void

    private let loop: EventLoop
    private var queue = FairQueue<Piece>()
    /// Whether a piece is under way, or about to begin.
    private var isBusy = false

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Has the loop do something when it is the account's turn. Any thread.
    func add(of account: ClientShare.Key, _ work: @escaping @Sendable () -> Void) {
        add(of: account) { isOver in
            work()
            isOver()
        }
    }

    /// The same for work that goes on after it returns: the next piece waits until it is over. Any thread.
    func add(of account: ClientShare.Key, _ piece: @escaping Piece) {
        loop.execute { [self] in
            queue.append(piece, of: account)
            if !isBusy { doNextInNextTurn() }
        }
    }

    /// Not in this turn: others may have asked in the same one, and all of them come before anybody's second piece.
    private func doNextInNextTurn() {
        isBusy = !queue.isEmpty
        if !isBusy { return }
        loop.execute { [self] in
            queue.popFirst()!.element { [self] in doNextInNextTurn() }
        }
    }
}
