internal import BrumeLock
package import BrumeModel

/// The accounts that are in effect, for look-ups from any thread. Its catalog alone changes it.
///
/// A look-up holds the lock for as long as it takes to find something in a dictionary.
package final class AccountDirectory: Sendable {
    private let table: Lock<AccountTable>

    package init(_ table: AccountTable) { self.table = Lock(table) }

    /// The holder of a token; nil if there is none.
    func holder(ofToken token: String) -> AccountHolder? {
        guard let hash = AccountToken.hash(token) else { return nil }
        return table.withLock { $0.holders[hash] }
    }

    /// Whether a token with this hash is valid.
    package func isValid(tokenHash: [UInt8]) -> Bool { table.withLock { $0.holders[tokenHash] != nil } }

    /// The account of that name.
    package func account(named name: String) -> StoredAccount? { table.withLock { $0.accounts[name] } }

    /// What the account of that name stores, and may.
    func storage(ofAccount name: String) -> AccountStorage? {
        table.withLock { table in table.accounts[name].flatMap { table.storages[$0.id] } }
    }

    /// All accounts, by name.
    package func list() -> [StoredAccount] { table.withLock { $0 }.list }

    // MARK: For the catalog

    /// The accounts, to decide the next change by.
    package var current: AccountTable { table.withLock { $0 } }

    /// Puts a change that is durable into effect. Clients that are there have a changed quota at once.
    package func takeOver(_ changed: AccountTable, _ effect: AccountChange.Effect) {
        // The former table is let go outside the lock: it may hold a hundred thousand accounts.
        var taken = changed
        table.withLock { swap(&$0, &taken) }
        guard let account = effect.after else { return }
        changed.storages[account.id]?.quotaBytes = account.quotaBytes
    }
}
