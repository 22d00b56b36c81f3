internal import BrumeModel
internal import BrumeStore

/// What a ``DatabaseCache`` asks of the loop that it belongs to. On that loop.
protocol DatabaseCacheHost: AnyObject {
    // MARK: Databases that come and go

    /// Puts around a database what the loop has of it besides its contents.
    ///
    /// - Parameter storage: What it holds, for its account's quota; nil for one that is not kept, and for a public one.
    func makeLoaded(_ database: Database, storage: DatabaseStorage?, savedSequence: UInt64) -> LoadedDatabase
    /// A database comes into the memory, and will leave it.
    func databaseEnters(_ loaded: LoadedDatabase)
    /// A database has come that these have waited for.
    func databaseArrived(_ loaded: LoadedDatabase, clients: [Client], users: [Identity])
    /// A database can't be loaded: its file is damaged, or the disk could not read it.
    func databaseFailed(isDamaged: Bool)
    /// A database leaves the memory.
    func databaseLeaves(_ loaded: LoadedDatabase)
    /// A database that may be in use has left the memory, because the log did not take its last commit, or has lost it.
    func databaseLost(_ loaded: LoadedDatabase)

    // MARK: Turns

    /// Whether a call of the account, which has waited for a database, may run in this turn.
    func mayRunCall(of account: ClientShare.Key) -> Bool
    /// Whether it may run in one of the next turns, as far as is known.
    func mayRunCallSoon(of account: ClientShare.Key) -> Bool
    /// Runs a call, and charges its time to the account.
    func runCall(of account: ClientShare.Key, _ body: () -> Void)
}
