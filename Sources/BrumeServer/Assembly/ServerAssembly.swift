internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Assembles a server from its configuration and what recovery found: shards, journal, snapshots and the calls between
/// them.
///
/// ``Server`` and ``StepwiseServer`` are assembled only here, so that what the simulator checks is wired like the real
/// server.
struct ServerAssembly {
    let core: ServerCore
    let recovery: Recovery
    private let disk: any Disk

    /// - Parameters:
    ///   - spinner: How long a thread without work looks for more before it sleeps.
    ///   - startedNanoseconds: When the server began, on the loops' clock.
    ///   - failStop: Ends the server when a disk can't be relied on any more.
    init(
        of recovery: Recovery, on disk: any Disk, configuration: ServerConfiguration, secrets: ServerSecrets,
        accounts: AccountStore, loops: ServerLoops, spinner: Spinner = Spinner(),
        diskFullPauseMilliseconds: Int = ServerLimits.diskFullPauseMilliseconds, startedNanoseconds: UInt64,
        failStop: @escaping FailStop
    ) throws(StoreError) {
        self.recovery = recovery
        self.disk = disk
        let log = configuration.log
        let core = ServerCore(
            configuration: configuration, secrets: secrets, accounts: accounts,
            schemas: try SchemaRegistry(disk: disk, log: log, manifest: recovery.manifest, failStop: failStop),
            epoch: recovery.epoch, startedNanoseconds: startedNanoseconds,
            containersWithData: try recovery.containers(), journaledDatabases: recovery.journaledDatabases,
            isNewFolder: recovery.report.isNewFolder, failStop: failStop, manifest: recovery.manifest)
        self.core = core
        let shards = loops.shards.enumerated().map { Shard(index: $0.offset, loop: $0.element, server: core) }
        for loop in loops.shards { loop.spinner = spinner }
        let groupCommit = GroupCommit(
            writer: recovery.writer, diskFullPauseMilliseconds: diskFullPauseMilliseconds, spinner: spinner,
            becameDurable: { [shards] index, position in
                let shard = shards[index]
                shard.loop.execute { shard.becameDurable(position) }
            },
            segmentBegan: { [unowned core] in core.snapshots.journalGrew(segmentsKept: $0) },
            diskFullChanged: { error in
                if let error {
                    log.error("the disk is full: writes are refused until there is room", [("reason", "\(error)")])
                } else {
                    log.warning("there is room on the disk: writes are taken again")
                }
            },
            failStop: failStop)
        loops.snapshots.yieldsToOthers = true
        core.assemble(
            shards: shards, groupCommit: groupCommit, adminLoop: loops.admin,
            snapshots: Snapshots(loop: loops.snapshots, server: core, segmentsKept: recovery.report.segments),
            loader: loops.loader)
    }

    /// Gives the shards their databases, and has the snapshots checked that recovery did not read. Call it once, before
    /// any loop runs.
    func handOver() throws(StoreError) {
        let logs = core.shards.map {
            ShardLog(shard: $0.index, snapshots: recovery.snapshots, disk: disk, groupCommit: core.groupCommit)
        }
        for database in recovery.databases.values {
            logs[core.shard(of: database.id).index].adopt(
                database, needsSnapshot: !recovery.coverage.holdsAll(of: database.id))
        }
        for (shard, log) in zip(core.shards, logs) { try shard.prepare(log) }
        if recovery.report.snapshotsChecked == nil {
            BackgroundCheck(of: disk, loop: core.snapshots.loop, server: core).start()
        }
    }
}
