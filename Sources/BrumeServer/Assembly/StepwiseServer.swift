package import BrumeModel
package import BrumeService
package import BrumeStore
package import BrumeSystem

/// A server without threads, sockets and files of its own: whoever owns it lends it time, connections and a disk, and
/// calls each step. Sessions, shards, journal, snapshots and pushes are those of ``Server``; what is missing is what
/// surrounds them.
///
/// Single-threaded.
package final class StepwiseServer {
    let core: ServerCore
    private let door: BrumeDoor
    /// What a server has that keeps everything in a data folder.
    private let folder: (recovery: Recovery, journal: JournalLogs)?
    private let blobThreads: DiskThreads?
    private let outcome = Outcome()

    /// Why the server stopped, for good; nil while it goes on.
    package var failure: String? { outcome.failure }
    /// The loops of the shards, then the operator's, the one in the background, and the one that loads databases.
    package let loops: [EventLoop]
    package var recoveryReport: Recovery.Report { recovery.report }

    /// Makes a server that keeps its databases in another log than the journal, and accounts and schemas in another
    /// catalog than a folder.
    ///
    /// - Parameter loops: The server's loops, with as many for shards as the configuration has loops.
    package init(
        logs: any CommitLogs, catalog: any Catalog, configuration: ServerConfiguration, loops: ServerLoops,
        nowNanoseconds: UInt64, wallClockMilliseconds: Int64
    ) throws(StoreError) {
        precondition(
            loops.shards.count == configuration.loopCount, "a server has other loops than its configuration says")
        folder = nil
        self.loops = loops.all
        for loop in self.loops {
            loop.step(nowNanoseconds: nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
        }
        let assembly = try ServerAssembly(
            of: logs, catalog: catalog, configuration: configuration, loops: loops,
            startedNanoseconds: nowNanoseconds)
        core = assembly.core
        door = assembly.door
        blobThreads = nil
        assembly.handOver()
    }

    /// Opens what is on the disk, and recovers it.
    ///
    /// - Parameters:
    ///   - key: 32 bytes, from which MACs and user record names derive.
    ///   - accounts: The accounts that a folder begins with.
    ///   - salt: The salt of new journal segments.
    ///   - loops: The server's loops, with as many for shards as the configuration has loops.
    package init(
        disk: any Disk, configuration: ServerConfiguration, key: [UInt8], accounts: [StoredAccount], salt: UInt64,
        newEpoch: UInt32, loops: ServerLoops, nowNanoseconds: UInt64, wallClockMilliseconds: Int64
    ) throws(StoreError) {
        precondition(
            loops.shards.count == configuration.loopCount, "a server has other loops than its configuration says")
        let failStop: FailStop = { [outcome] reason in outcome.failure = reason }
        let accounts = try AccountStore(disk: disk, startingWith: accounts, failStop: failStop)
        do throws(DiskError) {
            try accounts.makeFileIfMissing()
        } catch {
            throw .disk(error)
        }
        let recovery = try Recovery(
            opening: disk,
            options: JournalWriter.Options(salt: salt, segmentBytes: configuration.journalSegmentBytes),
            newEpoch: newEpoch, startCheck: configuration.startCheck, history: configuration.history)
        self.loops = loops.all
        for loop in self.loops {
            loop.step(nowNanoseconds: nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
        }
        let (assembly, journal) = try ServerAssembly.folder(
            of: recovery, on: disk, configuration: configuration,
            secrets: ServerSecrets(key: key, adminTokenHash: []), accounts: accounts, loops: loops,
            diskFullPauseMilliseconds: 0, blobThreadCount: 0, startedNanoseconds: nowNanoseconds,
            nowNanoseconds: { loops.shards[0].nowNanoseconds }, failStop: failStop)
        folder = (recovery, journal)
        core = assembly.core
        door = assembly.door
        blobThreads = assembly.blobThreads
        assembly.handOver()
    }

    private var recovery: Recovery {
        guard let folder else { preconditionFailure("a server without a data folder has recovered nothing") }
        return folder.recovery
    }

    private var journal: GroupCommit {
        guard let folder else { preconditionFailure("a server without a data folder has no journal") }
        return folder.journal.groupCommit
    }

    deinit {
        // The parts refer to each other, and what waits in a loop refers to them.
        core.abandon()
    }

    /// A database as recovery found it. Call it before the first step: what is in memory moves on.
    package func recovered(_ id: DatabaseID) throws(StoreError) -> Database? {
        if let database = recovery.databases[id] { return database }
        return try recovery.loadDatabase(id)
    }

    /// The epoch of what is stored.
    package var epoch: UInt32 { core.logs.epoch }

    /// The user record name of an account with that id.
    package static func userRecordName(
        accountID: [UInt8], key: [UInt8], container: String, environment: Environment
    ) -> String {
        ServerSecrets(key: key, adminTokenHash: [])
            .userRecordName(accountID: accountID, container: container, environment: environment)
    }

    /// Accepts a connection that came in on a loop. Call it on that loop.
    package func accept(_ connection: any PeerConnection, loop index: Int) -> any PeerConnectionReceiver {
        door.accept(connection, onLoop: index)
    }

    /// Tells all sessions that the server is about to stop, as ``Server/drain()`` does. The loops have to be stepped.
    package func drain() {
        guard core.beginDraining() else { return }
        for door in core.doors { door.drain() }
    }

    /// Changes a container's schemas, as the operator's commands do. The loops have to be stepped; `done` is called
    /// when all loops know.
    package func changeSchemas(
        of container: String, _ change: @escaping @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void,
        then done: @escaping @Sendable (ServiceError?) -> Void
    ) {
        core.adminLoop.execute { [core] in core.changeSchemasEverywhere(of: container, change, then: done) }
    }

    /// Asks for an account's quota, as the operator's command does. The loops have to be stepped.
    package func askQuota(ofAccount name: String, then done: @escaping @Sendable (AccountQuota) -> Void) {
        core.adminLoop.execute { [core] in
            core.quota(ofAccount: name, change: nil) { result in
                guard case .success(let quota) = result else { preconditionFailure("an account is unknown") }
                done(quota)
            }
        }
    }

    /// Whether the journal has something to write.
    package var hasJournalWork: Bool { folder?.journal.groupCommit.hasWork ?? false }

    /// Bytes that wait for the disk.
    package var pendingByteCount: Int { core.logs.undurableByteCount }

    /// The largest value that ``pendingByteCount`` may reach: the limit, and one turn's requests.
    package static var pendingByteLimit: Int { ServiceLimits.undurableBytes + Limits.commitBytes }

    /// Writes and syncs one batch; one that has found the disk full is tried again. `observe` gets its encoded entries
    /// before the first time.
    package func stepJournal(_ observe: ([[UInt8]]) -> Void) { journal.step(observe) }

    /// Whether something waits for the disk of the assets.
    package var hasBlobWork: Bool { blobThreads?.hasWork ?? false }

    /// Does one piece of what waits for the disk of the assets; false when there is none.
    package func stepBlobs() -> Bool { blobThreads?.step() ?? false }

    /// Whether writes are refused because a batch waits for room on the disk.
    package var isDiskFull: Bool { core.logs.isFull }

    /// The segment that the journal's next batch goes to, unless it is full.
    package var journalSegment: UInt64 { journal.segment }

    /// Writes snapshots of what changed, and cuts the journal. Goes on in the steps that follow; `done` is called with
    /// whether all were written.
    package func beginSnapshot(_ done: @escaping @Sendable (Bool) -> Void = { _ in }) {
        core.logs.saveAll { result in
            if case .success = result { done(true) } else { done(false) }
        }
    }

    // MARK: What is in memory

    /// A database in memory, and what is kept of its pushes for devices that are away or slow.
    package struct Loaded {
        package let database: Database
        package let backlogEvents: Int
        package let backlogBytes: Int
    }

    /// The databases in memory, in the order of their names.
    package var loaded: [Loaded] {
        var loaded: [Loaded] = []
        for shard in core.shards {
            shard.databases.forEach { known in
                let backlog = known.hub.backlog
                loaded.append(
                    Loaded(database: known.database, backlogEvents: backlog.events, backlogBytes: backlog.bytes))
            }
        }
        return loaded.sorted {
            ($0.database.id.container, $0.database.id.owner) < ($1.database.id.container, $1.database.id.owner)
        }
    }

    /// Bytes of uploads that are under way, as quotas count them.
    package var reservedUploadBytes: Int {
        var bytes = 0
        for shard in core.shards { shard.databases.forEach { bytes += $0.reservedUploadBytes } }
        return bytes
    }

    /// What is wrong in the bytes that quotas count, of a database in memory or of an account; nil when nothing is.
    package var quotaProblem: String? {
        for shard in core.shards {
            var problem: String?
            shard.databases.forEach { known in
                let bytes = known.usedBytes
                if let storage = known.storage, storage.counted.bytes != bytes {
                    problem = "a quota counts \(storage.counted.bytes) bytes of a database that has \(bytes)"
                }
            }
            if let problem { return problem }
        }
        return core.storage.problem()
    }

    /// What waits for the disk or another loop.
    package struct Waiting: Equatable, Sendable {
        /// Answers and pushes.
        package var actions = 0
        /// Bytes of the answers, the most of any loop.
        package var answerBytes = 0
        /// Bytes that hold back the reading of sessions.
        package var sessionBytes = 0

        package init() {}
    }

    package var waiting: Waiting {
        var waiting = Waiting()
        for shard in core.shards {
            waiting.actions += shard.gate.count
            waiting.answerBytes = max(waiting.answerBytes, shard.gate.heldByteCount)
            waiting.sessionBytes += core.doors.reduce(0) { $0 + $1.heldByteCount(onLoop: shard.index) }
        }
        return waiting
    }

    /// Bounds of ``Waiting/answerBytes`` and ``Loaded/backlogBytes``.
    package static var heldAnswerByteLimit: Int { ServiceLimits.heldAnswerBytes }
    package static var backlogByteLimit: Int { ServiceLimits.backlogBytes }

    // MARK: Accounts

    /// Makes all tokens of an account invalid and closes its sessions, as the operator's request does. `done` is called
    /// when no loop has such a session any more, or with false when the disk has not taken it.
    ///
    /// - Parameters:
    ///   - testOnly_keepsSessions: Leaves out the half that closes sessions.
    ///   - testOnly_isUnaudited: Leaves out the note in the audit log.
    package func revokeTokens(
        ofAccount name: String, testOnly_keepsSessions: Bool = false, testOnly_isUnaudited: Bool = false,
        done: @escaping @Sendable (Bool) -> Void
    ) {
        core.adminLoop.execute { [core] in
            guard testOnly_keepsSessions || testOnly_isUnaudited else {
                return core.performAudited(
                    .revokeTokens(name: name), from: OperatorOrigin(peer: "the simulated operator", request: ""),
                    identity: Identity(
                        role: .admin, container: "", environment: .production,
                        deviceID: [UInt8](repeating: 0, count: 16), clientVersion: "")
                ) { outcome in
                    if case .success = outcome { done(true) } else { done(false) }
                }
            }
            core.catalog.change(.revokeTokens(name: name)) { result in
                guard case .success(let effect) = result else { return done(false) }
                if testOnly_keepsSessions { return done(true) }
                core.endClients(ofTokens: effect.revokedTokens) { done(true) }
            }
        }
    }

    /// Gives an account another token. `done` is called with whether it has it.
    package func addToken(hash: [UInt8], toAccount name: String, done: @escaping @Sendable (Bool) -> Void) {
        core.adminLoop.execute { [core] in
            core.catalog.change(.addToken(hash: hash, name: name)) { result in
                if case .success = result { done(true) } else { done(false) }
            }
        }
    }

    /// On the one thread that steps the server, though closures that may travel hold it.
    private final class Outcome: @unchecked Sendable {
        var failure: String?
    }
}
