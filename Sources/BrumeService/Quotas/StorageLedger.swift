internal import BrumeLock
internal import BrumeModel

/// The bytes of the private databases that are in memory, and of those that count for an account. Any thread.
///
/// A database's own name does not tell whose it is. It counts for an account from the moment that a client of the
/// account has it, or that the account's databases are looked for (``ServerCore/countStorage(of:asking:_:)``).
///
/// Takes some 200 bytes for a database; for one that is not in memory only when its account has been seen since the
/// start.
package final class StorageLedger: Sendable {
    private let databases = Lock<[DatabaseID: DatabaseStorage]>([:])

    /// A database came into memory.
    func opened(_ id: DatabaseID, bytes: Int) -> DatabaseStorage {
        databases.withLock { databases in
            if let known = databases[id] {
                known.changed(to: bytes)
                return known
            }
            let storage = DatabaseStorage(bytes: bytes)
            databases[id] = storage
            return storage
        }
    }

    /// A database left the memory: its snapshot holds all of it.
    func dropped(_ id: DatabaseID) {
        databases.withLock { databases in
            if databases[id]?.counts == false { databases[id] = nil }
        }
    }

    /// Counts a database for an account, if it is known. Returns whether it is.
    func attach(_ id: DatabaseID, to account: AccountStorage) -> Bool {
        databases.withLock { databases in
            databases[id]?.belongs(to: account)
            return databases[id] != nil
        }
    }

    /// Counts a database for an account that nothing was known of, with the bytes that its snapshot holds.
    func add(_ id: DatabaseID, bytes: Int, of account: AccountStorage) {
        databases.withLock { databases in
            // It may have been opened meanwhile, and then what is known is newer.
            let storage = databases[id] ?? DatabaseStorage(bytes: bytes)
            databases[id] = storage
            storage.belongs(to: account)
        }
    }

    /// What an account is said to use, and what its databases come to, where that differs; nil when nothing differs.
    /// No loop may run meanwhile.
    package func problem() -> String? {
        var sums: [ObjectIdentifier: (account: AccountStorage, bytes: Int)] = [:]
        for storage in databases.withLock({ Array($0.values) }) {
            let (bytes, account) = storage.counted
            if let account { sums[ObjectIdentifier(account), default: (account, 0)].bytes += bytes }
        }
        return sums.values.first { $0.account.usedBytes != $0.bytes }.map {
            "an account is said to use \($0.account.usedBytes) bytes, and its databases hold \($0.bytes)"
        }
    }
}
