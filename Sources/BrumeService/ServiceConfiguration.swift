package import BrumeModel
internal import BrumeStore
package import BrumeSystem

/// How the service behaves, whatever surrounds it. Defaults suit one machine; tests shorten deadlines.
package struct ServiceConfiguration: Sendable {
    /// Whether the operator's token is taken where accounts come in, for administration from another machine. The
    /// operator has a way in of their own in any case.
    package var takesOperatorOnPort = false
    /// The containers that are served; empty for every name.
    package var containers: Set<String> = []
    /// If every name is served: the number of containers with data at which an account can open none that holds no data
    /// yet.
    package var containersPerAccount = ServiceLimits.containersPerAccount
    /// About how many bytes the databases in memory may take; 0 means no bound. Above it those that nobody uses are
    /// dropped, least recently used first, and loaded again when they are used. Those with a connected owner stay.
    package var memoryBudgetBytes = 0
    /// Calls that wait for one database to be loaded; of one account as many as are free.
    package var callsPerLoad = ServiceLimits.callsPerLoad
    /// What one account may take of a loop's time before it waits for its next turn.
    package var accountTurnMicroseconds = ServiceLimits.accountTurnNanoseconds / 1_000
    /// The same in frames and requests.
    package var accountTurnCount = ServiceLimits.accountTurnCount
    /// Bytes of one account's changes on a loop that may wait for the disk before nothing more of it begins there.
    package var accountTurnUndurableBytes = ServiceLimits.undurableTurnBytes
    /// Connections of the server; nil for as many as its descriptors allow, less a reserve for its own files.
    package var connections: Int?
    /// Connections of one account; nil for 1,000, or a quarter of all if that is less.
    package var connectionsPerAccount: Int?
    /// Connections of one address (of IPv6: of its first 64 bits) that have no account; nil for as many as of an
    /// account.
    package var connectionsPerAddress: Int?
    /// Open calls of one account, or of one address without an account, over all of its connections. Notification
    /// streams have another bound: one for each connection that the account may have.
    package var callsPerAccount = ServiceConfiguration.standardCallsPerAccount
    /// The default of ``callsPerAccount``.
    package static let standardCallsPerAccount = ServiceLimits.callsPerAccount
    /// Bytes of answers that the server holds for all clients: on their way between loops, waiting for the disk, and
    /// not read by their peers. An account may hold an eighth, an address without an account a sixteenth.
    package var outputBudgetBytes = ServiceConfiguration.standardOutputBudgetBytes
    package static let standardOutputBudgetBytes = 256 * 1024 * 1024
    /// The same for requests: incomplete frames, and requests on their way to their database.
    package var inputBudgetBytes = ServiceConfiguration.standardInputBudgetBytes
    package static let standardInputBudgetBytes = 128 * 1024 * 1024
    /// Refuses the predicates that CloudKit refuses and this server would answer, such as OR: for those who test what
    /// CloudKit will do. In development system fields need indexes of the schema too, and learned types have none.
    package var followsCloudKitQueryRules = false
    /// Events that a database keeps for devices that are away or slow.
    package var backlogEvents = ServiceLimits.backlogEvents
    /// The number of events of a database that may wait to be made; beyond it users are told to fetch.
    package var waitingEvents = ServiceLimits.eventsWaiting
    /// Events for devices that a loop makes in one turn.
    package var eventsPerTurn = ServiceLimits.eventsPerTurn
    /// How long a loop gives events to devices at the end of a turn, and for how long it writes them to streams.
    package var deliveryNanoseconds = ServiceLimits.deliveryNanoseconds
    /// Zones with fewer records have no indexes: see `Database.indexedZoneMinimum`.
    package var indexedZoneMinimum = 256
    /// Records that a request shares within its own turn of the loop; for more, turns before it make their trees ready.
    package var sharedRecordsAtOnce = 1_000
    /// Records that one turn looks at to make the trees of a request ready.
    package var treeUnitsPerTurn = 4_000
    /// Encoded bytes of the records that an account's private databases may hold together, unless it has a quota of its
    /// own; 0 means no limit.
    package var quotaBytes = 0
    /// The same for each public database.
    package var publicQuotaBytes = 0
    /// Bytes that an asset may have; 0 where the server keeps no assets.
    package var assetLimitBytes = ServiceConfiguration.standardAssetLimitBytes
    package static let standardAssetLimitBytes: UInt64 = 250 * 1024 * 1024
    /// Seconds that an asset is kept which no record names.
    package var assetGraceSeconds = StoreLimits.assetGraceSeconds
    /// Seconds in which the receipt of an upload is good.
    package var receiptSeconds = ServiceLimits.receiptSeconds
    /// How often what nothing needs is looked for.
    package var assetSweepMilliseconds = ServiceLimits.assetSweepMilliseconds
    /// How long after the start, and how often after that, all folders of assets are walked over.
    package var assetWalkDelayMilliseconds = ServiceLimits.assetWalkDelayMilliseconds
    package var assetWalkMilliseconds = ServiceLimits.assetWalkMilliseconds
    /// Assets whose graces are remembered of databases that are not in memory.
    package var departedBlobs = ServiceLimits.departedBlobs
    package var departedBlobsPerDatabase = ServiceLimits.departedBlobsPerDatabase
    /// How long an enrolment lives, and a wrong code counts.
    package var enrolmentMilliseconds = ServiceLimits.enrolmentMilliseconds
    package var wrongCodeMilliseconds = ServiceLimits.wrongCodeMilliseconds
    /// Whether users may connect to development environments. The operator may in any case.
    package var servesDevelopment = true
    /// The accounts whose saves teach development schemas.
    package var teachers = SchemaTeachers.all
    /// What one account's saves may teach one of these schemas.
    package var teacherShare = SchemaShare.ofTeacher
    package var log = Log.standardError(.info)
    /// What the URLs of shares begin with: `https://`, a host and maybe a port. Empty for a path alone, which clients
    /// take as of the server that they talk to.
    package var publicURL = ""
    /// For tests of apps: what makes the server behave otherwise.
    package var interceptor: (any ServerInterceptor)?

    package init() {}
}

extension ServiceConfiguration {
    var timeShareLimits: TimeShare.Limits {
        TimeShare.Limits(
            turnNanoseconds: accountTurnMicroseconds * 1_000, turnCount: accountTurnCount,
            undurableBytes: accountTurnUndurableBytes,
            undurableBytesAlone: min(4 * accountTurnUndurableBytes, ServiceLimits.undurableTurnBytesAlone))
    }
}
