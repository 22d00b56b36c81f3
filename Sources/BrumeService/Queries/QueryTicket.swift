internal import Synchronization

/// Tells a query that runs, maybe on another loop, that nobody waits for it any more: its call was cancelled or passed
/// its deadline, or the connection closed.
final class QueryTicket: Sendable {
    /// The account whose share of the loop's time the query takes.
    let account: ClientShare.Key
    private let cancelled = Atomic<Bool>(false)

    init(of account: ClientShare.Key) { self.account = account }

    /// On the client's loop.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Checked before each slice.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
}
