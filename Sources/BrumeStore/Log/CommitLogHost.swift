package import BrumeModel

/// What a ``CommitLog`` tells its shard, and asks of it. On the shard's loop.
package protocol CommitLogHost: AnyObject {
    /// Every commit up to the position is durable.
    func becameDurable(upTo position: UInt64)

    /// All commits of the database up to the sequence are saved: it may leave the memory when it has no others, and is
    /// opened from what is saved.
    func saved(_ id: DatabaseID, upTo sequence: UInt64)

    /// The database has another owner: what is in memory may be out of date, and commits that are not durable may never
    /// be. The host drops it, as after a commit that the log did not take. An opening that is under way the log
    /// ends itself, with an error.
    func lost(_ id: DatabaseID)

    // MARK: For a log that saves databases from time to time

    /// The databases in memory.
    var databaseIDs: [DatabaseID] { get }

    /// Takes the list of the databases with commits that are not saved. Each is returned once, and is listed again with
    /// its next commit.
    func takeUnsaved() -> [DatabaseID]

    /// Lists all databases anew that have such commits, because what was taken could not be saved.
    func listUnsaved()

    /// Captures the first of some databases, as many as it can without holding up the loop, and passes the captures on
    /// when everything in them is durable. Databases that have no unsaved commit, or are not in memory, are left out.
    ///
    /// - Parameter done: Gets the captures, and how many of the ids it was about, at least one.
    func capture(
        _ ids: ArraySlice<DatabaseID>, _ done: @escaping @Sendable (_ captures: [DatabaseCapture], _ taken: Int) -> Void
    )

    /// What was saved of the database can't be relied on: it counts as not saved. Returns false if it has no commit, or
    /// is not in memory.
    func lostSaved(_ id: DatabaseID) -> Bool
}
