internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// The server's machine: its disk, its process, which ends and starts again, and the time that each of its steps takes.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedServer: @unchecked Sendable {
    static let key = [UInt8](repeating: 0x42, count: 32)
    /// So short that assets go within a run.
    static let assetGraceSeconds: UInt64 = 20

    unowned let simulation: Simulation
    /// The machine's disk; another one after a backup was restored.
    var disk = SimulatedDisk()
    var generator: SeededGenerator
    private(set) var process: StepwiseServer?
    private var ends: [SimulatedServerEnd] = []
    private var connections: [SimulatedConnection] = []
    /// Counts processes, so that what was scheduled for an earlier one does nothing.
    private var life = 0
    /// When this process started.
    private var startNanoseconds: UInt64 = 0
    private var turnTimes: [UInt64] = []
    private var isJournalScheduled = false
    private var areBlobsScheduled = false
    private var starts: UInt64 = 0
    /// Until when the disk is full.
    var fullUntilNanoseconds: UInt64 = 0
    /// The backups that were made, the newest last.
    var backups: [SimulatedBackup] = []
    /// Acts of operators that the server has said are done.
    var doneActs = 0
    /// Copies of the folder that are being made.
    var copiesUnderWay = 0
    /// Counts power cuts and restores: a copy of the folder that is under way then is lost.
    var interruptions = 0
    private var lastConnectionLoop = 0
    /// Whether this process has read a damaged snapshot: it refuses that database until the next start.
    private var knowsDamage = false
    /// What has to go with the processes.
    private(set) var endedLoops = EndedLoops()
    /// Processes that ended, when the broken promise keeps them.
    private var keptProcesses: [StepwiseServer] = []
    /// Answers to writes that wait for the sync, when the broken promise lets everything else leave before it.
    var heldFrames: [(SimulatedConnection, [UInt8])] = []

    init(simulation: Simulation) {
        self.simulation = simulation
        generator = SeededGenerator(seed: simulation.options.seed ^ 0x5E4E4)
    }

    var scheduler: Scheduler { simulation.scheduler }
    private var wallClockMilliseconds: Int64 { 1_700_000_000_000 + Int64(scheduler.nowNanoseconds / 1_000_000) }

    // MARK: The process

    func start() {
        precondition(process == nil, "a simulated server is started twice")
        starts += 1
        let flip = simulation.isQuiet ? nil : flipSomething()
        if scheduler.nowNanoseconds < fullUntilNanoseconds { fillDisk() }
        let process: StepwiseServer
        let loops: ServerLoops
        do throws(SystemError) {
            loops = try ServerLoops(shards: simulation.options.loops)
        } catch {
            return simulation.outOfResources("the loops of a server can't be made: \(error)")
        }
        do throws(StoreError) {
            process = try StepwiseServer(
                disk: simulation.options.brokenPromise.map { LyingDisk(disk, breaking: $0) } ?? disk,
                configuration: configuration, key: Self.key, accounts: simulation.accounts,
                salt: simulation.options.seed &+ starts,
                newEpoch: UInt32(
                    truncatingIfNeeded: simulation.options.seed &* 1_000
                        &+ (simulation.options.brokenPromise == .reusesRuns ? 1 : starts)),
                loops: loops,
                nowNanoseconds: scheduler.nowNanoseconds,
                wallClockMilliseconds: wallClockMilliseconds)
            for id in simulation.history.databases {
                let database = try process.recovered(id)
                if simulation.options.brokenPromise == .forgetsGuests { database?.testOnly_forgetRingGuests() }
                if let database, let problem = AssetChecks.problem(of: database, on: disk, &simulation.report) {
                    return simulation.violated(problem)
                }
                if let problem = simulation.history.recovered(id, database, epoch: process.epoch) {
                    return simulation.violated(problem)
                }
            }
        } catch {
            endedLoops.add(loops.all)
            if case .disk = error {
                // A fault struck during recovery: the machine tries again.
                if let flip { takeBack(flip) }
                return end(.byChance, isRunning: false)
            }
            guard let flip else {
                return simulation.violated("I1: a start calls the folder damaged, which nobody damaged: \(error)")
            }
            return refused(flip, error)
        }
        if let problem = auditProblem() { return simulation.violated(problem) }
        if let flip, flip.hasMeaning {
            return simulation.violated("F4: \(flip) was changed, and a start took it for good")
        }
        simulation.trace.note("started \(process.recoveryReport)")
        simulation.say("the server starts; epoch \(process.epoch); \(simulation.history.lastCommits)")
        life += 1
        startNanoseconds = scheduler.nowNanoseconds
        self.process = process
        turnTimes = [UInt64](repeating: .max, count: process.loops.count)
        (isJournalScheduled, areBlobsScheduled) = (false, false)
        knowsDamage = false
        for index in process.loops.indices { wake(index) }
        planSnapshot()
        planCrash()
        planRecount()
    }

    /// What tells this process from others.
    var lifeNow: EnrolmentHistory.Life { .init(number: life, start: startNanoseconds) }

    private var configuration: ServerConfiguration {
        let options = simulation.options
        var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
        configuration.loopCount = options.loops
        configuration.journalSegmentBytes = options.segmentBytes
        configuration.snapshotJournalBytes = options.segmentBytes * options.journalSegments
        configuration.snapshotAgeMilliseconds = options.snapshotSeconds * 2_000
        configuration.memoryBudgetBytes = options.memoryBudgetBytes
        configuration.backlogEvents = options.backlogEvents * (options.brokenPromise == .keepsAllEvents ? 1_000 : 1)
        configuration.eventsPerTurn = options.eventsPerTurn
        configuration.waitingEvents = options.waitingEvents
        // The turn's clock stands still.
        if options.tellsOneByOne { configuration.deliveryNanoseconds = 0 }
        configuration.shortLoadBytes = options.shortLoadBytes
        configuration.callsPerLoad = options.callsPerLoad
        configuration.accountTurnUndurableBytes = options.undurableBytes
        configuration.indexedZoneMinimum = options.indexedZoneMinimum
        configuration.sharedRecordsAtOnce = options.sharedRecordsAtOnce
        configuration.treeUnitsPerTurn = options.treeUnitsPerTurn
        configuration.connectionLimits.idleMilliseconds = 10_000
        // More than anybody comes to: what is used is counted.
        configuration.quotaBytes = 1 << 40
        // With a part that stays free, no upload meets the end of the disk.
        configuration.assetFreePercent = simulation.options.seed.isMultiple(of: 2) ? 0 : 5
        configuration.history =
            switch options.brokenPromise {
            case .keepsAllHistory: .standard
            case .expiresGoodTokens: HistoryLimits(tombstonesPerZone: 2, deletedZones: 2, runs: 1)
            default: options.history
            }
        configuration.service.assetGraceSeconds = UInt32(Self.assetGraceSeconds)
        configuration.service.receiptSeconds = 30
        configuration.service.enrolmentMilliseconds = EnrolmentHistory.lifeMilliseconds
        configuration.service.wrongCodeMilliseconds = EnrolmentHistory.wrongCodeMilliseconds
        configuration.service.assetSweepMilliseconds = 4_000
        configuration.service.assetWalkDelayMilliseconds = 3_000
        configuration.service.assetWalkMilliseconds = 12_000
        configuration.service.departedBlobs = options.departedBlobs
        configuration.service.departedBlobsPerDatabase = options.departedBlobsPerDatabase
        configuration.keptUploadSeconds = 15
        configuration.log = .none
        return configuration
    }

    /// Ends the process, which starts again later. `survival` says what a power cut leaves on the disk; nil when there
    /// was none.
    func end(_ survival: SimulatedDisk.Survival?, isRunning: Bool = true) {
        if isRunning, process == nil { return }
        simulation.report.crashes += 1
        if isRunning { recount() }
        let reason = process?.failure.map { " because \($0)" } ?? ""
        stopProcess()
        if let survival {
            interruptions += 1
            disk.crash(seed: generator.next(), survival)
        } else {
            disk.endProcess()
        }
        if simulation.options.brokenPromise == .cutsGoodTails { cutGoodTail() }
        if simulation.options.brokenPromise == .losesAssets { loseAssets() }
        if !simulation.isQuiet, generator.oneIn(simulation.options.restoreOneIn) { restoreBackup() }
        simulation.trace.note("crash \(disk.calls)")
        simulation.say("the process ended\(reason), the disk keeps \(survival.map { "\($0)" } ?? "all")")
        startLater()
    }

    /// Drops the process and its connections.
    func stopProcess() {
        life += 1
        if let process {
            endedLoops.add(process.loops)
            if simulation.options.brokenPromise == .keepsEndedServers { keptProcesses.append(process) }
        }
        process = nil
        for connection in connections { connection.serverDied() }
        for end in ends { end.receiver = nil }
        connections = []
        ends = []
        heldFrames = []
    }

    func startLater() {
        after(UInt64.random(in: 10_000_000...2_000_000_000, using: &generator), ofAnyLife: true) { $0.start() }
    }

    private func planSnapshot() {
        after(UInt64.random(in: 1...simulation.options.snapshotSeconds * 2_000_000_000, using: &generator)) { server in
            server.simulation.report.snapshots += 1
            server.beginSnapshot()
            server.planSnapshot()
        }
    }

    /// Asks for snapshots; `done` is called with whether all were written. If they were, the journal may hold nothing
    /// from before.
    func beginSnapshot(_ done: @escaping (Bool) -> Void = { _ in }) {
        guard let process else { return done(false) }
        let segment = process.journalSegment
        let answer = SnapshotAnswer(server: self, done: done)
        process.beginSnapshot { isWritten in
            if isWritten { answer.server.checkJournal(from: segment) }
            answer.done(isWritten)
        }
        lookAround()
    }

    /// On the one thread of the simulation, though a closure that may travel holds it.
    private struct SnapshotAnswer: @unchecked Sendable {
        let server: SimulatedServer
        let done: (Bool) -> Void
    }

    /// Ends the disk's faults with the active phase. If the disk gave something that is not on it, the operator starts
    /// the server again.
    func becomeQuiet() {
        disk.faults = SimulatedDisk.Faults()
        fullUntilNanoseconds = 0
        if knowsDamage { end(nil) }
    }

    // MARK: Steps

    func index(of loop: EventLoop) -> Int { process?.loops.firstIndex { $0 === loop } ?? 0 }

    func execute(on loop: Int, _ body: @escaping @Sendable () -> Void) {
        guard let process else { return }
        process.loops[loop].execute(body)
        wake(loop)
    }

    private func wake(_ loop: Int) {
        let longest = isLoader(loop) ? simulation.options.loadMillisecondsMax * 1_000_000 : 50_000
        turn(loop, at: scheduler.nowNanoseconds + UInt64.random(in: 500...longest, using: &generator))
    }

    private func isLoader(_ loop: Int) -> Bool { loop == turnTimes.count - 1 }

    private func turn(_ loop: Int, at time: UInt64) {
        guard time < turnTimes[loop] else { return }
        turnTimes[loop] = time
        let life = life
        scheduler.at(time) { [self] in
            guard life == self.life, turnTimes[loop] == time, let process else { return }
            turnTimes[loop] = .max
            let loads = isLoader(loop) && process.loops[loop].hasTasks
            if loads { beginLoad() }
            weakenRings(process)
            process.loops[loop].step(
                nowNanoseconds: scheduler.nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
            if loads { (disk.faults.damagedPrefix, disk.faults.unreadablePart) = (nil, nil) }
            lookAround()
        }
    }

    private func beginLoad() {
        simulation.report.loads += 1
        simulation.trace.note(UInt64(disk.calls))
        if simulation.isQuiet { return }
        let (failed, damaged) = (simulation.options.failedLoadOneIn, simulation.options.damagedLoadOneIn)
        if failed > 0, generator.oneIn(failed) {
            simulation.report.failedLoads += 1
            disk.faults.unreadablePart = "snapshots/"
            return
        }
        guard damaged > 0, generator.oneIn(damaged) else { return }
        simulation.report.damagedLoads += 1
        knowsDamage = true
        disk.faults.damagedPrefix = "snapshots/"
    }

    func lookAround() {
        guard let process else { return }
        if process.failure != nil { return failStopped() }
        checkQueues(process)
        for (index, loop) in process.loops.enumerated() {
            if loop.hasTasks { wake(index) }
            if let deadline = loop.nextDeadlineNanoseconds { turn(index, at: max(deadline, scheduler.nowNanoseconds)) }
        }
        scheduleJournal()
        scheduleBlobs()
    }

    /// The threads that wait for the disk of the assets do one piece after the other.
    private func scheduleBlobs() {
        guard let process, process.hasBlobWork, !areBlobsScheduled else { return }
        areBlobsScheduled = true
        after(UInt64.random(in: 10_000...3_000_000, using: &generator)) { server in
            server.areBlobsScheduled = false
            _ = server.process?.stepBlobs()
            server.lookAround()
        }
    }

    private func failStopped() {
        // After a failed call the process exits; sometimes the machine goes with it.
        end(generator.oneIn(2) ? nil : .byChance)
    }

    private func scheduleJournal() {
        guard let process, process.hasJournalWork, !isJournalScheduled else { return }
        isJournalScheduled = true
        var delay = UInt64.random(in: 10_000...simulation.options.syncMicrosecondsMax * 1_000, using: &generator)
        if !simulation.isQuiet, generator.oneIn(simulation.options.slowSyncOneIn) { delay += 3_000_000_000 }
        if process.isDiskFull { delay += 250_000_000 }
        after(delay) { server in
            server.isJournalScheduled = false
            server.process?.stepJournal { entries in
                for entry in entries {
                    server.simulation.history.submitted(entry)
                    server.simulation.say("to the journal: \(CommitHistory.description(of: entry))")
                }
                server.miscount(entries)
            }
            server.simulation.trace.note(UInt64(server.disk.calls))
            if server.simulation.options.brokenPromise == .publishesBeforeDurable { server.syncLater() }
            server.lookAround()
        }
    }

    func after(_ nanoseconds: UInt64, ofAnyLife: Bool = false, _ body: @escaping (SimulatedServer) -> Void) {
        let life = life
        scheduler.after(nanoseconds) { [self] in
            if ofAnyLife || life == self.life { body(self) }
        }
    }

    // MARK: Connections

    func accept(_ connection: SimulatedConnection) -> Bool {
        guard process != nil else { return false }
        lastConnectionLoop = (lastConnectionLoop + 1) % simulation.options.loops
        let end = SimulatedServerEnd(connection, host: self, loop: lastConnectionLoop)
        connection.server = end
        connections.append(connection)
        ends.append(end)
        let loop = lastConnectionLoop
        execute(on: loop) { [self] in
            guard end.isOpen else { return }
            end.receiver = process?.accept(end, loop: loop)
            end.receiver?.established()
        }
        return true
    }

    /// Sends a frame that leaves a session. Answers to writes wait if the promise to be broken is that everything waits
    /// for the disk.
    func leaving(_ frame: [UInt8], on connection: SimulatedConnection) {
        let isAnswer = frame[4] == FrameType.message.rawValue && frame[5] & FrameHeader.lastFlag != 0
        if simulation.options.brokenPromise == .publishesBeforeDurable, isAnswer {
            heldFrames.append((connection, frame))
            return syncLater()
        }
        if connection.isRevoked, frame[4] != FrameType.status.rawValue {
            simulation.violated("I7: a frame of type \(frame[4]) goes to a device whose token was revoked")
        }
        connection.sendDown(frame)
    }
}
