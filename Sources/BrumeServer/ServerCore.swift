internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire
internal import Synchronization

/// What all shards and sessions of a server share. Immutable once the loops run, but for what locks itself.
///
/// `@unchecked Sendable`: `shards`, `groupCommit`, `adminLoop`, `snapshots` and `loader` are set once, before any loop runs.
final class ServerCore: @unchecked Sendable {
    /// For clients' logs.
    static let version = "brume 0.1.0"

    let configuration: ServerConfiguration
    let secrets: ServerSecrets
    let accounts: AccountStore
    let schemas: SchemaRegistry
    let epoch: UInt32
    let startedNanoseconds: UInt64
    private(set) var shards: [Shard] = []
    private(set) var groupCommit: GroupCommit!
    /// Runs what may wait for a disk and belongs to no database: the operator's requests.
    private(set) var adminLoop: EventLoop!
    private let draining = Atomic<Bool>(false)
    private let damageFound = Atomic<Bool>(false)
    private(set) var snapshots: Snapshots!
    /// Loads databases that would hold up the loop they belong to, one after the other.
    private(set) var loader: EventLoop!
    private let loadingEnded = Atomic<Bool>(false)
    let memory = MemoryUse()
    /// The containers that accounts have opened, where the operator has named none.
    private let openedContainers = Mutex(OpenedContainers())

    init(
        configuration: ServerConfiguration, secrets: ServerSecrets, accounts: AccountStore, schemas: SchemaRegistry,
        epoch: UInt32, startedNanoseconds: UInt64
    ) {
        self.configuration = configuration
        self.secrets = secrets
        self.accounts = accounts
        self.schemas = schemas
        self.epoch = epoch
        self.startedNanoseconds = startedNanoseconds
    }

    /// Completes the core. Before any loop runs.
    func assemble(
        shards: [Shard], groupCommit: GroupCommit, adminLoop: EventLoop, snapshots: Snapshots, loader: EventLoop
    ) {
        self.shards = shards
        self.groupCommit = groupCommit
        self.adminLoop = adminLoop
        self.snapshots = snapshots
        self.loader = loader
    }

    /// Lets go of the parts, which all know the core. When no loop runs any more.
    func disassemble() {
        shards = []
        groupCommit = nil
        adminLoop = nil
        snapshots = nil
        loader = nil
    }

    var log: Log { configuration.log }

    /// Whether databases are still needed. Any thread.
    var isLoading: Bool { !loadingEnded.load(ordering: .relaxed) }

