package import BrumeModel
package import BrumeStore
package import BrumeSystem

/// A server without threads, sockets and files of its own: whoever owns it lends it time, connections and a disk, and calls each
/// step. Sessions, shards, journal, snapshots and pushes are those of ``Server``; what is missing is what surrounds them.
///
/// Single-threaded.
package final class StepwiseServer {
    private let core: ServerCore
    private let recovery: Recovery
    private let outcome = Outcome()

    /// Why the server stopped, which is for good; nil: it goes on.
    package var failure: String? { outcome.failure }
    /// Those of the shards, then the operator's and that of the snapshots.
    package let loops: [EventLoop]
    package let recoveryReport: Recovery.Report

    /// Opens what is on the disk, and recovers it.
    ///
    /// - Parameters:
    ///   - key: 32 bytes, from which MACs and user record names derive.
    ///   - salt: For new journal segments.
    package init(
        disk: any Disk, configuration: ServerConfiguration, key: [UInt8], accounts: [StoredAccount], salt: UInt64,
        newEpoch: UInt32, nowNanoseconds: UInt64, wallClockMilliseconds: Int64
    ) throws(StoreError) {
        recovery = try Recovery(
            opening: disk,
            options: JournalWriter.Options(salt: salt, segmentBytes: configuration.journalSegmentBytes),
            newEpoch: newEpoch)
        recoveryReport = recovery.report
        core = ServerCore(
            configuration: configuration, secrets: ServerSecrets(key: key, adminTokenHash: []),
            accounts: AccountStore(fixed: accounts), epoch: recovery.epoch, startedNanoseconds: nowNanoseconds)
        var loops: [EventLoop] = []
        for index in 0..<configuration.loopCount + 2 {
            do throws(SystemError) {
                loops.append(try EventLoop(name: "loop \(index)"))
            } catch {
                throw .disk(DiskError(call: error.call, path: "", message: "a loop can't be made"))
            }
            loops[index].step(nowNanoseconds: nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
        }
        self.loops = loops
        let shards = loops.dropLast(2).enumerated().map { Shard(index: $0.offset, loop: $0.element, server: core) }
        let groupCommit = GroupCommit(
            writer: recovery.writer, diskFullPauseMilliseconds: 0,
            becameDurable: { [outcome] index, position in
                let shard = outcome.shards[index]
                shard.loop.execute { shard.becameDurable(position) }
            },
            segmentBegan: { [outcome] in outcome.core?.snapshots.journalGrew(segmentsKept: $0) },
            diskFullChanged: { _ in },
            failStop: { [outcome] reason in outcome.failure = reason })
        (outcome.shards, outcome.core) = (shards, core)
        core.assemble(
            shards: shards, groupCommit: groupCommit, adminLoop: loops[configuration.loopCount],
            snapshots: Snapshots(
                loop: loops[configuration.loopCount + 1], server: core, segmentsKept: recovery.report.segments))
        let logs = shards.map {
            ShardLog(shard: $0.index, snapshots: recovery.snapshots, disk: disk, groupCommit: groupCommit)
        }
        for database in recovery.databases.values {
            logs[core.shard(of: database.id).index].adopt(
                database, needsSnapshot: !recovery.coverage.holdsAll(of: database.id))
        }
        for (shard, log) in zip(shards, logs) { try shard.prepare(log) }
    }

    deinit {
        // The parts hold each other.
        (outcome.shards, outcome.core) = ([], nil)
        core.disassemble()
    }

    /// A database as recovery found it. Before the first step: what is in memory moves on.
    package func recovered(_ id: DatabaseID) throws(StoreError) -> Database? {
        if let database = recovery.databases[id] { return database }
        return try recovery.loadDatabase(id)
    }

    /// The user record name of an account with that id.
    package static func userRecordName(
        accountID: [UInt8], key: [UInt8], container: String, environment: Environment
    ) -> String {
        ServerSecrets(key: key, adminTokenHash: [])
            .userRecordName(accountID: accountID, container: container, environment: environment)
    }

    /// A connection came in on a loop. Runs on that loop.
    package func accept(_ connection: any PeerConnection, loop index: Int) -> any PeerConnectionReceiver {
        let session = Session(shard: core.shards[index], server: core)
        session.accepted(connection)
        return session
    }

    /// Whether the journal has something to write.
    package var hasJournalWork: Bool { core.groupCommit.hasWork }

    /// Bytes that wait for the disk.
    package var pendingByteCount: Int { core.groupCommit.pendingByteCount }

    /// The most that ``pendingByteCount`` may come to: the limit, and one turn's requests.
    package static var pendingByteLimit: Int { ServerLimits.undurableBytes + Limits.commitBytes }

    /// Writes and syncs one batch. A full disk is tried again at once, until there is room: let it be full for some calls only.
    /// `observe` gets its encoded entries first.
    package func stepJournal(_ observe: ([[UInt8]]) -> Void) { core.groupCommit.step(observe) }

    /// Writes snapshots of what changed, and cuts the journal. Goes on in the steps that follow.
    package func beginSnapshot() { core.snapshots.request { _ in } }

    /// On the one thread that steps the server, though closures that may travel hold it.
    private final class Outcome: @unchecked Sendable {
        var failure: String?
        var shards: [Shard] = []
        var core: ServerCore?
    }
}
