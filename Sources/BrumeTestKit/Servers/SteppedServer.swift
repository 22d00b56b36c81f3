package import BrumeModel
package import BrumeProtocol
package import BrumeServer
internal import BrumeService
internal import BrumeStore
package import BrumeSystem

/// A server without threads and sockets, on a simulated disk: a test makes its turns one by one, and turns its clock.
///
/// It has the accounts a to f. `@unchecked Sendable`: a test has one thread.
package final class SteppedServer: @unchecked Sendable {
    package static let container = "iCloud.test"
    private static let key = [UInt8](repeating: 0x42, count: 32)
    private static let accounts = ["a", "b", "c", "d", "e", "f"]

    /// What it steps.
    package let stepwise: StepwiseServer
    /// The log, where it is not the journal. What is submitted becomes durable as soon as it settles, unless it is
    /// held.
    package let log: ScriptedCommitLogs?
    /// The scripted catalog; nil where the log is the journal.
    package let catalog: ScriptedCatalog?
    package var isDurabilityHeld = false
    package private(set) var nowNanoseconds: UInt64
    private let turnNanoseconds: UInt64
    /// Turns of the first loop.
    package private(set) var turns = 0
    /// Whether the loader stands still: what it is to load is waited for.
    package var isLoaderHeld = false
    /// Whether the threads stand still that wait for the disk of the assets.
    package var areBlobsHeld = false

    /// Starts on what the disk has.
    ///
    /// - Parameters:
    ///   - storage: What a scripted log holds; nil for the journal on the disk.
    ///   - run: Counts the starts on a disk that loses what was not synced, from 1.
    ///   - turnNanoseconds: How long each turn takes.
    package init(
        disk: SimulatedDisk = SimulatedDisk(), log storage: ScriptedLogStorage? = nil, run: UInt32 = 1,
        nowNanoseconds: UInt64 = 1_000_000_000,
        turnNanoseconds: UInt64 = 0, adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
        configuration.loopCount = 1
        configuration.log = .none
        adjust(&configuration)
        self.nowNanoseconds = nowNanoseconds
        self.turnNanoseconds = turnNanoseconds
        let accounts = Self.accounts.enumerated().map {
            TestAccounts.account($1, number: $0 + 1, token: TestAccounts.token($1))
        }
        let loops = try ServerLoops(shards: configuration.loopCount)
        log = storage.map { ScriptedCommitLogs(loops, storage: $0) }
        catalog = storage.map { _ in ScriptedCatalog(on: loops.admin, key: Self.key, accounts: accounts) }
        let wallClockMilliseconds = Self.wallClockMilliseconds(nowNanoseconds)
        if let log, let catalog {
            stepwise = try StepwiseServer(
                logs: log, catalog: catalog, configuration: configuration, loops: loops,
                nowNanoseconds: nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
            return
        }
        stepwise = try StepwiseServer(
            disk: disk, configuration: configuration, key: Self.key, accounts: accounts, salt: UInt64(run),
            newEpoch: run, loops: loops, nowNanoseconds: nowNanoseconds, wallClockMilliseconds: wallClockMilliseconds)
    }

    package var loops: [EventLoop] { stepwise.loops }

    private var runningLoops: ArraySlice<EventLoop> { isLoaderHeld ? loops.dropLast() : loops[...] }

    // MARK: Turns

    private static func wallClockMilliseconds(_ nowNanoseconds: UInt64) -> Int64 {
        1_700_000_000_000 + Int64(nowNanoseconds / 1_000_000)
    }

    /// One turn of each loop, and no sync.
    package func turn(after nanoseconds: UInt64 = 0) {
        nowNanoseconds += nanoseconds + turnNanoseconds
        turns += 1
        for loop in runningLoops { turn(of: loop) }
    }

    /// A turn of one loop alone: the others are late.
    package func turn(of loop: EventLoop) {
        loop.step(nowNanoseconds: nowNanoseconds, wallClockMilliseconds: Self.wallClockMilliseconds(nowNanoseconds))
    }

    /// Whether the next turn has something to do.
    package var hasTasks: Bool { loops.contains(where: \.hasTasks) }

    /// The journal's thread writes and syncs what it has.
    package func stepJournal() {
        if let log {
            if !isDurabilityHeld { log.makeDurable() }
        } else {
            stepwise.stepJournal { _ in }
        }
    }

    /// Turns and syncs until nothing is left to do.
    package func settle() {
        repeat {
            // What was appended goes to the journal when a turn ends.
            turn()
            while runningLoops.contains(where: \.hasTasks) { turn() }
            stepJournal()
            if !areBlobsHeld { while stepwise.stepBlobs() {} }
        } while stepwise.hasJournalWork || runningLoops.contains(where: \.hasTasks)
    }

    // MARK: What the operator does

    /// Writes snapshots of all that changed.
    package func snapshot() {
        stepwise.beginSnapshot()
        settle()
    }

    /// Begins to stop, as ``Server/drain()`` does.
    package func drain() { stepwise.drain() }

    /// Makes all tokens of an account invalid, and leaves its sessions, as if their loops had not come to them.
    package func revokeTokens(keepingSessionsOf name: String) {
        stepwise.revokeTokens(ofAccount: name, testOnly_keepsSessions: true) { _ in }
        settle()
    }

    /// Whether the operator's command has ended.
    package final class Command: @unchecked Sendable {
        package fileprivate(set) var isCalled = false
        package fileprivate(set) var error: ServiceError?
    }

    /// Begins to change the container's schemas, as the operator's commands do.
    package func beginChangingSchemas(
        _ change: @escaping @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void
    ) -> Command {
        let command = Command()
        stepwise.changeSchemas(of: Self.container, change) { error in
            (command.isCalled, command.error) = (true, error)
        }
        return command
    }

    package func changeSchemas(
        _ change: @escaping @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void
    ) throws {
        let command = beginChangingSchemas(change)
        settle()
        if !command.isCalled { throw TestFailure("the change of the schemas did not end") }
        if let error = command.error { throw error }
    }

    /// What the operator is told of an account's private databases.
    package func storedBytes(ofAccount name: String) -> Int {
        final class Answered: @unchecked Sendable {
            var bytes: Int?
        }
        let answer = Answered()
        stepwise.askQuota(ofAccount: name) { answer.bytes = $0.usedBytes }
        settle()
        return answer.bytes ?? -1
    }

    // MARK: What is in memory

    /// The user of the first account (1) or the second.
    package func userRecordName(ofAccount number: Int, container: String = SteppedServer.container) -> String {
        StepwiseServer.userRecordName(
            accountID: TestAccounts.id(number), key: Self.key, container: container, environment: .development)
    }

    /// The databases in memory.
    package var loadedIDs: [DatabaseID] { stepwise.loaded.map(\.database.id) }

    /// The records of a private database in memory, without the user's own, by the number of its account.
    package func recordCount(ofAccount number: Int, container: String = SteppedServer.container) -> Int? {
        let id = DatabaseID(
            container: container, environment: .development, scope: .private,
            owner: userRecordName(ofAccount: number, container: container))
        return stepwise.loaded.first { $0.database.id == id }?.database.recordCount
    }

    // MARK: Connections

    /// A connection that has said hello and was welcomed.
    package func connect(
        account: String?, device: UInt8 = 9, container: String = SteppedServer.container,
        environment: Environment = .development
    ) throws -> FramePeer {
        try welcomed(greet(account: account, device: device, container: container, environment: environment))
    }

    /// The same with a token that the server has made.
    package func connect(token: String, device: UInt8 = 9) throws -> FramePeer {
        try welcomed(greet(.account(token), device: device, container: Self.container, environment: .development))
    }

    private func welcomed(_ peer: FramePeer) throws -> FramePeer {
        settle()
        guard let frame = peer.frames.first, frame.type == .welcome else {
            throw TestFailure("the server does not welcome a peer")
        }
        peer.welcome = try frame.payload.decoded(MessageCoder().decodeWelcome)
        return peer
    }

    /// A connection whose hello has arrived and was not answered yet.
    package func greet(
        account: String?, device: UInt8 = 9, container: String = SteppedServer.container,
        environment: Environment = .development
    ) -> FramePeer {
        greet(
            account.map { .account(TestAccounts.token($0)) } ?? .none, device: device, container: container,
            environment: environment)
    }

    private func greet(
        _ credentials: Hello.Credentials, device: UInt8, container: String, environment: Environment
    ) -> FramePeer {
        FramePeer(
            self,
            hello: Hello(
                clientVersion: "test", deviceID: [UInt8](repeating: device, count: 16), container: container,
                environment: environment, credentials: credentials))
    }

    /// Why a connection is refused.
    package func refusal(
        account: String?, container: String = SteppedServer.container, environment: Environment = .development
    ) throws -> CallStatus {
        let peer = greet(account: account, container: container, environment: environment)
        settle()
        guard let frame = peer.frames.first, frame.type == .status else {
            throw TestFailure("the server does not refuse a peer")
        }
        return try frame.payload.decoded(MessageCoder().decodeStatus)
    }
}
