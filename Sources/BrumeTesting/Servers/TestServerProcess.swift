internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation
public import FoundationEssentials

/// A Brume server beside the test, as a process of its own: for tests that kill it. It has what ``TestServer`` has but
/// a script, and takes a moment longer to start.
///
/// It needs the executable `brume` (`swift build --product brume`), and never outlives the test's process.
public final class TestServerProcess: Sendable {
    /// What the server was set up with.
    public let options: TestServer.Options
    /// `127.0.0.1:port`.
    public let address: String
    /// PEM file with the certificate that the server's is verified with.
    public let caPath: String
    /// The accounts that it was started with, by name.
    public let accounts: [String: TestAccount]

    private struct State: Sendable {
        /// Nil while it is killed.
        var process: SpawnedServer?
        var isStopped = false
    }

    private let executable: URL
    private let folder: TestFolder
    private let state: Lock<State>
    private let devices = DeviceList()

    /// On a thread that may wait.
    private init(accounts names: [String], options: TestServer.Options, executable: URL?) throws {
        self.options = options
        self.executable = try executable ?? Self.findExecutable()
        folder = try TestFolder()
        caPath = RunningServer.caPath(folder)
        do {
            try RunningServer.prepare(folder, options)
            accounts = try Self.makeAccounts(names, options, RunningServer.dataFolder(folder))
            let process = try Self.spawn(self.executable, folder, options, listen: "127.0.0.1:0")
            state = Lock(State(process: process))
            address = try Self.readAddress(RunningServer.dataFolder(folder))
        } catch {
            folder.remove()
            throw error
        }
    }

    deinit {
        let process = state.withLock { $0.process.take() }
        let folder = folder
        Thread.detachNewThread {
            process?.kill()
            folder.remove()
        }
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - accounts: Names of accounts to make.
    ///   - executable: The executable `brume`; nil: what the variable `BRUME_EXECUTABLE` names, else the one beside the
    ///     test's own, else the one in `PATH`.
    /// - Throws: ``TestServerError``.
    public static func start(
        accounts: [String] = [], options: TestServer.Options = TestServer.Options(), executable: URL? = nil
    ) async throws -> TestServerProcess {
        try await BlockingWork.run {
            try TestServerProcess(accounts: accounts, options: options, executable: executable)
        }
    }

    /// Stops the server in order and removes its folder. Calls of its devices fail at once from then on. A second stop
    /// does nothing.
    public func stop() async {
        await BlockingWork.run { [self] in
            devices.end("the test server of this device was stopped: use its devices before")
            state.withLock { state in
                state.process?.stop()
                state = State(process: nil, isStopped: true)
            }
            folder.remove()
        }
    }

    /// Ends the server at once, as a crash would; its data stays. Devices wait for it to come back.
    public func kill() async {
        await BlockingWork.run { [self] in
            state.withLock { state in
                state.process?.kill()
                state.process = nil
            }
        }
    }

    /// Starts the server again on its data and its port, after ``kill()`` or after a stop in order that it does itself.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped for good, or does not start.
    public func restart() async throws {
        try await BlockingWork.run { [self] in
            try state.withLock { state in
                guard !state.isStopped else { throw Self.stopped }
                state.process?.stop()
                state.process = nil
                state.process = try Self.spawn(executable, folder, options, listen: address)
            }
        }
        devices.circumstancesChanged()
    }

    private static let stopped = TestServerError(
        "the test server was stopped: ask it for devices before that, or start another one")

    /// A new device of one of the accounts that the server was started with.
    ///
    /// - Parameter clock: What the schedules of a `CKSyncEngine` on the device go by; nil: the machine's clock.
    /// - Throws: ``TestServerError`` for an account that is not there, and when the server was stopped.
    public func device(of name: String, clock: TestClock? = nil) throws -> TestDevice {
        guard let account = accounts[name] else {
            throw TestServerError(
                "there is no account \"\(name)\": a server in a process of its own has those that start(accounts:) named"
            )
        }
        guard !state.withLock({ $0.isStopped }) else { throw Self.stopped }
        return try devices.add(to: self, account: account, folder: folder) { stateFolder in
            var configuration = BrumeConfiguration(
                server: address, caPath: caPath, token: account.token, container: options.containerIdentifier,
                environment: options.environment, stateFolder: stateFolder)
            configuration.automaticSendDelay = options.automaticSendDelay
            configuration.encryptsAssets = options.encryptsAssets
            if let clock { configuration.clock = clock.clock }
            return configuration
        }
    }

    // MARK: Inside

    private static func makeAccounts(
        _ names: [String], _ options: TestServer.Options, _ dataFolder: String
    ) throws(TestServerError) -> [String: TestAccount] {
        var made: [String: TestAccount] = [:]
        do {
            let accounts = try FolderAccounts(
                dataFolder: dataFolder, container: options.containerIdentifier, environment: options.modelEnvironment)
            defer { accounts.release() }
            for name in names where made[name] == nil {
                let (account, token) = try accounts.add(name: name, email: "\(name)@example.com")
                made[name] = TestAccount(
                    name: name, email: account.email, token: token, userRecordName: account.userRecordName)
            }
        } catch {
            throw TestServerError("the test server's accounts can't be made: \(error)")
        }
        return made
    }

    private static func spawn(
        _ executable: URL, _ folder: TestFolder, _ options: TestServer.Options, listen: String
    ) throws(TestServerError) -> SpawnedServer {
        var arguments = [
            "serve", "--data", RunningServer.dataFolder(folder), "--listen", listen, "--certificate",
            folder.path + "/server.pem", "--key", folder.path + "/server.key", "--loops",
            String(min(max(1, options.loopCount), 64)), "--journal-segment-bytes",
            String(TestLimits.journalSegmentBytes), "--log-level", options.log == .debug ? "debug" : "info",
            "--with-parent",
        ]
        arguments += ["--asset-limit", String(options.checkedAssetLimit)]
        if options.publicQuotaBytes != nil { arguments += ["--public-quota", String(options.checkedPublicQuota)] }
        if options.followsCloudKitQueryRules { arguments.append("--strict") }
        return try SpawnedServer(executable: executable, arguments: arguments, forwardsLog: options.log != .none)
    }

    /// Where it listens, as it wrote it for the commands on its machine.
    private static func readAddress(_ dataFolder: String) throws -> String {
        struct File: Decodable {
            let server: String
        }
        let data = try Data(contentsOf: URL(fileURLWithPath: dataFolder + "/server.json"))
        return try JSONDecoder().decode(File.self, from: data).server
    }

    private static func findExecutable() throws(TestServerError) -> URL {
        if let named = ProcessInfo.processInfo.environment["BRUME_EXECUTABLE"], !named.isEmpty {
            return URL(fileURLWithPath: named)
        }
        var folders = [(ChildProcess.ownExecutable as NSString).deletingLastPathComponent]
        folders += (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in folders where FileManager.default.isExecutableFile(atPath: folder + "/brume") {
            return URL(fileURLWithPath: folder + "/brume")
        }
        throw TestServerError(
            "there is no executable brume beside the tests or in PATH: build it (swift build --product brume) and name it in "
                + "BRUME_EXECUTABLE, or give it to start")
    }
}
