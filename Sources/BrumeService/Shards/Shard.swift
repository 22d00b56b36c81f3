internal import BrumeModel
internal import BrumeRecord
package import BrumeStore
package import BrumeSystem

/// One event loop and all that it owns: its databases, and the clients whose private database is among them.
///
/// A turn: requests run and commit in memory; when the turn ends, all its commits go to the log at once;
/// when they are durable, the answers that waited are given, then the pushes.
///
/// `@unchecked Sendable`: everything belongs to `loop`. Other threads use `loop.execute` only.
///
/// `@exclusivity(unchecked)`, here and in what a shard owns: such a property is accessed several times for every
/// request, and the code that changes it only computes. It calls nothing that could access the property meanwhile,
/// which is what the check would find.
package final class Shard: @unchecked Sendable {
    package let index: Int
    package let loop: EventLoop
    let sealer: TokenSealer
    let tagNumbers: KeyedNumbers
    let shareURLs: ShareURLs
    let runSealer: RunSealer
    let eventCoder = EventCoder()
    let cursorSealer: CursorSealer
    let receiptSealer: ReceiptSealer
    let blobNumbers: KeyedNumbers
    /// Names that were given to stored assets.
    var blobCount: UInt64 = 0
    let sharedSealer: SharedTokenSealer
    /// What nothing needs of databases that have left the memory.
    var departedAssets: DepartedAssets
    /// Whether databases are visited for what is due of that.
    var visitsDueAssets = false
    /// Whether the store is forgetting old uploads; on the first loop alone.
    var forgetsOldUploads = false
    /// Walks over the folders of all assets; on the first loop alone.
    private var assetWalk: AssetWalk?

    let server: ServerCore
    /// The databases of this loop.
    @exclusivity(unchecked) package private(set) var databases: DatabaseCache!
    /// The schemas of all containers, as the admin loop last sent them: see ``Catalog/schemas``.
    var schemas: [String: ContainerSchemas] {
        didSet { schemasVersion += 1 }
    }
    /// How often each container's schemas have changed since the start.
    var schemaChangeCounts: [String: UInt64] = [:]
    /// A number that changes with every change of ``schemas``.
    private(set) var schemasVersion: UInt64 = 0
    /// Databases with commits that are not saved, each once.
    var unsaved: [DatabaseID] = []
    /// The clients of this loop.
    private(set) var clients = Arrivals<Client>()
    /// What is counted here, for the operator.
    @exclusivity(unchecked) var figures = ShardFigures()
    let push = PushFigures()
    /// Queries that have begun and not ended.
    @exclusivity(unchecked) var queries = FairQueue<RunningQuery>()
    /// Whether a later turn of the loop will go on with them.
    var queriesAreScheduled = false
    var queryBudget = QueryBudget()
    /// The turns in which some of that was done: what goes first changes with each.
    var slicedTurnNumber = 0
    /// Requests that share many records and are not decided yet.
    @exclusivity(unchecked) var treeWorks = FairQueue<TreeWork>()
    /// Databases whose indexes are behind their commits, each once.
    var behindIndexes = BehindIndexes()
    /// What this loop knows of changes in zones of others.
    @exclusivity(unchecked) var touchTable = TouchTable()
    /// What devices of the clients' accounts say to each other.
    var enrolments: EnrolmentTable
    /// Zones whose owners are asked in a while, by the databases that ask.
    var zonesToAsk: [DatabaseID: Set<AskedZone>] = [:]
    /// Zones to ask about when a database is loaded that is not in memory.
    var reminders: [DatabaseID: Set<AskedZone>] = [:]
    /// Databases with members who were reminded of their parts.
    var databasesWithMembers: Set<DatabaseID> = []
    /// Streams of devices, by the private databases of their users.
    @exclusivity(unchecked) var sharedStreams: [DatabaseID: [DeviceStream]] = [:]
    /// What each account took of this loop's time.
    @exclusivity(unchecked) var timeShares: [ClientShare.Key: TimeShare] = [:]
    /// What waits because its account has had its share of the turn.
    @exclusivity(unchecked) var turns = FairQueue<Turn>()
    var turnsAreScheduled = false
    /// The time at which turns are given because an account has left the disk to others for long enough.
    var restTimerNanoseconds = UInt64.max
    /// The number of the loop's current turn.
    @exclusivity(unchecked) private(set) var turnNumber: UInt64 = 1

    /// Where commits go, and databases come from. Set before the loop runs.
    @exclusivity(unchecked) private(set) var log: (any CommitLog)!
    /// The position of the last commit that was appended.
    @exclusivity(unchecked) private(set) var appendedPosition: UInt64 = 0
    /// The commits that are not durable yet, by the account that made them.
    @exclusivity(unchecked) var undurable = UndurableCommits()

    /// What waits for the disk.
    package let gate = DurabilityGate()
    /// Hubs with events that have not been delivered to their devices.
    @exclusivity(unchecked) var undeliveredHubs: [NotificationHub] = []
    /// Streams with events of the public database that were not written yet, each once.
    @exclusivity(unchecked) var streamsWithNews: [DeviceStream] = []
    /// Hubs with events of durable commits that are not in their rings yet.
    @exclusivity(unchecked) var publishingHubs: [LoadedDatabase] = []
    /// Whether devices may have listened to an empty database of which nothing is known any more: see
    /// ``NotificationHub``.
    var mayHaveForgottenDevices: Bool
    /// Scans of records for types that schemas do not know, each with its database.
    var lessonScans = FairQueue<(scan: LessonScan, database: LoadedDatabase)>()
    /// Events that were made in this turn, and the time that it took.
    var eventsOfTurn = 0
    var publicationNanosecondsOfTurn: UInt64 = 0
    var publicationIsScheduled = false
    package init(index: Int, loop: EventLoop, server: ServerCore) {
        mayHaveForgottenDevices = !server.logs.isNew
        self.index = index
        self.loop = loop
        self.server = server
        schemas = server.catalog.schemas
        sealer = TokenSealer(key: server.secrets.key)
        tagNumbers = KeyedNumbers(secret: server.secrets.key, label: "change tags")
        shareURLs = ShareURLs(key: server.secrets.key, publicURL: server.configuration.publicURL)
        runSealer = RunSealer(PositionSealer(key: server.secrets.key))
        cursorSealer = CursorSealer(key: server.secrets.key)
        receiptSealer = ReceiptSealer(key: server.secrets.key)
        blobNumbers = KeyedNumbers(secret: server.secrets.key, label: "asset generations")
        sharedSealer = SharedTokenSealer(key: server.secrets.key)
        departedAssets = DepartedAssets(limit: server.configuration.departedBlobs)
        enrolments = EnrolmentTable(limits: EnrolmentTable.Limits(server.configuration))
        databases = DatabaseCache(
            loop: loop, limits: DatabaseCache.Limits(server.configuration), memory: server.memory,
            ledger: server.storage, log: server.log, host: self)
    }

    /// Gives the shard its log, and takes the databases that the log has read. Before the loop runs.
    package func prepare(_ log: any CommitLog) {
        self.log = log
        log.host = self
        databases.source = DatabaseCache.Source(log: log, loading: server.loading)
        gate.writeRefusal = { [unowned self] in writeRefusal }
        for opened in log.takeRecovered() {
            let loaded = databases.keep(opened)
            if !loaded.isSaved { noteUnsaved(loaded) }
        }
        loop.turnEnded = { [unowned self] in
            submit()
            tellDevices()
            queryBudget.turnEnded()
            turnNumber += 1
            if databases.mayDrop { databases.dropIdleDatabases() }
        }
        sweepLater()
        sweepAssetsLater()
        if index == 0, let store = server.blobs {
            assetWalk = AssetWalk(over: store, on: self)
            assetWalk?.beginLater(afterMilliseconds: server.configuration.assetWalkDelayMilliseconds)
        }
    }

    /// Releases everything that refers to the shard: the log, what waits for it or for a database, and clients
    /// that were cut off. Called when no loop runs any more.
    func disassemble() {
        // A database that was given up is no longer among the others, and may keep calls of its clients.
        for client in clients.all { client.home = nil }
        clients.removeAll()
        gate.abandon()
        queries = FairQueue()
        treeWorks = FairQueue()
        turns = FairQueue()
        timeShares = [:]
        undeliveredHubs = []
        streamsWithNews = []
        sharedStreams = [:]
        publishingHubs = []
        lessonScans = FairQueue()
        assetWalk = nil
        databases.abandon()
        loop.turnEnded = nil
        log = nil
    }

    // MARK: Commits

    /// Takes a commit: it goes to the log at the end of the turn, and is published when it is durable.
    ///
    /// - Parameter share: The share of the client that made it, which limits how much it has that is not durable; nil
    ///   for a commit of the server itself.
    /// - Returns: False if the log does not take it. Then the database is given up, since it is ahead of the log.
    @discardableResult
    package func append(_ commit: Commit, to loaded: LoadedDatabase, origin: ChangeOrigin, by share: ClientShare?)
        -> Bool
    {
        // The log may take the next commit of a database whose last one it did not take.
        if loaded.isLost { return false }
        let appended: AppendedCommit
        do throws(CommitLogRefusal) {
            appended = try log.append(commit.entry, movedRecords: loaded.database.takeMovedRecords())
        } catch {
            databases.giveUp(loaded, because: error)
            return false
        }
        appendedPosition = appended.position
        loaded.lastPosition = appended.position
        if let share {
            let now = loop.nowNanoseconds
            undurable.append(
                appended.byteCount, of: share, timeShare(of: share.key), at: appended.position, nowNanoseconds: now)
            server.diskSharing.wrote(share, atNanoseconds: now)
        }
        figures.committed(changes: commit.entry.changes.count)
        loaded.noteUse()
        noteUnsaved(loaded)
        tellMembers(of: commit, in: loaded, origin: origin, by: share?.key ?? .operator)
        if loaded.database.hasPendingIndexes {
            loaded.indexDebts.committed(
                share?.key ?? .operator, pending: IndexDebts.work(pendingIn: loaded.database))
            bringIndexesInStep(of: loaded)
        }
        databases.measure(loaded)
        if loaded.database.hasAssetReleases {
            let sequence = commit.sequence
            gate.whenDurable(loaded.lastPosition, of: loaded) { [self] lost in
                if lost == nil { releaseAssets(of: loaded, upTo: sequence) }
            }
        }
        let publication = NotificationHub.Publication(
            sequence: commit.sequence, origin: origin, committedMilliseconds: commit.entry.committedMilliseconds,
            hints: loaded.database.matchingSubscriptions(for: commit), matches: commit.matches)
        if publication.isEmpty { return true }
        let committedNanoseconds = loop.nowNanoseconds
        gate.whenDurable(loaded.lastPosition, of: loaded) { [self] error in
            if error != nil { return }
            let isListed = loaded.hub.isPublishing
            loaded.hub.enqueue(publication, committedNanoseconds: committedNanoseconds)
            if isListed { return }
            publishingHubs.append(loaded)
            if publishingHubs.count == 1 { publishSome() }
        }
        return true
    }

    // MARK: Clients

    /// A client has been let in, and its data is here or on its way. Makes the user's records if this is
    /// their first visit. In a new container they are made only when the user uses it: see
    /// ``DataRequest/leavesTrace(for:)``.
    func arrive(_ client: Client) {
        clients.insert(client)
        client.timeShare.clientCount += 1
        guard let database = client.identity.privateDatabase else { return }
        // A database that can't be loaded is reported when a request asks for it.
        switch databases.access(database, of: client.share.key) {
        case .loaded(let loaded): settle(client, in: loaded)
        case .loading(let load): load.arrived(client) { settle(client, in: $0) }
        case .unavailable: break
        }
        if client.hasUserRecords { makeUserRecords(for: client) }
    }

    /// A client has gone. What is still under way for it ends by itself.
    package func leave(_ client: Client) {
        clients.remove(client)
        client.isHere = false
        client.cancelQueries()
        client.timeShare.clientCount -= 1
        if let home = client.home {
            client.home = nil
            home.clientCount -= 1
            databases.dropIfEmpty(home)
        }
        if let id = client.identity.privateDatabase { databases.load(of: id)?.left(client) }
        server.giveUp(Entrance(identity: client.identity, share: client.share))
    }

    /// Ends the connections of clients, telling them why.
    ///
    /// - Parameter reason: The reason to give; nil when their tokens were revoked.
    func endClients(_ reason: ServiceError? = nil, where isMeant: (Identity) -> Bool) {
        for client in clients.all where isMeant(client.identity) { client.door.end(reason) }
    }

    /// Makes the user's records in both databases, unless they exist.
    func makeUserRecords(for client: Client) {
        guard let database = client.identity.privateDatabase else { return }
        ensureUserRecord(of: client, in: database)
        let publicDatabase = client.identity.publicDatabase
        let owner = server.shard(at: client.identity.publicPlacement)
        if owner === self {
            ensureUserRecord(of: client, in: publicDatabase)
        } else {
            owner.loop.execute {
                // If this is refused, the account already has a thousand calls there; its record is made with its next
                // client.
                owner.takeFarTurn(of: client, refuse: { _ in }) {
                    owner.ensureUserRecord(of: client, in: publicDatabase)
                }
            }
        }
    }

    /// Ties the client to its own database, which stays in memory as long as the client is there.
    func settle(_ client: Client, in loaded: LoadedDatabase) {
        guard client.home == nil, client.isHere else { return }
        loaded.clientCount += 1
        client.home = loaded
        if let account = client.identity.storage { loaded.storage?.belongs(to: account) }
    }

    /// Called when a client does the first thing in a new container that leaves a trace.
    func noteTrace(of client: Client) {
        // A refused request leaves none.
        if writeRefusal != nil { return }
        client.hasUserRecords = true
        server.fillContainer(of: client.identity)
        makeUserRecords(for: client)
    }

    private func ensureUserRecord(of client: Client, in id: DatabaseID) {
        if writeRefusal != nil { return }
        let user = client.identity
        switch databases.access(id, of: client.share.key) {
        case .loaded(let loaded): ensureUserRecord(of: user.userRecordName, in: loaded)
        case .loading(let load):
            load.userArrived(user) { [self] in ensureUserRecord(of: user.userRecordName, in: $0) }
        case .unavailable: break
        }
    }

    func ensureUserRecord(of user: String, in loaded: LoadedDatabase) {
        if writeRefusal != nil { return }
        if let commit = loaded.database.ensureUserRecord(named: user, nowMilliseconds: wallClockMilliseconds) {
            append(commit, to: loaded, origin: .server, by: nil)
        }
    }

    /// The time that records are dated by, in milliseconds since 1970.
    package var wallClockMilliseconds: Int64 {
        server.configuration.interceptor?.wallClockMilliseconds ?? loop.wallClockMilliseconds
    }

    private func sweepLater() {
        _ = loop.schedule(afterMilliseconds: ServiceLimits.sweepMilliseconds) { [unowned self] in
            forgetTimeShares()
            giveTurnsNextTurn()
            databases.mayDrop = true
            sweepLater()
        }
    }

    /// Calls in flight, and answers that wait for the disk.
    package var unfinishedCount: Int { server.doors.reduce(gate.count) { $0 + $1.unansweredCallCount(onLoop: index) } }
}
