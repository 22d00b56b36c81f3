package import BrumeModel

/// The seam between databases and what makes them durable. All that the engine's host asks of a log is here, so that a
/// second one, on a database server that many nodes share, can take the place of the local journal.
///
/// One owner at a time: whoever opened a database last. A log that several nodes share refuses appends of an earlier
/// owner (`StoreError`); the local journal has one process, which the lock on its folder sees to.
package protocol CommitLog: AnyObject {
    /// The database in its latest durable state, empty if it never was. The caller owns it from now on.
    func open(_ id: DatabaseID) throws(StoreError) -> Database
    /// Takes a commit, in the order of its database's sequence, and returns its position in the log. It is durable when
    /// ``durablePosition`` has reached that. Does not block on the disk.
    func append(_ entry: JournalEntry) throws(StoreError) -> UInt64
    /// Every commit up to this position is durable. Positions begin at 1.
    var durablePosition: UInt64 { get }
    /// Keeps a database as it was at a durable commit, so that the log before it can be removed. Returns the snapshot's
    /// bytes.
    @discardableResult
    func writeSnapshot(_ capture: DatabaseCapture) throws(StoreError) -> UInt64
    /// Releases a database: the log will take no more of its commits from this owner.
    func close(_ id: DatabaseID)
}
