internal import BrumeModel
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// Assembles a server from its configuration, its log and its catalog: shards, loops and the calls between them.
///
/// ``Server`` and ``StepwiseServer`` are assembled only here, so that what the simulator checks is wired like the real
/// server.
struct ServerAssembly {
    let core: ServerCore
    let door: BrumeDoor
    /// What waits for the disk of the assets; nil where there are none.
    let blobThreads: DiskThreads?

    /// A server that keeps everything in a data folder.
    ///
    /// - Parameters:
    ///   - recovery: What was found in the folder.
    ///   - spinner: How long a thread without work looks for more before it sleeps.
    ///   - startedNanoseconds: When the server began, on the loops' clock.
    ///   - nowNanoseconds: That clock, for other threads.
    ///   - failStop: Ends the server when a disk can't be relied on any more.
    static func folder(
        of recovery: Recovery, on disk: any Disk, configuration: ServerConfiguration, secrets: ServerSecrets,
        accounts: AccountStore, loops: ServerLoops, spinner: Spinner = Spinner(),
        diskFullPauseMilliseconds: Int = ServerLimits.diskFullPauseMilliseconds, blobThreadCount: Int,
        startedNanoseconds: UInt64, nowNanoseconds: @escaping @Sendable () -> UInt64,
        failStop: @escaping FailStop
    ) throws(StoreError) -> (assembly: ServerAssembly, journal: JournalLogs) {
        let schemas = try SchemaRegistry(
            disk: disk, log: configuration.log, manifest: recovery.manifest, failStop: failStop)
        let journal = JournalLogs(
            of: recovery, on: disk, configuration: configuration, loops: loops, spinner: spinner,
            diskFullPauseMilliseconds: diskFullPauseMilliseconds, failStop: failStop)
        let space = SpaceWatch(
            on: disk, freePercent: configuration.assetFreePercent, log: configuration.log,
            nowNanoseconds: nowNanoseconds)
        let blobs = FolderBlobStore(
            on: disk, threads: DiskThreads(count: blobThreadCount), space: space,
            keptUploadSeconds: configuration.keptUploadSeconds, nowNanoseconds: nowNanoseconds, failStop: failStop)
        let audit = try FolderAuditLog(
            on: disk, log: configuration.log,
            nowMilliseconds: { [admin = loops.admin] in admin.wallClockMilliseconds }, failStop: failStop)
        let assembly = try ServerAssembly(
            of: journal, catalog: FolderCatalog(secrets: secrets, accounts: accounts, schemas: schemas),
            configuration: configuration, loops: loops, blobs: blobs, audit: audit, spinner: spinner,
            startedNanoseconds: startedNanoseconds)
        return (assembly, journal)
    }

    init(
        of logs: any CommitLogs, catalog: any Catalog, configuration: ServerConfiguration, loops: ServerLoops,
        blobs: FolderBlobStore? = nil, audit: (any AuditLog)? = nil, spinner: Spinner = Spinner(),
        startedNanoseconds: UInt64
    ) throws(StoreError) {
        let core = try ServerCore(
            configuration: configuration.service, catalog: catalog, logs: logs, blobs: blobs, audit: audit,
            startedNanoseconds: startedNanoseconds)
        self.core = core
        blobThreads = blobs?.threads
        let shards = loops.shards.enumerated().map { Shard(index: $0.offset, loop: $0.element, server: core) }
        for loop in loops.shards { loop.spinner = spinner }
        core.assemble(shards: shards, loops: loops)
        door = BrumeDoor(to: core, configuration)
        core.add(door)
    }

    /// Gives the shards their logs, with the databases that these have read. Call it once, before any loop runs.
    func handOver() {
        for shard in core.shards { shard.prepare(core.logs.log(ofShard: shard.index)) }
        for door in core.doors { door.start() }
    }
}
