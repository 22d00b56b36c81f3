/// The server's own limits, each with its reason. What a connection may take is in `ServerConnectionLimits`.
enum ServerLimits {
    /// Commits that wait for the disk. Above it writes are refused with a time to come back: a disk that is this far
    /// behind needs quiet, not a longer queue.
    static let undurableBytes = 64 * 1024 * 1024

    /// What a refusal of a write says when the disk is full: making room takes longer than catching up.
    static let diskFullRetryMilliseconds: UInt32 = 5_000

    /// How often a full disk is tried again.
    static let diskFullPauseMilliseconds = 1_000

    /// Answers of one loop that wait for the disk. Beyond it a call is refused with a time to come back: while the disk is
    /// full nothing that waits gets an answer, and clients that give up and ask again must not fill the memory.
    static let heldAnswerBytes = 64 * 1024 * 1024

    /// Bytes that one sync takes at most: the others wait for the next, so that no answer waits for all of them.
    static let batchBytes = 8 * 1024 * 1024

    /// Events that a database keeps for devices that are away or slow. Overflow becomes "fetch from your token".
    static let backlogEvents = 1_024

    /// Bytes of those events.
    static let backlogBytes = 1024 * 1024

    /// Devices of a user whose last acknowledgement is remembered.
    static let rememberedDevices = 256

    /// Streams of one database: one per device that is connected.
    static let streamsPerDatabase = 1_000

    /// Output of a connection above which its stream waits and its frames are not read.
    static let outputBytes = 1024 * 1024

    /// What a call on its way to another loop counts as output: sixteen may be under way before reading pauses.
    static let travellingBytes = outputBytes / 16

    /// What captures for snapshots may cost in one turn of a shard's loop: a database counts 10 and 1 for each zone, about a
    /// tenth of a microsecond each.
    static let captureCost = 1_000

    /// Databases that are looked at in one turn, to drop those that nobody uses.
    static let dropScan = 256

    /// Databases whose snapshots are written at a time so that they can be dropped.
    static let dropSnapshots = 32

    /// How long no snapshots are written for that after the disk failed.
    static let dropPauseNanoseconds: UInt64 = 30_000_000_000

    /// How often the log says that databases in use take more than the budget.
    static let budgetWarningNanoseconds: UInt64 = 60_000_000_000

    /// What a reply that waits for the disk counts beside its bytes: a client that cancels its calls has no limit on them.
    static let heldReplyBytes = 512

    /// Accounts of one server: the account file is written whole at each change.
    static let accounts = 100_000

    /// Accounts in one answer to the operator: some 400 bytes each fit into a frame ten times.
    static let accountsPerPage = 1_000

    /// Tokens of one account: one for each device or program, with room to rotate.
    static let tokensPerAccount = 32

    /// Containers that accounts may open while the operator has named none: each brings databases. More need `--container`.
    static let containers = 1_000

    /// The same for one account: an app has one or two, and no account may use up all of the server's.
    static let containersPerAccount = 32

    /// Lines a second, of each loop, about peers that are refused.
    static let refusalLinesPerSecond = 10

    /// How often deadlines are looked at. A deadline is kept to this.
    static let sweepMilliseconds: UInt64 = 250

    /// Bytes of the account file.
    static let accountFileBytes = 256 * 1024 * 1024
}
