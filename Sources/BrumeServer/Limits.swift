internal import Glibc

/// The server's own limits, each with its reason. What a connection may take is in `ServerConnectionLimits`.
package enum ServerLimits {
    /// Connections at the operator's door. Each command has one, and few run at a time; more are closed at once.
    static let operatorConnections = 64

    /// Connections of one server unless somebody says otherwise: some 20 KiB each in memory.
    static let connections = 100_000

    /// Descriptors that no connection gets, or a quarter of all where that is less: journal, snapshots, loads, loops,
    /// and the operator's door.
    static let reservedDescriptors = 256

    /// Connections of one account, or of one address without an account, or a quarter of all where that is less, unless
    /// somebody says otherwise: more than a person's devices and programs need, and no four can have all.
    static let connectionsPerAccount = 1_000

    /// Connections of one address whose peers have not said who they are yet, or a quarter of those that it may have
    /// where that is more: a thousand devices behind one address that come back together get in within seconds.
    static let openingPerAddress = 256

    /// Open calls of one account or address, over all of its connections: eight connections that have as many as they
    /// may.
    static let callsPerAccount = 1_024

    /// What a refusal says to a call that is one too many: others are answered by then.
    static let callRetryMilliseconds: UInt32 = 100

    /// What a refusal says to a notification stream, or to a connection, that is one too many: another has to end
    /// first.
    static let streamRetryMilliseconds: UInt32 = 60_000
    static let connectionRetryMilliseconds: UInt32 = 10_000

    /// An account may hold so small a part of the server's output and input: an eighth.
    static let accountPart = 8

    /// The same of an address without an account.
    static let addressPart = 16

    /// The part of the budgets that clients without an account may hold together.
    static let anonymousPart = 2

    /// What somebody may hold while little is left of a budget: the largest answer or request of most apps.
    static let littleBytes = 1024 * 1024

    /// A session that holds no more unread output than this is not ended to make room: ending it would make none.
    static let unreadFloorBytes = 64 * 1024

    /// An answer or request up to this size is not counted: 1,024 open calls come to 4 MiB.
    static let uncountedBytes = 4 * 1024

    /// A frame up to this size may arrive without room in the budget for it: what one read from a socket brings.
    static let unreservedFrameBytes = 64 * 1024

    /// A frame of a peer without an account: the largest request that only reads has 256 KiB of predicate, and a
    /// cursor.
    static let anonymousFrameBytes = 512 * 1024

    /// How long a frame that is not whole keeps its room while others wait for some; then the largest gives way.
    static let frameGraceNanoseconds: UInt64 = 2_000_000_000

    /// What a refusal says to a call for whose bytes there is no room: clients that read have read by then.
    static let bytesRetryMilliseconds: UInt32 = 1_000

    /// Commits that wait for the disk. Above it writes are refused with a time to come back: a disk that is this far
    /// behind needs quiet, not a longer queue.
    static let undurableBytes = 64 * 1024 * 1024

    /// An account with this many bytes of changes on a loop that wait for the disk begins nothing more there until some
    /// of them are durable: a disk takes them within some milliseconds. So others wait for no more than these, and for
    /// the commit that goes over the limit.
    static let undurableTurnBytes = 1024 * 1024

    /// The same where no other account writes on any loop: the disk has work while the next requests are read.
    static let undurableTurnBytesAlone = 4 * 1024 * 1024

    /// How long such an account leaves the disk to others at most, for each byte that became durable: as long as a disk
    /// of 100 MB/s takes.
    static let diskRestNanosecondsPerByte: UInt64 = 10

    /// How often calls that waited for a database, and now wait for the disk, are looked at.
    static let diskLookMilliseconds: UInt64 = 5

    /// The part of it that one account may have on all loops: an eighth, and the commits that go over it. Above it its
    /// writes are refused.
    static let undurableAccountBytes = undurableBytes / accountPart

    /// What a refusal says to an account that has as much there: a disk that keeps up has taken it by then.
    static let undurableRetryMilliseconds: UInt32 = 250

    /// What a refusal of a write says when the disk is full: making room takes longer than catching up.
    static let diskFullRetryMilliseconds: UInt32 = 5_000

    /// Events for devices that a loop makes in one turn, of all its databases: some milliseconds.
    static let eventsPerTurn = 1_024

    /// Events of one database that wait to be made; above it saves there are to come back later.
    static let eventsWaiting = 65_536

    /// Record types that queries ask for and schemas do not know, whose records are being looked at.
    static let lessonScansPerLoop = 64

    /// How long the journal has nothing to do before it notes on the disk that its last batch is synced: a sync more,
    /// where none was due, and so little that a crash seldom comes before it.
    static let journalRecordMilliseconds = 50

    /// How often a full disk is tried again.
    static let diskFullPauseMilliseconds = 1_000

    /// Answers of one loop that wait for the disk. Beyond it a call is refused with a time to come back: while the disk
    /// is full nothing that waits gets an answer, and clients that give up and ask again must not fill the memory.
    static let heldAnswerBytes = 64 * 1024 * 1024

    /// Bytes that one sync takes at most: the others wait for the next, so that no answer waits for all of them.
    static let batchBytes = 4 * 1024 * 1024

    /// What a loop expects of a turn: room for twice as much is kept for the next ones.
    static let expectedTurnBytes = 1024 * 1024

    /// Events that a database keeps for a user's devices that are away or slow. Overflow becomes "fetch from your
    /// token".
    static let backlogEvents = 1_024

    /// Bytes of those events.
    static let backlogBytes = 1024 * 1024

    /// Events of a database that wait for the end of the turn to be given to devices. With more they are given sooner.
    static let undeliveredEvents = 16

    /// Bytes of the events that a public database keeps for all of its users: those of some ten thousand who are away.
    static let publicBacklogBytes = 64 * 1024 * 1024

    /// Events of the public database on their way to one stream: enough to keep it busy while more are asked for.
    static let publicEventsUnderWay = 32

    /// Openings and ends of one session's notification streams that may wait for the public database's loop. With more
    /// the session is not read until that has answered: whoever opens and cancels as fast as possible waits for it.
    static let farTasksPerSession = 16

    /// Devices of a user whose place in the private database is remembered: all that may hold a stream at a time.
    static let rememberedDevices = 1_024

    /// The same in a public database, which does so for all of its users.
    static let rememberedPublicDevices = 16

    /// Users whose events and acknowledgements a database keeps. Beyond it those who don't listen are forgotten, and
    /// told to fetch when they come again.
    static let mailboxesPerDatabase = 100_000

    /// Streams of one database: one per device that is connected.
    static let streamsPerDatabase = 1_000

    /// Output of a connection above which its stream waits and its frames are not read.
    static let outputBytes = 1024 * 1024

    /// What a call on its way to another loop counts as output of its connection: sixteen may be under way before
    /// reading pauses. The account's share counts what their answers really have, as soon as they are made.
    static let travellingBytes = outputBytes / 16

    /// What captures for snapshots may cost in one turn of a shard's loop: a database counts 10 and 1 for each zone,
    /// about a tenth of a microsecond each.
    static let captureCost = 1_000

    /// What a loop may load itself: about a millisecond's work at the most. Most databases are smaller, and are there
    /// sooner than another thread would have them: see ``ServerConfiguration/shortLoadBytes``.
    static let shortLoadItems = 512

    /// The same for what is decompressed of a small file.
    static let shortLoadContentBytes = 512 * 1024

    /// Databases of one loop that are loaded on the loader's thread, or wait for it. For one more a call is refused
    /// with a time to come back.
    static let loads = 1_024

    /// Threads that load one database together: beyond so many they wait for the one that puts what is ready in its
    /// place.
    static let loadThreads = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Calls that wait for one database to be loaded; of one account as many as are free, so that there is always one
    /// for somebody else. For one more a call is refused with a time to come back: as many again would take longer than
    /// the load.
    static let callsPerLoad = 1_024

    /// Bytes of the calls that wait for databases of one loop: sixteen times the largest call.
    static let waitingCallBytes = 64 * 1024 * 1024

    /// Calls that one turn of a loop answers when their database has been loaded.
    static let awaitedCallsPerTurn = 16

    /// What a refusal says to a call that would have to wait: a database of 500,000 records is there by then.
    static let loadRetryMilliseconds: UInt32 = 1_000

    /// Databases that are looked at in one turn, to drop those that nobody uses.
    static let dropScan = 256

    /// Databases whose snapshots are written at a time so that they can be dropped.
    static let dropSnapshots = 32

    /// How long no snapshots are written for that after the disk failed.
    static let dropPauseNanoseconds: UInt64 = 30_000_000_000

    /// How often the log says that databases in use take more than the budget.
    static let budgetWarningNanoseconds: UInt64 = 60_000_000_000

    /// What a reply that waits for the disk counts beside its bytes: a client that cancels its calls has no limit on
    /// them.
    static let heldReplyBytes = 512

    /// Encoded bytes of the records of each private database, unless the operator says otherwise: as much as people get
    /// elsewhere for nothing, and what no person fills with records.
    package static let quotaBytes = 5 * 1024 * 1024 * 1024

    /// The same of a public database, which all users of an app fill.
    package static let publicQuotaBytes = 20 * 1024 * 1024 * 1024

    /// Accounts of one server: the account file is written whole at each change.
    static let accounts = 100_000

    /// Accounts in one answer to the operator: some 400 bytes each fit into a frame ten times.
    static let accountsPerPage = 1_000

    /// Places of records that one turn looks at for a schema that does not know their type: at a microsecond or two
    /// each, no longer than queries may take.
    static let lessonPlacesPerTurn = 1_000

    /// Names of record types that a database remembers to have been asked about.
    static let taughtTypes = 256

    /// Members of roles in one answer to the operator: each with up to 100 roles of 255 bytes; the answer ends before a
    /// frame does.
    static let roleMembersPerPage = 500

    /// Bytes of such an answer.
    static let roleMemberBytesPerPage = 1024 * 1024

    /// Tokens of one account: one for each device or program, with room to rotate.
    static let tokensPerAccount = 32

    /// Containers of one account, beyond which it opens no new one while the operator has named none: each brings
    /// databases, and an app has one or two. There is no limit for all accounts together, which some could use up for
    /// the others: the operator makes the accounts.
    package static let containersPerAccount = 32

    /// Containers that are looked through for data of an account from before the start: at some microseconds each, once
    /// for an account.
    static let countedContainers = 1_024

    /// Lines a second, of each loop, about peers that are refused.
    static let refusalLinesPerSecond = 10

    /// Time that one account's requests may take of a turn of a loop before its next one waits: see `TimeShare`. Long
    /// enough for hundreds of ordinary requests, and with the longest request well below what others may have to wait.
    static let accountTurnNanoseconds: UInt64 = 5_000_000

    /// Frames and requests of one account in a turn: more than its connections mostly bring, and less than five
    /// milliseconds' worth of the smallest.
    static let accountTurnCount = 4_096

    /// What is read in one piece without a look at the clock behind its last frame: copying so much takes a
    /// microsecond.
    static let freeReadBytes = 16 * 1024

    /// Time that what has waited for a turn may take of one, for all accounts together.
    static let turnsNanoseconds: UInt64 = 10_000_000

    /// Accounts whose shares of a loop's time are known without sessions of theirs on it, before they are looked
    /// through.
    static let idleTimeShares = 1_024

    /// Queries of one account on a loop that run at a time: an eighth of ``queriesPerLoop``. One more is refused with a
    /// time to come back.
    static let queriesPerAccount = 32

    /// How long one turn answers calls that waited for their database, beside the limit on their number.
    static let awaitedCallsNanoseconds: UInt64 = 5_000_000

    /// How long queries may keep a loop in one turn: what waits there meanwhile waits no longer, and its own turn.
    static let querySliceNanoseconds: UInt64 = 2_000_000

    /// How long one step of a query is to take, between two looks at the clock.
    static let queryStepNanoseconds: UInt64 = 250_000

    /// What indexes do behind commits between two looks at the clock: about as many microseconds, as long as
    /// ``queryStepNanoseconds``.
    static let indexStepUnits = 250

    /// Steps of queries in one turn. It counts where the clock stands still, in a loop that is driven by hand.
    static let queryStepsPerTurn = 128

    /// Queries of one session that run at a time. One more is refused with a time to come back.
    static let queriesPerSession = 16

    /// Queries of one loop that run at a time, for all sessions: each holds up to a page of matches. One more is
    /// refused with a time to come back.
    static let queriesPerLoop = 256

    /// Databases that one turn of a loop measures for the figures: each costs for its zones, about a microsecond for
    /// most.
    static let measuredDatabasesPerTurn = 512

    /// How long an answer over HTTP waits for the loops. One that takes longer is what `/livez` is to tell.
    static let figuresTimeoutMilliseconds = 5_000

    /// How often deadlines are looked at. A deadline is kept to this.
    static let sweepMilliseconds: UInt64 = 250

    /// Bytes of the account file.
    static let accountFileBytes = 256 * 1024 * 1024
}
