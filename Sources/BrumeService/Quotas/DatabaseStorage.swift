internal import BrumeLock

/// The bytes of one private database. They count as its account's once that is known. Any thread.
package final class DatabaseStorage: Sendable {
    private struct State {
        var bytes: Int
        var account: AccountStorage?
    }

    private let state: Lock<State>

    init(bytes: Int) { state = Lock(State(bytes: bytes)) }

    /// The database holds so many bytes now.
    func changed(to bytes: Int) {
        state.withLock { state in
            state.account?.change(by: bytes - state.bytes)
            state.bytes = bytes
        }
    }

    /// The database is the account's.
    func belongs(to account: AccountStorage) {
        state.withLock { state in
            if state.account === account { return }
            // An account that was removed and made again is another object.
            state.account?.change(by: -state.bytes)
            account.change(by: state.bytes)
            state.account = account
        }
    }

    /// Its bytes, and the account for which they count.
    package var counted: (bytes: Int, account: AccountStorage?) { state.withLock { ($0.bytes, $0.account) } }

    /// Whether the sum of an account would be wrong without it.
    var counts: Bool {
        let (bytes, account) = counted
        return account != nil && bytes > 0
    }

    /// What the account stores in its other databases.
    func bytesElsewhere(of account: AccountStorage) -> Int {
        // Read one after the other: a commit on another loop may come between.
        state.withLock { max(0, account.usedBytes - $0.bytes) }
    }
}