    /// Nobody waits for a database any more: the load under way is given up, and those behind it.
    func endLoading() { loadingEnded.store(true, ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Returns false when it was draining already.
    func beginDraining() -> Bool { !draining.exchange(true, ordering: .relaxed) }

    // MARK: Health

    /// A file of the folder turned out to be damaged. For good: the next start, or `brume verify`, tells whether it is mended.
    func noteDamage() { damageFound.store(true, ordering: .relaxed) }

    func health(at nowNanoseconds: UInt64) -> HealthStatus {
        HealthStatus(
            isServing: !isDraining, uptimeMilliseconds: uptimeMilliseconds(at: nowNanoseconds),
            isDiskFull: groupCommit.isDiskFull, isDamageFound: damageFound.load(ordering: .relaxed))
    }

    /// Reads the snapshots that the start did not. When the core is complete.
    func checkSnapshots(of disk: any Disk) {
        BackgroundCheck(of: disk, loop: snapshots.loop, server: self).start()
    }

    func uptimeMilliseconds(at nowNanoseconds: UInt64) -> UInt64 { (nowNanoseconds - startedNanoseconds) / 1_000_000 }

    /// The shard that owns the database. FNV-1a: the same in every run, and even over names.
    func shard(of database: DatabaseID) -> Shard {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for byte in database.container.utf8 { mix(byte) }
        mix(database.environment.rawValue)
        mix(database.scope.rawValue)
        for byte in database.owner.utf8 { mix(byte) }
        return shards[Int((hash >> 32) % UInt64(shards.count))]
    }

    // MARK: Sessions

    /// Who says hello, or why they are refused.
    func authenticate(_ hello: Hello) throws(ServiceError) -> Identity {
        if isDraining {
            throw ServiceError(
                .serviceUnavailable, "the server is about to stop; reconnect", retryAfterMilliseconds: 1_000)
        }
        guard hello.protocolVersion == 1 else {
            throw ServiceError(
                .incompatibleVersion,
                "this server speaks protocol version 1; the client asked for \(hello.protocolVersion)")
        }
        guard hello.deviceID.count == 16 else {
            throw ServiceError(
                .invalidArguments, "a device id has 16 random bytes; this one has \(hello.deviceID.count)")
        }
        guard let environment = hello.environment else {
            throw ServiceError(.invalidArguments, "the hello names no environment; choose development or production")
        }
        try checkContainer(hello.container)
        func identity(_ role: Identity.Role, user: String = "", tokenHash: [UInt8] = []) -> Identity {
            Identity(
                role: role, container: hello.container, environment: environment, userRecordName: user,
                deviceID: hello.deviceID, clientVersion: hello.clientVersion, tokenHash: tokenHash)
        }
        switch hello.credentials {
        case .none: return identity(.anonymous)
        case .account(let token):
            guard let holder = accounts.holder(ofToken: token) else { throw Self.unknownToken }
            if let refusal = configuration.interceptor?.refusal(ofAccount: holder.name) { throw refusal }
            try admit(container: hello.container, account: holder.id)
            return identity(
                .account(name: holder.name),
                user: secrets.userRecordName(
                    accountID: holder.id, container: hello.container, environment: environment),
                tokenHash: AccountToken.hash(token) ?? [])
        case .admin(let token):
            guard secrets.isAdminToken(token) else { throw Self.unknownToken }
            return identity(.admin)
        }
    }

    private static let unknownToken = ServiceError(
        .notAuthenticated, "the token is unknown or was revoked; get a new one from the operator")

    private func checkContainer(_ name: String) throws(ServiceError) {
        let isName =
            name.hasPrefix("iCloud.") && name.utf8.count > 7 && name.utf8.count <= Limits.nameCharacters
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isName else {
            throw ServiceError(
                .badContainer,
                "a container's name starts with \"iCloud.\" and has at most \(Limits.nameCharacters) characters")
        }
        guard configuration.containers.isEmpty || configuration.containers.contains(name) else {
            throw ServiceError(
                .badContainer, "this server does not serve the container; check its name with the operator")
        }
    }

    /// Counts a container that an account opens. Anonymous readers don't count: what they read of nothing is not kept.
    private func admit(container: String, account: [UInt8]) throws(ServiceError) {
        guard configuration.containers.isEmpty else { return }
        guard openedContainers.withLock({ $0.open(container, account: account) }) else {
            throw ServiceError(
                .badContainer,
                "no more containers can be opened on this server until the operator names those that it serves")
        }
    }

    /// Whether the token of an identity is still valid. Revocation closes sessions through the shards; this catches the one
    /// that is on its way between two loops, also when the account has a new token, or is another one of the same name.
    func isStillValid(_ identity: Identity) -> Bool {
        switch identity.role {
        case .anonymous, .admin: true
        case .account: accounts.isValid(tokenHash: identity.tokenHash)
        }
    }

    func welcome(for identity: Identity) -> Welcome {
        let limits = configuration.connectionLimits
        return Welcome(
            protocolVersion: 1, serverVersion: Self.version, userRecordName: identity.userRecordName,
            serverEpoch: epoch,
            limits: BrumeWire.ConnectionLimits(
                frameBytes: Limits.frameBytes, concurrentCalls: limits.concurrentCalls,
                itemsPerRequest: Limits.itemsPerRequest, requestBytes: Limits.requestBytes,
                recordBytes: Limits.recordBytes, streamCredit: limits.streamCredit,
                idleMilliseconds: Int(clamping: limits.idleMilliseconds)))
    }
}
