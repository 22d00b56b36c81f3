internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// One run: accounts with devices, a server, a disk and a network, all under one seed and in virtual time. First
/// everything works and goes wrong at once; then nothing goes wrong any more, and all has to come to rest in one state.
///
/// Real are the engine, journal, snapshots, recovery, shards, sessions, pushes and wire of the server, and the
/// connection's, session's and notifications' machines of the SDK. Simulated are the disk, the network, time and
/// chance.
package final class Simulation {
    static let container = "iCloud.simulation"

    package let options: SimulationOptions
    package internal(set) var report: SimulationReport
    let scheduler = Scheduler()
    let history: CommitHistory
    var trace = SimulationTrace()
    private(set) var isQuiet = false
    private(set) var server: SimulatedServer!
    private(set) var devices: [SimulatedDevice] = []
    /// The accounts that the server's folder begins with.
    let accounts: [StoredAccount]
    private(set) var tokens: [String]
    /// By account: the number of its latest token, and of the first one that works.
    private(set) var tokenNumbers: [Int]
    private(set) var validTokenNumbers: [Int]
    /// Accounts whose devices need another token, and those that the server is to give one.
    private var revokedAccounts: Set<Int> = []
    private var accountsGettingTokens: Set<Int> = []
    private(set) var users: [String] = []
    /// URLs of shares that are passed on among the devices.
    var knownShares: [KnownShare] = []
    /// Acceptances that were answered.
    var acceptances: Set<Acceptance> = []
    /// What the last query of a private database found, if accounts are to be mixed up.
    var lastPage: (account: Int, page: QueryPage<Record>)?
    let enrolments = EnrolmentHistory()
    /// The accounts' identities, by the last statement of each.
    var identities: [[UInt8]: Identity] = [:]
    /// The secrets of links to rings, by the ids of their invitations.
    var linkSecrets: [[UInt8]: LinkSecret] = [:]
    /// The first statements that devices of each account made.
    var firstStatements: [Int: [SharedBytes]] = [:]
    /// Operation ids, by the bytes of their requests.
    var operationIDs: [[UInt8]: [UInt8]] = [:]
    private var connectionCount: UInt64 = 0
    private var number = 0
    /// Called with what happens, line by line, for people who look into a seed.
    private let narrate: ((String) -> Void)?

    package init(_ options: SimulationOptions, narrate: ((String) -> Void)? = nil) {
        self.options = options
        self.narrate = narrate
        report = SimulationReport(seed: options.seed)
        history = CommitHistory(limits: options.brokenPromise == .expiresGoodTokens ? .standard : options.history)
        history.takesRingsForEncrypting = options.brokenPromise == .takesPlainAssets
        let tokens = (0..<options.accounts).map { Self.token(0, ofAccount: $0) }
        self.tokens = tokens
        tokenNumbers = tokens.map { _ in 0 }
        validTokenNumbers = tokenNumbers
        accounts = tokens.enumerated().map { index, token in
            TestAccounts.account("account\(index)", number: index + 1, token: token)
        }
        users = accounts.map {
            StepwiseServer.userRecordName(
                accountID: $0.id, key: SimulatedServer.key, container: Self.container, environment: .development)
        }
    }

    /// Runs the simulation with a seed.
    package static func run(
        seed: UInt64, breaking promise: BrokenPromise? = nil, narrate: ((String) -> Void)? = nil
    ) -> SimulationReport {
        let simulation = Simulation(SimulationOptions(seed: seed, brokenPromise: promise), narrate: narrate)
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
        server.planFullDisk()
        server.planBackup()
        server.planRevocation()
        for device in devices {
            device.listen()
            device.work()
        }
        runActive()
        if goesOn { quiesce() }
        finish()
    }

    var goesOn: Bool { report.violation == nil && report.resourceFailure == nil }

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

    /// A time by which every run has ended, what follows its active part included. What passes time within a step keeps
    /// the run from looking at its own end.
    private var latestEndNanoseconds: UInt64 { (options.activeSeconds + 1_000) * 1_000_000_000 }

    /// Ends the faults. Then every call has to end, every device to reach the same state, and every push to reach its
    /// devices.
    private func quiesce() {
        isQuiet = true
        server.becomeQuiet()
        // A revocation that was asked for just now would revoke the next token as well.
        run(seconds: 1)
        for account in revokedAccounts.sorted() { issueToken(account) }
        run(seconds: 180) { [self] in devices.allSatisfy { $0.openCallCount == 0 } }
        guard goesOn else { return }
        if devices.contains(where: { $0.openCallCount > 0 }) { return violated("liveness: a call does not end") }
        // Streams that lost their connection come back, and pushes that were kept for them arrive.
        run(seconds: 120)
        for device in devices {
            if let problem = device.missedNewsOfShared { return violated(problem) }
        }
        var caughtUp = 0
        for device in devices { device.catchUp { device.catchUpShared(rounds: 4) { caughtUp += 1 } } }
        run(seconds: 120) { [self] in caughtUp == devices.count }
        // The journal ends short, and nothing is left over.
        var isWritten = false
        server.beginSnapshot { isWritten = $0 }
        run(seconds: 120) { isWritten }
        guard goesOn else { return }
        if !isWritten { return violated("liveness: no snapshots are written") }
        server.recount()
        server.checkRest()
        if caughtUp < devices.count { return violated("liveness: a device does not catch up") }
        for device in devices {
            if let problem = device.problemAtTheEnd() { return violated(problem) }
        }
        // What no record names goes, also where nobody uses the database.
        run(seconds: 180) { [self] in AssetChecks.strays(on: server.disk, history).isEmpty }
        guard goesOn else { return }
        if let stray = AssetChecks.strays(on: server.disk, history).first {
            return violated("A2: \(stray) is on the disk, and no record needs it")
        }
        // And all of it is still there after one more power cut.
        server.end(.nothing)
        run(seconds: 5)
    }

    private func finish() {
        report.trace = trace.hash
        report.commits = history.commitCount
        report.acknowledgedChecked = history.acknowledgedChecked
        report.encryptedChecked = history.encryptedChecked
        report.encryptedInTreesChecked = history.encryptedInTreesChecked
        report.ringEntriesOfOthers = history.ringFacts.ringCounts.entriesOfOthers
        report.ringGuestsTakenIn = history.ringFacts.ringCounts.guestsTakenIn
        report.ringSelections = history.ringFacts.ringCounts.selections
        report.ringEntriesThatDropped = history.ringFacts.ringCounts.entriesThatDropped
        report.encryptedAssetHolders = history.encryptedAssetHolders
        report.plainAssetsKept = history.plainAssetsKept
        report.pushesReceived = devices.reduce(0) { $0 + $1.pushes.eventCount }
        report.fetchHints = devices.reduce(0) { $0 + $1.pushes.hintCount }
        report.recordPushes = devices.reduce(0) { $0 + $1.pushes.recordCount }
        report.events = scheduler.eventCount
        // Events to come, and those who wait for them, refer to each other.
        scheduler.forgetAll()
        for device in devices { device.forgetCalls() }
        server.stopProcess()
        if let problem = server.endedLoops.problem { violated(problem) }
    }

    // MARK: For the parts

    /// Tells what happens, if anybody listens.
    func say(_ what: @autoclosure () -> String) {
        guard let narrate else { return }
        narrate("\(scheduler.nowNanoseconds / 1_000_000) ms: \(what())")
    }

    /// A promise was broken. The first one ends the run.
    func violated(_ text: String) {
        say("broken: \(text)")
        if report.violation == nil { report.violation = text }
    }

    /// The process that runs the simulation can't go on with it, which is no fault of the server's.
    func outOfResources(_ text: String) {
        if report.resourceFailure == nil { report.resourceFailure = text }
    }

    func newConnection(for client: any SimulatedConnection.Client, account: Int) -> SimulatedConnection {
        connectionCount += 1
        return SimulatedConnection(simulation: self, number: connectionCount, account: account, client: client)
    }

    /// Lets time pass for all others while something takes long.
    func pass(nanoseconds: UInt64) {
        if scheduler.nowNanoseconds > latestEndNanoseconds { return violated("liveness: the run does not end") }
        scheduler.run(until: scheduler.nowNanoseconds + nanoseconds) { [self] in goesOn }
    }

    /// Notes that the server showed something: a read's answer, or a push.
    func wasAnswered() {
        if server.isDiskFull { report.answeredWhileFull += 1 }
    }

    func nextNumber() -> Int {
        number += 1
        return number
    }

    var publicDatabase: DatabaseID {
        DatabaseID(container: Self.container, environment: .development, scope: .public, owner: "")
    }

    func privateDatabase(of user: String) -> DatabaseID {
        DatabaseID(container: Self.container, environment: .development, scope: .private, owner: user)
    }

    func database(of device: SimulatedDevice) -> DatabaseID { privateDatabase(of: users[device.account]) }

    /// The timeline of the database that the device has in a scope.
    func timeline(of device: SimulatedDevice, _ scope: DatabaseScope) -> CommitHistory.Timeline {
        history[scope == .public ? publicDatabase : database(of: device)]
    }

    /// The name that subscriptions in a database have for the device's user.
    func owner(of device: SimulatedDevice, _ scope: DatabaseScope) -> String {
        scope == .public ? users[device.account] : ""
    }

    /// Notes that the server's folder is a backup's: what came after it never happened.
    func restored(_ backup: [DatabaseID: CommitHistory.Timeline]) {
        history.restored(backup)
        acceptances = []
        for device in devices {
            device.pushes.restored()
            device.shared.restored()
        }
    }

    // MARK: Accounts

    private static func token(_ number: Int, ofAccount account: Int) -> String {
        TestAccounts.token(String(account) + "_" + String(number))
    }

    func isRevoked(_ account: Int) -> Bool { revokedAccounts.contains(account) }

    /// Notes that the operator asks for a revocation.
    func tokenIsRevoked(_ account: Int) {
        revokedAccounts.insert(account)
        enrolments.revocationAsked(of: account, at: scheduler.nowNanoseconds)
    }

    /// Notes that the server has done it.
    func revocationIsDone(_ account: Int) {
        validTokenNumbers[account] = tokenNumbers[account] + 1
        enrolments.revocationDone(of: account, at: scheduler.nowNanoseconds)
    }

    /// From here on no commit is made for the account, until it has another token.
    func silence(_ account: Int, inMemory: [DatabaseID: UInt64]) {
        guard isRevoked(account) else { return }
        for device in devices where device.account == account {
            history.silence(device.deviceID, inMemory: inMemory)
        }
    }

    /// Gives the account another token, which its devices use from now on.
    func issueToken(_ account: Int) {
        guard isRevoked(account), accountsGettingTokens.insert(account).inserted else { return }
        let number = tokenNumbers[account] + 1
        let token = Self.token(number, ofAccount: account)
        server.addToken(hash: SHA256.digest(Array(token.utf8)), toAccount: accounts[account].name) { [self] in
            accountsGettingTokens.remove(account)
            revokedAccounts.remove(account)
            for device in devices where device.account == account { history.allow(device.deviceID) }
            (tokenNumbers[account], tokens[account]) = (number, token)
            for device in devices where device.account == account { device.relaunch() }
        }
    }

    /// Notes that a push showed a commit.
    func sawPush(_ event: NotificationEvent, on device: SimulatedDevice) {
        guard let (scope, sequence) = PushLog.commit(of: event), scope != .shared else { return }
        history.saw(sequence, of: scope == .public ? publicDatabase : database(of: device))
    }
}
