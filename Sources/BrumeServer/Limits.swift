internal import BrumeService
internal import Glibc

/// The limits of the server around its service, each with its reason. What a connection may take is in
/// `ServerConnectionLimits`.
package enum ServerLimits {
    /// Connections at the operator's door. Each command has one, and few run at a time; more are closed at once.
    static let operatorConnections = 64

    /// A session that holds no more unread output than this is not ended to make room: ending it would make none.
    static let unreadFloorBytes = 64 * 1024

    /// A frame up to this size may arrive in parts without room in the budget for it: less than a connection takes
    /// anyway, so that as many connections as there may be hold no more than that in beginnings of frames. A larger one
    /// that comes in one read needs no room either.
    static let unreservedFrameBytes = 4 * 1024

    /// The largest frame of a peer without an account: the largest request that only reads has 256 KiB of predicate,
    /// and a cursor.
    static let anonymousFrameBytes = 512 * 1024

    /// How long an incomplete frame keeps its room while others wait for some; then the largest gives way.
    static let frameGraceNanoseconds: UInt64 = 2_000_000_000

    /// How long the journal is idle before it notes on the disk that its last batch is synced: an extra sync when none
    /// was due, and so short a time that a crash seldom comes before it.
    static let journalRecordMilliseconds = 50

    /// How often a full disk is tried again.
    static let diskFullPauseMilliseconds = 1_000

    /// Bytes that one sync takes at most: the others wait for the next, so that no answer waits for all of them.
    static let batchBytes = 4 * 1024 * 1024

    /// The bytes of entries that a loop expects in a turn: room for twice as much is kept for the next turns.
    static let expectedTurnBytes = 1024 * 1024

    /// The items that a loop may load itself: about a millisecond's work at the most. Most databases are smaller, and
    /// are loaded sooner than another thread would have them: see ``ServerConfiguration/shortLoadBytes``.
    static let shortLoadItems = 512

    /// The same for the bytes that a small file decompresses to.
    static let shortLoadContentBytes = 512 * 1024

    /// Threads that load one database together: more would only wait for the one that puts what is ready in its place.
    static let loadThreads = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Threads that wait for the disk of the assets: a disk does several things at a time, and the processors have
    /// others.
    static let blobThreads = 4

    /// Seconds that an upload is kept which was left: so long a client finds it again.
    package static let keptUploadSeconds: UInt32 = 24 * 60 * 60

    /// Log lines per second, of each loop, about peers that are refused.
    static let refusalLinesPerSecond = 10

    /// Log lines per second, of each loop, about calls that took long.
    static let slowCallLinesPerSecond = 10

    /// How much is read in one piece without a look at the clock after its last frame: copying that much takes a
    /// microsecond.
    static let freeReadBytes = 16 * 1024

    /// How long an answer over HTTP waits for the loops. `/livez` reports a wait that is longer.
    static let figuresTimeoutMilliseconds = 5_000

    /// Bytes of the account file.
    static let accountFileBytes = 256 * 1024 * 1024
}
