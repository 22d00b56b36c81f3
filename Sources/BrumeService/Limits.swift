/// The service's limits, each with its reason. What a door allows a connection is the door's.
package enum ServiceLimits {
    /// Connections of one server unless configured otherwise: some 20 KiB each in memory.
    package static let connections = 100_000

    /// Descriptors that no connection gets, or a quarter of all if that is less: journal, snapshots, loads, loops, and
    /// the operator's door.
    static let reservedDescriptors = 256

    /// Connections of one account, or of one address without an account, or a quarter of all if that is less, unless
    /// configured otherwise: more than a person's devices and programs need, and no four can have all.
    package static let connectionsPerAccount = 1_000

    /// Connections of one address whose peers have not identified themselves yet, or a quarter of those that the
    /// address may have if that is more: a thousand devices behind one address that come back together get in within
    /// seconds.
    package static let openingPerAddress = 256

    /// When a refused call that was one too many may come back: others are answered by then.
    package static let callRetryMilliseconds: UInt32 = 100

    /// When a refused notification stream, or connection, that was one too many may come back: another has to end
    /// first.
    package static let streamRetryMilliseconds: UInt32 = 60_000
    package static let connectionRetryMilliseconds: UInt32 = 10_000

    /// The part of the server's output and input that one account may hold: an eighth.
    package static let accountPart = 8

    /// The same for an address without an account.
    package static let addressPart = 16

    /// The part of the budgets that clients without an account may hold together.
    package static let anonymousPart = 2

    /// What a client may hold while little is left of a budget: the largest answer or request of most apps.
    static let littleBytes = 1024 * 1024

    /// An answer or request up to this size is not counted: 1,024 open calls come to 4 MiB.
    package static let uncountedBytes = 4 * 1024

    /// When a call may come back that was refused because there was no room for its bytes: clients that read have read
    /// by then.
    package static let bytesRetryMilliseconds: UInt32 = 1_000

    /// Bytes of commits that wait for the disk. Above this, writes are refused with a time to come back: a disk that is
    /// this far behind needs quiet, not a longer queue.
    package static let undurableBytes = 64 * 1024 * 1024

    /// An account with this many bytes of changes on a loop that wait for the disk begins nothing more there until some
    /// of them are durable: a disk takes them within some milliseconds. So others wait for no more than these, and for
    /// the commit that goes over the limit.
    package static let undurableTurnBytes = 1024 * 1024

    /// The same when no other account writes on any loop: the disk has work while the next requests are read.
    package static let undurableTurnBytesAlone = 4 * 1024 * 1024

    /// How long such an account leaves the disk to others at most, for each byte that became durable: as long as a disk
    /// of 100 MB/s takes.
    static let diskRestNanosecondsPerByte: UInt64 = 10

    /// How often calls that waited for a database, and now wait for the disk, are looked at.
    package static let diskLookMilliseconds: UInt64 = 5

    /// The part of ``undurableBytes`` that one account may have on all loops: an eighth, and the commits that go over
    /// it. Above this, its writes are refused.
    package static let undurableAccountBytes = undurableBytes / accountPart

    /// When an account that has reached ``undurableAccountBytes`` may come back: a disk that keeps up has taken them by
    /// then.
    package static let undurableRetryMilliseconds: UInt32 = 250

    /// When a write that was refused on a full disk may come back: making room takes longer than catching up.
    package static let diskFullRetryMilliseconds: UInt32 = 5_000

    /// Events for devices that a loop makes in one turn, for all its databases: some milliseconds' work.
    static let eventsPerTurn = 1_024

    /// How many of them it makes between two looks at the clock, and for how long it makes them in one turn: most take
    /// a microsecond or two, but texts of many characters are cut to their length.
    static let eventsPerLook = 64
    /// How many devices of a user it gives them to between two looks at the clock.
    static let devicesPerLook = 64
    static let publicationNanoseconds: UInt64 = 4_000_000
    /// How long it gives them to devices at the end of a turn, if making them took no longer, and for how long it
    /// writes them to streams.
    static let deliveryNanoseconds: UInt64 = 2_000_000

    /// Events of one database that wait to be made; beyond this the users whom later commits concern are told to fetch.
    package static let eventsWaiting = 65_536

    /// Scans of records that a loop runs at a time, for record types that queries ask for and schemas do not know.
    package static let lessonScansPerLoop = 64

    /// Bytes of one loop's answers that wait for the disk. Beyond this, a call is refused with a time to come back:
    /// while the disk is full nothing that waits gets an answer, and clients that give up and ask again must not fill
    /// the memory.
    package static let heldAnswerBytes = 64 * 1024 * 1024

    /// Events that a database keeps for a user's devices that are away or slow. Overflow becomes "fetch from your
    /// token".
    package static let backlogEvents = 1_024

    /// Bytes of those events.
    package static let backlogBytes = 1024 * 1024

    /// Events of a database that are made before its devices are given them, and as many as they are given in one
    /// piece.
    package static let undeliveredEvents = 16

    /// Bytes of the events that a public database keeps for all of its users: those of some ten thousand users who are
    /// away.
    package static let publicBacklogBytes = 64 * 1024 * 1024

    /// Events of the public database on their way to one stream: enough to keep it busy while more are asked for.
    static let publicEventsUnderWay = 32

    /// Devices of a user whose place in the private database is remembered: all that may hold a stream at a time.
    package static let rememberedDevices = 1_024

    /// The same in a public database, which remembers devices of all of its users.
    package static let rememberedPublicDevices = 16

    /// Users whose events and acknowledgements a database keeps. Beyond this, users who don't listen are forgotten, and
    /// told to fetch when they come again.
    package static let mailboxesPerDatabase = 100_000

    /// Streams of one database: one per device that is connected.
    package static let streamsPerDatabase = 1_000

    /// Output of a connection above which its stream waits and its frames are not read.
    package static let outputBytes = 1024 * 1024

    /// What a call on its way to another loop counts as output of its connection: sixteen may be under way before
    /// reading pauses. The account's share counts the real bytes of their answers, as soon as they are made.
    static let travellingBytes = outputBytes / 16

    /// What captures for snapshots may cost in one turn of a shard's loop: a database counts 10 and 1 for each zone,
    /// about a tenth of a microsecond each.
    static let captureCost = 1_000

    /// Databases of one loop that are loaded on the loader's thread, or wait for it. For one more a call is refused
    /// with a time to come back.
    package static let loads = 1_024

    /// Bytes of the calls that wait for databases of one loop: sixteen times the largest call.
    package static let waitingCallBytes = 64 * 1024 * 1024

    /// Calls that one turn of a loop answers when their database has been loaded.
    static let awaitedCallsPerTurn = 16

    /// When a call that would have to wait for a load may come back: a database of 500,000 records is loaded by then.
    package static let loadRetryMilliseconds: UInt32 = 1_000

    /// Databases that are looked at in one turn, to drop those that nobody uses.
    static let dropScan = 256

    /// Databases whose snapshots are written at a time so that they can be dropped.
    static let dropSnapshots = 32

    /// How long no snapshots are written to drop databases, after the disk failed.
    static let dropPauseNanoseconds: UInt64 = 30_000_000_000

    /// How often the log says that databases in use take more than the budget.
    static let budgetWarningNanoseconds: UInt64 = 60_000_000_000

    /// What a reply that waits for the disk counts beside its bytes: nothing else limits the replies to calls that a
    /// client cancels.
    static let heldReplyBytes = 512

    /// Accounts of one server: the account file is written whole at each change.
    package static let accounts = 100_000

    /// Accounts in one answer to the operator: at some 400 bytes each, a frame would hold ten times as many.
    package static let accountsPerPage = 1_000

    /// Characters of an account's or a role's name in the audit log, which is written before the name is looked at.
    static let auditTargetScalars = 300

    /// Containers in one answer to the operator: of each, two databases are looked for, on the loops and on the disk.
    static let containersPerPage = 100

    /// Places of records that one turn looks at for a schema that does not know their type: at a microsecond or two
    /// each, no longer than queries may take.
    package static let lessonPlacesPerTurn = 1_000

    /// Record types that a database remembers having been asked about.
    static let taughtTypes = 256

    /// Members of roles in one answer to the operator: each with up to 100 roles of 255 bytes; the answer ends before a
    /// frame does.
    package static let roleMembersPerPage = 500

    /// Bytes of such an answer.
    package static let roleMemberBytesPerPage = 1024 * 1024

    /// Tokens of one account: one for each device or program, with room to rotate.
    package static let tokensPerAccount = 32

    /// The number of containers at which an account can open no new one, while the operator has named none: each brings
    /// databases, and an app has one or two. There is no limit for all accounts together, since some could use it up
    /// for the others, and the operator makes the accounts.
    package static let containersPerAccount = 32

    /// Containers that are looked through for data of an account from before the start: at some microseconds each, once
    /// for an account.
    static let countedContainers = 1_024

    /// Time that one account's requests may take of a turn of a loop before its next one waits: see `TimeShare`. Long
    /// enough for hundreds of ordinary requests, and with the longest request well below what others may have to wait.
    static let accountTurnNanoseconds: UInt64 = 5_000_000

    /// Frames and requests of one account in a turn: more than its connections mostly bring, and less than five
    /// milliseconds' worth of the smallest.
    static let accountTurnCount = 4_096

    /// How much of one turn may go to what has waited for a turn, for all accounts together.
    static let turnsNanoseconds: UInt64 = 10_000_000

    /// Accounts' shares of a loop's time that are kept before the loop looks for those to forget.
    static let idleTimeShares = 1_024

    /// Queries of one account on a loop that run at a time: an eighth of ``queriesPerLoop``. One more is refused with a
    /// time to come back.
    package static let queriesPerAccount = 32

    /// How long one turn answers calls that waited for their database, beside the limit on their number.
    static let awaitedCallsNanoseconds: UInt64 = 5_000_000

    /// How long queries may keep a loop in one turn: other work waits for that at most, and for its own turn.
    static let querySliceNanoseconds: UInt64 = 2_000_000

    /// How long one step of a query should take, between two looks at the clock.
    static let queryStepNanoseconds: UInt64 = 250_000

    /// How much indexes take over from commits between two looks at the clock: about as many microseconds, as long as
    /// ``queryStepNanoseconds``.
    static let indexStepUnits = 250

    /// Steps of queries in one turn. It matters when the clock stands still, in a loop that is driven by hand.
    static let queryStepsPerTurn = 128

    /// Records that are looked at between two looks at the clock, to make a shared tree ready: about as long as
    /// ``queryStepNanoseconds``.
    static let treeStepUnits = 500

    /// How long it may take to make the trees of a request ready.
    static let treeWorkNanoseconds: UInt64 = 60_000_000_000

    /// How often a tree is begun anew, because records with others below them were moved, before its request fails.
    static let treeRestarts = 3

    /// Requests of one loop whose trees are made ready at a time, and those of one account among them. One more is
    /// refused with a time to come back.
    static let treeWorksPerLoop = 64
    static let treeWorksPerAccount = 8

    /// Queries of one client that run at a time. One more is refused with a time to come back.
    package static let queriesPerClient = 16

    /// Queries of one loop that run at a time, for all clients: each holds up to a page of matches. One more is
    /// refused with a time to come back.
    package static let queriesPerLoop = 256

    /// Databases that one turn of a loop measures for the figures: each costs time for its zones, about a microsecond
    /// for most.
    static let measuredDatabasesPerTurn = 512

    /// How often deadlines are checked, and so how precisely they are kept.
    package static let sweepMilliseconds: UInt64 = 250

    /// Transfers of assets at a time: each has a file open, of which a process keeps 256 apart from its connections.
    static let transfers = 192
    /// Transfers of assets of one account at a time: more are no faster, and each holds a piece in memory and a file.
    static let transfersPerAccount = 64
    static let transferRetryMilliseconds: UInt32 = 1_000
    /// A transfer of which less than so many bytes have come or gone for this long ends: a network slower than half a
    /// kilobyte a second is none.
    static let transferIdleMilliseconds: UInt64 = 120_000
    static let transferBytesMin = 64 * 1024
    /// From so many bytes on a transfer is large. Of a small one, the client waits for each step as for a call.
    static let largeTransferBytes: UInt64 = 1024 * 1024
    /// Bytes of a download after which it is asked again whether its client may have it.
    static let downloadBytesPerGrant: UInt64 = 1024 * 1024
    /// Assets that are released in one turn, some 200 nanoseconds each.
    static let assetsReleasedPerTurn = 2_000
    package static let assetSweepMilliseconds: UInt64 = 60_000
    /// Assets of a database that one sweep looks at.
    static let assetsSweptPerTurn = 4_096
    /// Databases that are looked at in one turn of a sweep.
    static let databasesSweptPerTurn = 16
    /// When all folders of assets are walked over for the first time, and how long after that again.
    package static let assetWalkDelayMilliseconds: UInt64 = 60 * 60 * 1_000
    package static let assetWalkMilliseconds: UInt64 = 7 * 24 * 60 * 60 * 1_000
    /// Databases are visited for their assets one after the other, with a pause between them.
    static let assetVisitPauseMilliseconds: UInt64 = 20
    /// How long after a visit that did not come about there is another one.
    static let assetVisitRetrySeconds: UInt32 = 60
    /// Assets that nothing needs of all databases of a loop that have left the memory, at some 64 bytes each, and how
    /// many databases these are.
    package static let departedBlobs = 262_144
    static let departedDatabases = 65_536
    /// The same of one database. With more it stays in memory until they are removed: to take in so many when it comes
    /// back takes a loop some milliseconds.
    package static let departedBlobsPerDatabase = 4_096
    /// Assets that nothing needs of the databases that leave in one turn.
    static let departedBlobsNotedPerTurn = 8_192
    /// Seconds in which a receipt is good.
    package static let receiptSeconds: UInt32 = 24 * 60 * 60
    /// Bytes of an owner's uploads to their database that no record names, where there is no quota.
    static let pendingUploadBytes: UInt64 = 2 * 1024 * 1024 * 1024
    /// Others have a part of that, or of the quota; where there is none, they have room for one asset at least.
    static let pendingUploadPart: UInt64 = 10
    /// A user has an upload for each so many bytes of what their uploads may take, and some in any case: a file takes a
    /// place in memory however small it is.
    static let bytesPerPendingUpload: UInt64 = 64 * 1024
    static let pendingUploadCountMin = 1_024
    static let fullDiskRetryMilliseconds: UInt32 = 30_000

    /// Open calls of one account or address, over all of its connections: as many as eight connections may have.
    package static let callsPerAccount = 1_024

    /// URLs of shares that led one account nowhere in a minute, and its requests for access, before it has to wait.
    package static let shareLinkFailuresPerMinute = 60

    /// New records of one account in zones of others whose names were taken by what is not shared with it, in a minute,
    /// before it can save no new ones there: guesses tell which names there are.
    package static let takenNamesPerMinute = 60

    /// Users who are not there and are reminded of zones in which they take part, when their database is loaded.
    static let reminders = 20_000

    /// Zones of a request that a user's own database is told they take no part in: it lists them by mistake.
    static let lostZonesPerRequest = 16

    /// How long a loop waits before it asks an owner's database again for what could not be noted in a user's own.
    static let askAgainMilliseconds: UInt64 = 5_000

    /// Users for whom a loop notes changes in zones of others: at some hundred bytes each and for each zone.
    package static let touchedUsers = 20_000

    /// Calls that wait for one database to be loaded; of one account as many as are free, so that there is always one
    /// for somebody else. For one more a call is refused with a time to come back: as many again would take longer than
    /// the load.
    package static let callsPerLoad = 1_024

    /// Openings and ends of one client's notification streams that may wait for the public database's loop. With more,
    /// the client is not read until that loop has answered: a client that opens and cancels as fast as possible waits
    /// for it.
    package static let farTasksPerClient = 16

    /// How long an enrolment lives, from its first message on: long enough for a person to find the other device.
    package static let enrolmentMilliseconds: UInt64 = 10 * 60 * 1_000

    /// Enrolments of one private database, and of one account on a loop, that have not ended: more than a person adds
    /// devices at a time.
    static let enrolmentsPerDatabase = 4
    static let enrolmentsPerAccount = 16

    /// The same of all accounts on a loop, and when one that was too many may come back.
    static let enrolmentsPerLoop = 4_096
    static let enrolmentRetryMilliseconds: UInt32 = 10_000

    /// What is kept of one account's enrolments on a loop, and of those of all: the ids of those that have ended, for
    /// their ten minutes, and wrong codes, for an hour. So nobody fills the memory who begins and ends them.
    static let enrolmentTracesPerAccount = 64
    static let enrolmentTracesPerLoop = 16_384

    /// Wrong codes within an hour, after which no enrolment of the database begins.
    static let wrongCodesPerHour = 3
    package static let wrongCodeMilliseconds: UInt64 = 60 * 60 * 1_000

    /// Enrolments and wrong codes of all accounts that have expired and are removed with a call.
    static let expiredEnrolmentsPerCall = 8

    /// Bytes of an account's private databases, as quotas count them, unless the operator says otherwise: as much as
    /// people get elsewhere for free, and more than a person fills with records.
    package static let quotaBytes = 5 * 1024 * 1024 * 1024

    /// The same for a public database, which all users of an app fill.
    package static let publicQuotaBytes = 20 * 1024 * 1024 * 1024
}
