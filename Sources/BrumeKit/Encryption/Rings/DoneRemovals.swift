internal import BrumeLock

/// A change of the app's that takes people out of what is shared, while it is under way.
struct Removal: Sendable {
    let ring: ZoneRingID
    /// That of its ``PendingRemoval``.
    let id: UInt64
    /// Members who go by it.
    let users: Set<String>
    /// Those who stay, by their user record names.
    let staying: Set<String>
    /// Counts the removals of this process.
    let order: UInt64
}

/// What the server has done of such changes lately: of two that take the same person out one may fail, since the other
/// came first, and that person is out all the same.
final class DoneRemovals: Sendable {
    private struct State {
        var lastOrder: UInt64 = 0
        /// The newest last.
        var done: [Removal] = []
    }

    /// More than are under way at a time.
    private static let max = 64

    private let state = Lock(State())

    func nextOrder() -> UInt64 {
        state.withLock { state in
            state.lastOrder += 1
            return state.lastOrder
        }
    }

    /// Remembers that the server has done a removal, as of now: whenever it began, it may come before one that is under
    /// way.
    func note(_ removal: Removal) {
        state.withLock { state in
            state.lastOrder += 1
            state.done.append(
                Removal(
                    ring: removal.ring, id: removal.id, users: removal.users, staying: removal.staying,
                    order: state.lastOrder))
            if state.done.count > Self.max { state.done.removeFirst() }
        }
    }

    /// Whether somebody was taken out by another one that was done since a removal began.
    func tookOut(_ user: String, since removal: Removal) -> Bool {
        state.withLock { state in
            state.done.contains {
                $0.order > removal.order && $0.ring == removal.ring && !$0.staying.contains(user)
            }
        }
    }
}
