package import BrumeModel
package import BrumeProtocol
package import BrumeStore
package import BrumeSystem

/// How a server runs. Defaults suit one machine; tests shorten deadlines.
package struct ServerConfiguration: Sendable {
    /// The data folder. It is made when missing; one server at a time has it.
    package var dataFolder: String
    package var host = "127.0.0.1"
    /// The port to listen on; 0 for any free port, see ``Server/port``.
    package var port: UInt16 = 7440
    /// Where figures and health are served over HTTP, without TLS; nil for nowhere.
    package var metricsAddress: (host: String, port: UInt16)?
    /// Whether the port accepts the operator's token as well, for administration from another machine. The operator's
    /// socket in the data folder exists in any case.
    package var takesOperatorOnPort = false
    /// PEM files of the server's certificate chain and its key.
    package var certificatePath: String
    package var keyPath: String
    /// The CA file that clients verify with, written to `server.json` for clients on this machine; nil if unknown.
    package var caPath: String?
    /// Event loops. Databases are divided among them.
    package var loopCount = 2
    /// How long a loop, and the journal's thread, look for more work before they sleep, if work mostly comes that soon
    /// and the core is free (``SpinPolicy``): when there are few clients, they get their answers in half the time. 0
    /// means that they sleep at once.
    package var spinMicroseconds = ServerConfiguration.standardSpinMicroseconds
    /// The default of ``spinMicroseconds``.
    package static let standardSpinMicroseconds: UInt64 = 200
    /// The containers that are served; empty for every name.
    package var containers: Set<String> = []
    /// If every name is served: the number of containers with data at which an account can open none that holds no data
    /// yet.
    package var containersPerAccount = ServerLimits.containersPerAccount
    /// Size of a journal file. Smaller ones start faster, larger ones rotate less.
    package var journalSegmentBytes = 16 * 1024 * 1024
    /// Snapshots are written when the journal holds this many bytes beyond them: what a start replays in about a
    /// second. A database whose snapshot is larger waits until the journal is as long, so that little is written twice.
    package var snapshotJournalBytes = 256 * 1024 * 1024
    /// Snapshots are written when a commit has been in the journal alone for so long.
    package var snapshotAgeMilliseconds: UInt64 = 15 * 60 * 1_000
    /// About how many bytes the databases in memory may take; 0 means no bound. Above it those that nobody uses are
    /// dropped, least recently used first, and loaded again when they are used. Those with a connected owner stay.
    package var memoryBudgetBytes = 0
    /// Snapshots of at most so many bytes, and not of many records, are loaded on the loop that needs them, larger ones
    /// on the loader's thread while the loop goes on; 0 means all on that thread.
    package var shortLoadBytes = 64 * 1024
    /// Calls that wait for one database to be loaded; of one account as many as are free.
    package var callsPerLoad = ServerLimits.callsPerLoad
    /// Which snapshots a start reads whole before it serves. If there are more, all are read after the start.
    package var startCheck = StartCheck.automatic
    /// How long a stop waits for calls in flight.
    package var drainTimeoutMilliseconds: UInt64 = 10_000
    /// What one account may take of a loop's time before it waits for its next turn.
    package var accountTurnMicroseconds = ServerLimits.accountTurnNanoseconds / 1_000
    /// The same in frames and requests.
    package var accountTurnCount = ServerLimits.accountTurnCount
    /// Bytes of one account's changes on a loop that may wait for the disk before nothing more of it begins there.
    package var accountTurnUndurableBytes = ServerLimits.undurableTurnBytes
    /// Connections of the server; nil for as many as its descriptors allow, less a reserve for its own files.
    package var connections: Int?
    /// Connections of one account; nil for 1,000, or a quarter of all if that is less.
    package var connectionsPerAccount: Int?
    /// Connections of one address (of IPv6: of its first 64 bits) that have no account; nil for as many as of an
    /// account.
    package var connectionsPerAddress: Int?
    /// Open calls of one account, or of one address without an account, over all of its connections. Notification
    /// streams have another bound: one for each connection that the account may have.
    package var callsPerAccount = ServerConfiguration.standardCallsPerAccount
    /// The default of ``callsPerAccount``.
    package static let standardCallsPerAccount = ServerLimits.callsPerAccount
    /// Bytes of answers that the server holds for all clients: on their way between loops, waiting for the disk, and
    /// not read by their peers. An account may hold an eighth, an address without an account a sixteenth.
    package var outputBudgetBytes = ServerConfiguration.standardOutputBudgetBytes
    package static let standardOutputBudgetBytes = 256 * 1024 * 1024
    /// The same for requests: incomplete frames, and requests on their way to their database.
    package var inputBudgetBytes = ServerConfiguration.standardInputBudgetBytes
    package static let standardInputBudgetBytes = 128 * 1024 * 1024
    /// What one connection may take.
    package var connectionLimits = ServerConnectionLimits()
    /// Sockets: handshakes, stalls, counts.
    package var socketLimits = BrumeSystem.ConnectionLimits()
    /// Refuses the predicates that CloudKit refuses and this server would answer, such as OR: for those who test what
    /// CloudKit will do. In development system fields need indexes of the schema too, and learned types have none.
    package var followsCloudKitQueryRules = false
    /// Events that a database keeps for devices that are away or slow.
    package var backlogEvents = ServerLimits.backlogEvents
    /// The number of events of a database that may wait to be made; beyond it users are told to fetch.
    package var waitingEvents = ServerLimits.eventsWaiting
    /// Events for devices that a loop makes in one turn.
    package var eventsPerTurn = ServerLimits.eventsPerTurn
    /// Zones with fewer records have no indexes: see `Database.indexedZoneMinimum`.
    package var indexedZoneMinimum = 256
    /// How much of its past every database keeps.
    package var history = HistoryLimits.standard
    /// Encoded bytes of the records that an account's private databases may hold together, unless it has a quota of its
    /// own; 0 means no limit.
    package var quotaBytes = 0
    /// The same for each public database.
    package var publicQuotaBytes = 0
    /// Whether users may connect to development environments. The operator may in any case.
    package var servesDevelopment = true
    /// The accounts whose saves teach development schemas.
    package var teachers = SchemaTeachers.all
    /// What one account's saves may teach one of these schemas.
    package var teacherShare = SchemaShare.ofTeacher
    package var log = Log.standardError(.info)
    /// The number of this run in change tags and tokens: not 0, and a different one at each start; nil for a random
    /// number.
    package var run: UInt32?
    /// For tests of apps: what makes the server behave otherwise.
    package var interceptor: (any ServerInterceptor)?
    /// The same for the calls that come in by the port.
    package var callInterceptor: (any CallInterceptor)?

    package init(dataFolder: String, certificatePath: String, keyPath: String) {
        self.dataFolder = dataFolder
        self.certificatePath = certificatePath
        self.keyPath = keyPath
    }
}

extension ServerConfiguration {
    var timeShareLimits: TimeShare.Limits {
        TimeShare.Limits(
            turnNanoseconds: accountTurnMicroseconds * 1_000, turnCount: accountTurnCount,
            undurableBytes: accountTurnUndurableBytes,
            undurableBytesAlone: min(4 * accountTurnUndurableBytes, ServerLimits.undurableTurnBytesAlone))
    }
}
