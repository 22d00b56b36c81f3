package import BrumeModel

/// What makes all databases of a server durable: a ``CommitLog`` for each shard, and what is asked of them together.
///
/// May be used on any thread.
package protocol CommitLogs: AnyObject, Sendable {
    // MARK: The start

    /// Names the first life of what the log holds: see ``Database``.
    var epoch: UInt32 { get }
    /// Whether no server has used what the log stands on before.
    var isNew: Bool { get }
    /// The containers that hold data.
    func containers() throws(StoreError) -> Set<String>
    /// The log of a shard.
    func log(ofShard index: Int) -> any CommitLog
    /// Lets the log's threads run, if it has any.
    func start()

    // MARK: What it holds

    /// Whether there may be commits of the database.
    func holds(_ id: DatabaseID) -> Bool
    /// The databases of a container that are saved. Others are in memory.
    func databases(of container: String, _ environment: Environment) throws(StoreError) -> [DatabaseID]
    /// ``Database/quotaBytes`` of a database as it is saved; 0 when it is not, nil when only
    /// ``countedQuotaBytes(of:)`` can tell. May wait for a disk.
    func quotaBytes(of id: DatabaseID) throws(StoreError) -> Int?
    /// The same, counted from all that is saved.
    func countedQuotaBytes(of id: DatabaseID) throws(StoreError) -> Int

    // MARK: How it is

    /// Whether commits wait for room: see ``CommitLogRefusal/full``.
    var isFull: Bool { get }
    /// Bytes that wait to become durable.
    var undurableByteCount: Int { get }
    /// Whether something that was saved is damaged.
    var isDamageFound: Bool { get }
    /// Adds what the log counts to the server's figures.
    func addFigures(to figures: inout ServerFigures)

    // MARK: Saving

    /// Saves all databases with commits from before the call that are not saved. Calls `done` on any loop.
    func saveAll(_ done: @escaping @Sendable (Result<SnapshotSummary, SaveFailure>) -> Void)

    // MARK: The end

    /// The server is about to stop: what the log saves of its own accord may be left to ``saveAll(_:)``.
    func beginStopping()
    /// Nobody waits for a database any more: those under way are given up.
    func endOpening()
    /// Waits for room no longer: a log that is full, or becomes full, ends the process.
    func giveUpWhenFull()
    /// Ends the log's threads when everything that was submitted is durable, and waits for that.
    func stop()
    /// Releases everything that refers to the shards. Called when no loop runs any more.
    func release()
}

/// Why not all databases could be saved. Nothing is lost: the log keeps their commits.
package struct SaveFailure: Error, Equatable, Sendable {
    /// Whether the reason is that there is no room.
    package let isFull: Bool
    package let message: String

    package init(isFull: Bool, message: String) {
        self.isFull = isFull
        self.message = message
    }
}
