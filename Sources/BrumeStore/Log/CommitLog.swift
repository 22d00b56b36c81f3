package import BrumeModel

/// What makes the commits of one shard durable, and where its databases come from. With ``CommitLogHost`` it is all
/// that the two know of each other, so that a log on a database server that many nodes share can take the place of the
/// local journal.
///
/// A log belongs to the loop of its shard, and calls its host there. It never blocks that loop on a disk or a network.
///
/// How a log keeps commits is its own affair. One that grows asks its host for captures of databases now and then,
/// saves them, and drops the commits that they hold.
package protocol CommitLog: AnyObject {
    /// The shard. Set before anything else is asked; a log does not keep its host alive, and forgets it with
    /// ``CommitLogs/release()``.
    var host: (any CommitLogHost)? { get set }

    /// Hands over the databases that were read when the server started, once, in an order that is the same in every
    /// run.
    func takeRecovered() -> [OpenedDatabase]

    /// Opens a database that is not in memory, in its latest durable state; empty if it never had a commit. It is made
    /// with the log's epoch, and begins a run of this life of the server (``Database/begin(run:)``), random and not
    /// used before: without one, tokens of a future that was lost would pass for tokens of the one that took its place.
    /// Commits that were taken before the database was closed are durable by then, or never will be. The host owns the
    /// database until it gives it up with ``close(_:)``, and asks for it once at a time.
    ///
    /// Exactly one of the two closures is called within the call.
    ///
    /// - Parameters:
    ///   - background: Called when opening takes longer than a loop should wait. The host runs the work that it is
    ///     given on a thread where it is fair to those who wait there, once, or not at all: then the database is not
    ///     opened, and may be asked for again.
    ///   - done: Called when the database is open, or can't be opened: at once, or on the loop after the work was run.
    ///     After an error of the disk it may be asked for again; what is damaged stays so until the next start.
    func open(
        _ id: DatabaseID, background: (_ work: @escaping @Sendable () -> Void) -> Void,
        _ done: @escaping (Result<OpenedDatabase, StoreError>) -> Void)

    /// Why no commit can be taken now; nil when commits are taken. Asked before a request is decided.
    var refusal: CommitLogRefusal? { get }

    /// Takes a commit of a database that was opened. Commits of a database come in the order of its sequence.
    ///
    /// When it throws, what the host has in memory is ahead of the log: the host drops the database, tells nobody of
    /// the commit, and opens the database again when it is used.
    ///
    /// - Parameter movedRecords: See ``Database/takeMovedRecords()``.
    func append(_ entry: JournalEntry, movedRecords: Int) throws(CommitLogRefusal) -> AppendedCommit

    /// Everything that was appended may go on its way: the turn ends, or somebody is about to wait for it.
    func submit()

    /// Every commit up to this position is durable, except for those of databases that were lost; 0 at the start. The
    /// host learns of it by ``CommitLogHost/becameDurable(upTo:)``.
    var durablePosition: UInt64 { get }

    /// Saves databases that the host wants to drop, whose last commits are not saved. Calls `done` on the loop, with
    /// false if not all of them could be saved.
    func save(_ ids: [DatabaseID], _ done: @escaping @Sendable (_ isSaved: Bool) -> Void)

    /// The host has dropped the database: nobody uses it, and all of its commits are durable and saved; or it was lost.
    func close(_ id: DatabaseID)
}

/// A database as a log opened it. The host owns it from then on.
package struct OpenedDatabase {
    /// The database in its latest durable state; empty if it never had a commit.
    package let database: Database
    /// The last of its commits that are saved: see ``CommitLogHost/saved(_:upTo:)``.
    package let savedSequence: UInt64

    package init(_ database: Database, savedSequence: UInt64) {
        self.database = database
        self.savedSequence = savedSequence
    }
}

/// A commit that a log has taken.
package struct AppendedCommit {
    /// Counts the commits of the log, from 1: greater than every earlier position.
    package let position: UInt64
    /// About how many bytes it takes until it is durable.
    package let byteCount: Int

    package init(position: UInt64, byteCount: Int) {
        self.position = position
        self.byteCount = byteCount
    }
}

/// Why a log takes no commit.
package enum CommitLogRefusal: Error, Equatable, Sendable {
    /// There is no room, until somebody makes some.
    case full
    /// Too much waits to become durable; a moment later there is room again.
    case behind
    /// The database belongs to another owner, who may have committed since. Only ``CommitLog/append(_:)`` says so.
    case fenced
}
