internal import BrumeModel
internal import BrumeServer
internal import BrumeSystem
internal import BrumeWire

/// One run: accounts with devices, a server, a disk and a network, all under one seed and in virtual time. First everything works
/// and goes wrong at once; then nothing goes wrong any more, and all has to come to rest in one state.
///
/// Real are the engine, journal, snapshots, recovery, shards, sessions, pushes and wire of the server, and the connection's,
/// session's and notifications' machines of the SDK. Simulated are the disk, the network, time and chance.
package final class Simulation {
    static let container = "iCloud.simulation"

    package let options: SimulationOptions
    package internal(set) var report: SimulationReport
    let scheduler = Scheduler()
    let history = CommitHistory()
    var trace = SimulationTrace()
    private(set) var isQuiet = false
    private(set) var server: SimulatedServer!
    private(set) var devices: [SimulatedDevice] = []
    let accounts: [StoredAccount]
    let tokens: [String]
    private(set) var users: [String] = []
    /// By a request's bytes.
    var operationIDs: [[UInt8]: [UInt8]] = [:]
    private var connectionCount: UInt64 = 0
    private var number = 0

    package init(_ options: SimulationOptions) {
        self.options = options
        report = SimulationReport(seed: options.seed)
        tokens = (0..<options.accounts).map { "brume_" + String(repeating: String($0), count: 43) }
        accounts = tokens.enumerated().map { index, token in
            StoredAccount(
                name: "account\(index)", email: "", createdMilliseconds: 0,
                id: [UInt8](repeating: UInt8(index + 1), count: 16), tokenHashes: [SHA256.digest(Array(token.utf8))])
        }
        users = accounts.map {
            StepwiseServer.userRecordName(
                accountID: $0.id, key: SimulatedServer.key, container: Self.container, environment: .development)
        }
    }

    /// Runs the simulation with a seed.
    package static func run(seed: UInt64, breaking promise: BrokenPromise? = nil) -> SimulationReport {
        let simulation = Simulation(SimulationOptions(seed: seed, brokenPromise: promise))
        simulation.run()
        return simulation.report
    }

    // MARK: The run

    package func run() {
        server = SimulatedServer(simulation: self)
        history.add(publicDatabase)
        for user in users { history.add(privateDatabase(of: user)) }
        for account in 0..<options.accounts {
            for _ in 0..<options.devicesPerAccount {
                devices.append(SimulatedDevice(simulation: self, number: devices.count, account: account))
            }
        }
        server.start()
        for device in devices {
            device.listen()
            device.work()
        }
        runActive()
        if goesOn { quiesce() }
        finish()
    }

    private var goesOn: Bool { report.violation == nil }

    private func run(seconds: UInt64, until isDone: () -> Bool = { false }) {
        let end = scheduler.nowNanoseconds + seconds * 1_000_000_000
        while scheduler.nowNanoseconds < end, goesOn, !isDone() {
            scheduler.run(until: min(end, scheduler.nowNanoseconds + 250_000_000)) { [self] in
                if let violation = history.violation { violated(violation) }
                return goesOn
            }
        }
    }

    private func runActive() {
        run(seconds: options.activeSeconds)
    }

    /// Faults end. Every call comes to its end, every device to the same state, every push to its devices.
    private func quiesce() {
        isQuiet = true
        server.becomeQuiet()
        run(seconds: 180) { [self] in devices.allSatisfy { $0.openCallCount == 0 } }
        guard goesOn else { return }
        if devices.contains(where: { $0.openCallCount > 0 }) { return violated("liveness: a call does not end") }
        // Streams that lost their connection come back, and pushes that were kept for them arrive.
        run(seconds: 120)
        var caughtUp = 0
        for device in devices { device.catchUp { caughtUp += 1 } }
        run(seconds: 120) { [self] in caughtUp == devices.count }
        guard goesOn else { return }
        if caughtUp < devices.count { return violated("liveness: a device does not catch up") }
        for device in devices {
            if let problem = device.problemAtTheEnd() { return violated(problem) }
        }
        // And all of it is still there after one more power cut.
        server.end(.nothing)
        run(seconds: 5)
    }

    private func finish() {
        report.trace = trace.hash
        report.commits = history.commitCount
        report.acknowledgedChecked = history.acknowledgedChecked
        report.pushesReceived = devices.reduce(0) { $0 + $1.pushes.eventCount }
        report.fetchHints = devices.reduce(0) { $0 + $1.pushes.hintCount }
        report.events = scheduler.eventCount
    }

    // MARK: For the parts

    /// A promise was broken. The first one ends the run.
    func violated(_ text: String) {
        if report.violation == nil { report.violation = text }
    }

    func newConnection(for client: any SimulatedConnection.Client) -> SimulatedConnection {
        connectionCount += 1
        return SimulatedConnection(simulation: self, number: connectionCount, client: client)
    }

    func nextNumber() -> Int {
        number += 1
        return number
    }

    var publicDatabase: DatabaseID {
        DatabaseID(container: Self.container, environment: .development, scope: .public, owner: "")
    }

    private func privateDatabase(of user: String) -> DatabaseID {
        DatabaseID(container: Self.container, environment: .development, scope: .private, owner: user)
    }

    func database(of device: SimulatedDevice) -> DatabaseID { privateDatabase(of: users[device.account]) }

    func timeline(of device: SimulatedDevice) -> CommitHistory.Timeline { history[database(of: device)] }

    /// A push shows a commit.
    func sawPush(_ event: NotificationEvent, on device: SimulatedDevice) {
        switch event.kind {
        case .zoneChanged, .databaseChanged:
            if let place = PeekedToken(event.position) { history.saw(place.sequence, of: database(of: device)) }
        case .ready, .fetchFromToken: break
        }
    }
}
