internal import BrumeLock
package import BrumeModel
package import BrumeStore
package import BrumeSystem
internal import Synchronization

/// What all shards and doors of a server share. Immutable once the loops run, except for what has its own lock.
///
/// `@unchecked Sendable`: `shards`, the loops and what they do are set once, before any loop runs.
package final class ServerCore: @unchecked Sendable {
    /// For clients' logs.
    package static let version = "brume \(BrumeVersion.text)"

    let configuration: ServiceConfiguration
    /// Accounts, schemas and secrets, and what changes them.
    package let catalog: any Catalog
    let secrets: ServerSecrets
    /// The catalog's, for look-ups.
    package let accounts: AccountDirectory
    /// Where all databases come from, and their commits go.
    package let logs: any CommitLogs
    /// Where the contents of assets lie; nil for a server that keeps none.
    package let blobs: (any BlobStore)?
    /// What operators did; nil for a server that keeps no note of it.
    let audit: (any AuditLog)?
    let startedNanoseconds: UInt64
    package private(set) var shards: [Shard] = []
    /// The ways in. Set before the loops run.
    package private(set) var doors: [any Door] = []
    /// Runs what may wait for a disk and belongs to no database: the operator's requests.
    package private(set) var adminLoop: EventLoop!
    /// Lessons of schemas, on the admin loop.
    private(set) var lessons: FairWork!
    private let draining = Atomic<Bool>(false)
    private let damageFound = Atomic<Bool>(false)
    let transfers = Atomic<Int>(0)
    /// Runs what may wait for a disk, and nobody waits for.
    package private(set) var background: EventLoop!
    /// Loads databases that would hold up the loop they belong to, one after the other.
    package private(set) var loader: EventLoop!
    /// What the loader does.
    private(set) var loading: FairWork!
    private let loadingEnded = Atomic<Bool>(false)
    package let memory = MemoryUse()
    /// What private databases hold.
    package let storage = StorageLedger()
    /// Searches for what accounts stored before the start, in the background.
    private(set) var counting: FairWork!
    /// The containers that held data at the start, in a fixed order.
    let containersAtStart: [String]
    /// The containers that are served, when the operator has named none.
    private let servedContainers: Lock<ServedContainers>
    let shareLinkLimits = ShareLinkLimits()
    /// Names of new records that were told to be taken by what is not shared with those who save them.
    let takenNames = MinuteCounts(limit: ServiceLimits.takenNamesPerMinute)
    /// Whether several accounts write.
    let diskSharing = DiskSharing()
    /// What each account and address uses at a time.
    package let shares: ClientShares

    package init(
        configuration: ServiceConfiguration, catalog: any Catalog, logs: any CommitLogs,
        blobs: (any BlobStore)?, audit: (any AuditLog)? = nil, startedNanoseconds: UInt64
    ) throws(StoreError) {
        self.configuration = configuration
        self.catalog = catalog
        secrets = catalog.secrets
        accounts = catalog.accounts
        self.logs = logs
        self.blobs = blobs
        self.audit = audit
        self.startedNanoseconds = startedNanoseconds
        let containersWithData = try logs.containers()
        containersAtStart = containersWithData.sorted()
        servedContainers = Lock(
            ServedContainers(
                holdingData: containersWithData.union(catalog.schemas.keys),
                accountLimit: configuration.containersPerAccount))
        shares = ClientShares(
            configuration, bounds: ConnectionBounds(configuration, descriptors: Descriptors.limit))
    }

    /// Completes the core. Before any loop runs.
    package func assemble(shards: [Shard], loops: ServerLoops) {
        self.shards = shards
        adminLoop = loops.admin
        background = loops.background
        loader = loops.loader
        lessons = FairWork(on: loops.admin)
        loading = FairWork(on: loops.loader)
        counting = FairWork(on: loops.background)
    }

    /// Adds a way in. Before the loops run.
    package func add(_ door: any Door) { doors.append(door) }

    /// Releases the parts, which refer to the core and to each other. Called when no loop runs any more.
    package func disassemble() {
        for door in doors { door.release() }
        doors = []
        for shard in shards { shard.disassemble() }
        logs.release()
        blobs?.abandon()
        shards = []
        adminLoop = nil
        background = nil
        loader = nil
        lessons = nil
        loading = nil
        counting = nil
    }

    /// The same for a server that never started: what listens already is closed.
    package func abandon() {
        for loop in shards.map(\.loop) + [adminLoop, background, loader].compactMap({ $0 }) { loop.abandon() }
        disassemble()
    }

    package var log: Log { configuration.log }

    /// Whether databases are still needed. Any thread.
    var isLoading: Bool { !loadingEnded.load(ordering: .relaxed) }

    /// Gives up the load under way, and those after it: nobody waits for a database any more.
    package func endLoading() {
        loadingEnded.store(true, ordering: .relaxed)
        logs.endOpening()
    }

    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Returns false when it was draining already.
    package func beginDraining() -> Bool {
        if draining.exchange(true, ordering: .relaxed) { return false }
        logs.beginStopping()
        return true
    }

    // MARK: Transfers

    /// Counts a transfer of an asset, or throws why it may not begin.
    func beginTransfer(of share: ClientShare) throws(ServiceError) {
        try share.beginTransfer(places: ServiceLimits.transfers - transfers.load(ordering: .relaxed))
        if transfers.add(1, ordering: .relaxed).newValue <= ServiceLimits.transfers { return }
        endTransfer(of: share)
        throw ServiceError(
            .serviceUnavailable, "the server carries as many assets as it may; try again shortly",
            retryAfterMilliseconds: ServiceLimits.transferRetryMilliseconds)
    }

    func endTransfer(of share: ClientShare) {
        transfers.subtract(1, ordering: .relaxed)
        share.endTransfer()
    }

    // MARK: Health

    /// Notes for good that something that was saved is damaged: the next start tells whether it has been mended.
    func noteDamage() { damageFound.store(true, ordering: .relaxed) }

    package func health(at nowNanoseconds: UInt64) -> HealthStatus {
        HealthStatus(
            isServing: !isDraining, uptimeMilliseconds: uptimeMilliseconds(at: nowNanoseconds),
            isDiskFull: logs.isFull, isDamageFound: damageFound.load(ordering: .relaxed) || logs.isDamageFound)
    }

    func uptimeMilliseconds(at nowNanoseconds: UInt64) -> UInt64 { (nowNanoseconds - startedNanoseconds) / 1_000_000 }

    /// The shard that owns the database. For a client's request its identity knows the placement.
    package func shard(of database: DatabaseID) -> Shard { shard(at: Placement(of: database)) }

    func shard(at placement: Placement) -> Shard { shards[placement.shard(of: shards.count)] }

    // MARK: Clients

    /// Lets a client in as who it claims to be, or throws why it is refused.
    func authenticate(_ claim: Claim) throws(ServiceError) -> Identity {
        try check(claim)
        try checkIsServed(claim.container)
        if claim.environment == .development, !configuration.servesDevelopment {
            try refuseDevelopment(to: claim.proof)
        }
        func identity(
            _ role: Identity.Role, user: String = "", tokenHash: [UInt8] = [], storage: AccountStorage? = nil,
            isTeacher: Bool = false, newContainerOf account: [UInt8]? = nil
        ) -> Identity {
            Identity(
                role: role, container: claim.container, environment: claim.environment, userRecordName: user,
                deviceID: claim.deviceID, clientVersion: claim.clientVersion, tokenHash: tokenHash, storage: storage,
                isTeacher: isTeacher,
                newContainerOf: account)
        }
        switch claim.proof {
        case .none: return identity(.anonymous, isTeacher: configuration.teachers == .all)
        case .account(let token):
            guard let holder = accounts.holder(ofToken: token) else { throw Self.unknownToken }
            if let refusal = configuration.interceptor?.refusal(ofAccount: holder.name) { throw refusal }
            let isNew = try admit(container: claim.container, account: holder.id)
            return identity(
                .account(name: holder.name),
                user: secrets.userRecordName(
                    accountID: holder.id, container: claim.container, environment: claim.environment),
                tokenHash: AccountToken.hash(token) ?? [], storage: holder.storage,
                isTeacher: configuration.teachers.include(holder.name), newContainerOf: isNew ? holder.id : nil)
        case .admin(let token):
            // The answer does not reveal whether the token is right where it is of no use.
            guard configuration.takesOperatorOnPort else { throw Self.noOperatorHere }
            guard secrets.isAdminToken(token) else { throw Self.unknownOperatorToken }
            return identity(.admin)
        }
    }

    /// Throws what is wrong with a claim, whoever makes it.
    func check(_ claim: Claim) throws(ServiceError) {
        if isDraining { throw Self.isStopping }
        guard claim.deviceID.count == 16 else {
            throw ServiceError(
                .invalidArguments, "a device id has 16 random bytes; this one has \(claim.deviceID.count)")
        }
        try checkName(claim.container)
    }

    /// What a client is told while the server drains.
    package static let isStopping = ServiceError(
        .serviceUnavailable, "the server is about to stop; connect again", retryAfterMilliseconds: 1_000)

    package static let revokedToken = ServiceError(
        .notAuthenticated, "the account's token was revoked; get a new one from the operator")

    static let unknownToken = ServiceError(
        .notAuthenticated, "the token is unknown or was revoked; get a new one from the operator")

    private static let unknownOperatorToken = ServiceError(
        .notAuthenticated,
        "the operator's token is not this server's: copy admin.token from its data folder again")

    private static let noOperatorHere = ServiceError(
        .notAuthenticated,
        "this port takes no operator: run the command on the server's machine with --data, or start the server with --admin-on-port"
    )

    /// Refuses everybody but the operator: schemas are imported to development, and deployed from there.
    private func refuseDevelopment(to proof: Claim.Proof) throws(ServiceError) {
        if case .admin = proof { return }
        throw ServiceError(
            .badContainer,
            "this server has no development environment (--no-development): connect with the environment production"
                + " (BRUME_ENVIRONMENT=production), whose schema the operator imports and deploys")
    }

    private func checkName(_ name: String) throws(ServiceError) {
        if let problem = Names.problemWithContainer(name) { throw ServiceError(.badContainer, problem) }
    }

    /// Whether the operator lets the server serve a container.
    func serves(_ container: String) -> Bool {
        configuration.containers.isEmpty || configuration.containers.contains(container)
    }

    private func checkIsServed(_ name: String) throws(ServiceError) {
        guard serves(name) else {
            throw ServiceError(
                .badContainer, "this server does not serve the container; check its name with the operator")
        }
    }

    /// An account's private database in a container's environment, whether there is one or not.
    func privateDatabase(ofAccount id: [UInt8], _ container: String, _ environment: Environment) -> DatabaseID {
        let user = secrets.userRecordName(accountID: id, container: container, environment: environment)
        return DatabaseID(container: container, environment: environment, scope: .private, owner: user)
    }

    /// Opens a container for an account; returns whether it is new, and holds no data. Anonymous readers open none:
    /// empty databases that they read are not kept.
    private func admit(container: String, account: [UInt8]) throws(ServiceError) -> Bool {
        guard configuration.containers.isEmpty else { return false }
        func hasPrivateData(in container: String) -> Bool {
            [Environment.production, .development].contains {
                logs.holds(privateDatabase(ofAccount: account, container, $0))
            }
        }
        func holdsData() -> Bool {
            [Environment.production, .development].contains {
                logs.holds(DatabaseID(container: container, environment: $0, scope: .public, owner: ""))
            } || hasPrivateData(in: container)
        }
        switch servedContainers.withLock({
            $0.open(container, account: account, isOnDisk: holdsData, hasData: hasPrivateData)
        }) {
        case .known: return false
        case .new: return true
        case .refused:
            throw ServiceError(
                .badContainer,
                "this account has data in \(configuration.containersPerAccount) containers, which is the limit for opening"
                    + " new ones: use one of those, or have the operator name the containers of the server (--container)"
            )
        }
    }

    /// The containers that hold data or a schema, and those that the operator named. On the admin loop.
    var knownContainers: Set<String> {
        servedContainers.withLock { $0.holdingData }.union(containersAtStart).union(catalog.schemas.keys)
            .union(configuration.containers)
    }

    /// Notes that a client has gone that came to a new container.
    func closeContainer(of identity: Identity) {
        guard let account = identity.newContainerOf else { return }
        servedContainers.withLock { $0.close(identity.container, account: account) }
    }

    /// Notes that a client is about to write to a container that was new when it came.
    func fillContainer(of identity: Identity) {
        guard let account = identity.newContainerOf else { return }
        servedContainers.withLock { $0.fill(identity.container, account: account) }
    }

    /// Ends the clients that came with one of these tokens, which are no longer valid, and the enrolments that they
    /// began. `done` is called when no loop has one any more, on one of the loops: what they had sent to other loops is
    /// refused there when its turn comes. Any thread.
    package func endClients(ofTokens hashes: Set<[UInt8]>, then done: @escaping @Sendable () -> Void) {
        onEachLoop(
            { shard in
                shard.endClients { hashes.contains($0.tokenHash) }
                shard.enrolments.endAll(ofTokens: hashes)
            }, then: done)
    }

    /// Ends the clients of an account and tells them why. `done` is called when no loop has one any more, on one of the
    /// loops. Any thread.
    package func endClients(
        ofAccount name: String, reason: ServiceError, then done: @escaping @Sendable () -> Void
    ) {
        onEachLoop({ $0.endClients(reason) { $0.role == .account(name: name) } }, then: done)
    }

    /// Has each shard do something on its loop, one after the other; `done` is called on the last loop. Any thread.
    func onEachLoop(_ body: @escaping @Sendable (Shard) -> Void, then done: @escaping @Sendable () -> Void) {
        let shards = shards
        @Sendable func go(_ index: Int) {
            guard index < shards.count else { return done() }
            shards[index].loop.execute {
                body(shards[index])
                go(index + 1)
            }
        }
        go(0)
    }

    /// Whether the token of an identity is still valid. Revocation ends clients through the shards; this catches what
    /// is on its way between two loops or waits there, also when the account has a new token, or is another one of the
    /// same name.
    func isStillValid(_ identity: Identity) -> Bool {
        switch identity.role {
        case .anonymous, .admin: true
        case .account: accounts.isValid(tokenHash: identity.tokenHash)
        }
    }
}
