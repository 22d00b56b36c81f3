internal import BrumeModel
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire

/// The server's machine: its disk, its process, which ends and starts again, and the time that each of its steps takes.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedServer: @unchecked Sendable {
    static let key = [UInt8](repeating: 0x42, count: 32)

    unowned let simulation: Simulation
    let disk = SimulatedDisk()
    private(set) var generator: SeededGenerator
    private(set) var process: StepwiseServer?
    private var ends: [SimulatedServerEnd] = []
    private var connections: [SimulatedConnection] = []
    /// Counts processes, so that what was scheduled for an earlier one does nothing.
    private var life = 0
    private var turnTimes: [UInt64] = []
    private var isJournalScheduled = false
    private var starts: UInt64 = 0
    private var lastConnectionLoop = 0
    /// Frames that wait for a sync which was to come before others left.
    private var heldFrames: [(SimulatedConnection, [UInt8])] = []

    init(simulation: Simulation) {
        self.simulation = simulation
        generator = SeededGenerator(seed: simulation.options.seed ^ 0x5E4E4)
    }

    private var scheduler: Scheduler { simulation.scheduler }
    private var wallClockMilliseconds: Int64 { 1_700_000_000_000 + Int64(scheduler.nowNanoseconds / 1_000_000) }

    // MARK: The process

    func start() {
        precondition(process == nil, "a simulated server is started twice")
        starts += 1
        var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
        configuration.loopCount = simulation.options.loops
        configuration.journalSegmentBytes = simulation.options.segmentBytes
        configuration.snapshotJournalBytes = simulation.options.segmentBytes * simulation.options.journalSegments
        configuration.snapshotAgeMilliseconds = simulation.options.snapshotSeconds * 2_000
        configuration.memoryBudgetBytes = simulation.options.memoryBudgetBytes
        configuration.backlogEvents = simulation.options.backlogEvents
        configuration.connectionLimits.idleMilliseconds = 10_000
        configuration.log = .none
        let disk: any Disk = simulation.options.brokenPromise.map { LyingDisk(self.disk, breaking: $0) } ?? self.disk
        let process: StepwiseServer
        do throws(StoreError) {
            process = try StepwiseServer(
                disk: disk, configuration: configuration, key: Self.key, accounts: simulation.accounts,
                salt: simulation.options.seed &+ starts,
                newEpoch: UInt32(truncatingIfNeeded: simulation.options.seed &* 1_000 &+ starts),
                nowNanoseconds: scheduler.nowNanoseconds,
                wallClockMilliseconds: wallClockMilliseconds)
            for id in simulation.history.databases {
                if let problem = simulation.history.recovered(id, try process.recovered(id)) {
                    return simulation.violated(problem)
                }
            }
        } catch {
            guard case .disk = error else {
                return simulation.violated("I1: a start calls the folder damaged, which nobody damaged: \(error)")
            }
            // A fault struck during recovery: the machine tries again.
            return end(.byChance, isRunning: false)
        }
        simulation.trace.note("started \(process.recoveryReport)")
        life += 1
        self.process = process
        turnTimes = [UInt64](repeating: .max, count: process.loops.count)
        isJournalScheduled = false
        for index in process.loops.indices { wake(index) }
        planSnapshot()
        planCrash()
    }

    /// The process ends; `survival` says what a power cut leaves on the disk, nil that there was none. It starts again later.
    func end(_ survival: SimulatedDisk.Survival?, isRunning: Bool = true) {
        if isRunning, process == nil { return }
        simulation.report.crashes += 1
        life += 1
        process = nil
        for connection in connections { connection.serverDied() }
        for end in ends { end.receiver = nil }
        connections = []
        ends = []
        heldFrames = []
        if let survival {
            disk.crash(seed: generator.next(), survival)
        } else {
            disk.endProcess()
        }
        if simulation.options.brokenPromise == .cutsGoodTails { cutGoodTail() }
        simulation.trace.note("crash \(disk.calls)")
        after(UInt64.random(in: 10_000_000...2_000_000_000, using: &generator), ofAnyLife: true) { $0.start() }
    }

    private func planCrash() {
        let seconds = simulation.options.crashSeconds
        guard seconds > 0 else { return }
        let time = UInt64.random(in: 1...seconds * 2_000_000_000, using: &generator)
        // Sometimes already while it starts.
        if generator.oneIn(12), !simulation.isQuiet {
            disk.faults.powerCutCall = disk.calls + Int.random(in: 0...12, using: &generator)
        }
        after(time) { server in
            if server.simulation.isQuiet { return }
            let call = server.disk.calls + Int.random(in: 0...12, using: &server.generator)
            switch Int.random(in: 0...9, using: &server.generator) {
            case 0: server.end(nil)
            case 1: server.end(.nothing)
            case 2: server.end(.everything)
            case 3: server.end(.byChance)
            case 4: server.disk.faults.failingCall = call
            case 5: server.disk.faults.fullCall = call
            default: server.disk.faults.powerCutCall = call
            }
            // A fault that is armed strikes at a call that may be long in coming, or never come.
            if server.process != nil { server.planCrash() }
        }
    }

    private func planSnapshot() {
        after(UInt64.random(in: 1...simulation.options.snapshotSeconds * 2_000_000_000, using: &generator)) { server in
            server.simulation.report.snapshots += 1
            server.process?.beginSnapshot()
            server.scheduleJournal()
            server.planSnapshot()
        }
    }

    /// Faults of the disk end with the active phase.
    func becomeQuiet() {
        disk.faults = SimulatedDisk.Faults()
    }

    // MARK: Steps

    func index(of loop: EventLoop) -> Int { process?.loops.firstIndex { $0 === loop } ?? 0 }

    func execute(on loop: Int, _ body: @escaping @Sendable () -> Void) {
        guard let process else { return }
        process.loops[loop].execute(body)
        wake(loop)
    }

    private func wake(_ loop: Int) {
        turn(loop, at: scheduler.nowNanoseconds + UInt64.random(in: 500...50_000, using: &generator))
    }

    private func turn(_ loop: Int, at time: UInt64) {
        guard time < turnTimes[loop] else { return }
        turnTimes[loop] = time
        let life = life
        scheduler.at(time) { [self] in
            guard life == self.life, turnTimes[loop] == time, let process else { return }
            turnTimes[loop] = .max
            process.loops[loop].step(
                nowNanoseconds: scheduler.nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
            lookAround()
        }
    }

    private func lookAround() {
        guard let process else { return }
        if process.failure != nil { return failStopped() }
        if process.pendingByteCount > StepwiseServer.pendingByteLimit {
            simulation.violated("I10: \(process.pendingByteCount) bytes wait for the disk")
        }
        for (index, loop) in process.loops.enumerated() {
            if loop.hasTasks { wake(index) }
            if let deadline = loop.nextDeadlineNanoseconds { turn(index, at: max(deadline, scheduler.nowNanoseconds)) }
        }
        scheduleJournal()
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
        after(delay) { server in
            server.isJournalScheduled = false
            server.process?.stepJournal { entries in
                for entry in entries { server.simulation.history.submitted(entry) }
            }
            server.simulation.trace.note(UInt64(server.disk.calls))
            if server.simulation.options.brokenPromise == .publishesBeforeDurable { server.syncLater() }
            server.lookAround()
        }
    }

    private func after(_ nanoseconds: UInt64, ofAnyLife: Bool = false, _ body: @escaping (SimulatedServer) -> Void) {
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

    /// A frame leaves a session. Answers to writes wait where the promise to be broken is that all waits for the disk.
    func leaving(_ frame: [UInt8], on connection: SimulatedConnection) {
        let isAnswer = frame[4] == FrameType.message.rawValue && frame[5] & FrameHeader.lastFlag != 0
        if simulation.options.brokenPromise == .publishesBeforeDurable, isAnswer {
            heldFrames.append((connection, frame))
            return syncLater()
        }
        connection.sendDown(frame)
    }

    // MARK: Promises broken on purpose

    private func syncLater() {
        after(UInt64.random(in: 500_000_000...4_000_000_000, using: &generator)) { server in
            server.disk.syncEverything()
            let frames = server.heldFrames
            server.heldFrames = []
            for (connection, frame) in frames { connection.sendDown(frame) }
        }
    }

    private func cutGoodTail() {
        guard let path = disk.paths.last(where: { $0.hasPrefix("journal/") && $0.hasSuffix(".journal") }),
            var bytes = disk.contents(of: path)
        else { return }
        let magic = Array("BTCH".utf8)
        var last: Int?
        for offset in stride(from: 64, to: max(64, bytes.count - 4), by: 8)
        where Array(bytes[offset..<offset + 4]) == magic {
            last = offset
        }
        guard let last else { return }
        for index in last..<bytes.count { bytes[index] = 0 }
        disk.replace(path, with: bytes)
    }
}
