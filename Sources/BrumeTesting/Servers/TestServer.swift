internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation

/// A Brume server in the test's process: ready in milliseconds, with a temporary folder, a certificate made on the spot
/// and a port of its own. It gives accounts and devices, and its behaviour can be scripted. Many run in parallel.
///
/// ```swift
/// try await TestServer.run { server in
///     let phone = try server.device(of: "ada")
///     let laptop = try server.device(of: "ada")
///     try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
///     …
/// }
/// ```
///
/// It is a whole server: TLS, journal, change tokens, conflicts, pushes and limits are those of `brume serve`. Use
/// ``run(accounts:options:isolation:_:)`` or call ``stop()`` when the test is over; a server that was forgotten stops
/// when nothing refers to it or its devices any more, and its folder goes at the end of the process at the latest.
public final class TestServer: Sendable {
    /// What the server was set up with.
    public let options: Options
    /// `127.0.0.1:port`.
    public let address: String
    /// PEM file with the certificate that the server's is verified with.
    public let caPath: String
    /// What the server does otherwise than a healthy one.
    public let script: ServerScript

    /// The server's clock, which the test turns. Delays of the script wait for it, and records are dated by it if
    /// ``Options/clock`` was set.
    public var clock: TestClock { script.clock }

    private let running: Lock<RunningServer?>
    private let accounts = Lock<[String: TestAccount]>([:])
    let devices: DeviceList
    private let seedingDevices = Lock<[String: TestDevice]>([:])
    private let folder: TestFolder

    private init(_ server: RunningServer, options: Options, script: ServerScript) {
        self.options = options
        self.script = script
        address = "127.0.0.1:\(server.port)"
        caPath = server.caPath
        folder = server.folder
        devices = script.devices
        running = Lock(server)
    }

    deinit {
        // Whoever let go of it last may be a thread that must not wait, or one that the server needs for its end.
        guard let server = running.withLock({ $0.take() }) else { return }
        script.end()
        Thread.detachNewThread {
            server.stop()
            server.folder.remove()
            ServerSlots.leave()
        }
    }

    // MARK: Start and stop

    /// Starts a server.
    ///
    /// Where ``run(accounts:options:isolation:_:)`` does not suit, such as in `setUp` of XCTest. While 128 servers run
    /// in the process, it waits for one of them to stop.
    ///
    /// - Parameter accounts: Names of accounts to make; ``account(_:)`` and ``device(of:clock:)`` make further ones.
    /// - Throws: ``TestServerError``.
    public static func start(
        accounts: [String] = [], options: Options = Options()
    ) async throws -> TestServer {
        try await ServerSlots.enter()
        return try await BlockingWork.run {
            let script = ServerScript(
                clock: options.clock ?? TestClock(), datesRecords: options.clock != nil, devices: DeviceList())
            let running: RunningServer
            do {
                running = try RunningServer(options, script: script)
            } catch {
                ServerSlots.leave()
                throw error
            }
            let server = TestServer(running, options: options, script: script)
            for name in accounts { try server.account(name) }
            return server
        }
    }

    /// Starts a server, runs the test's body with it, and stops it, whatever happens in the body.
    ///
    /// - Parameter accounts: Names of accounts to make.
    /// - Throws: ``TestServerError``, also for rules of ``script`` that have not fired; or what the body throws.
    public static func run<Result>(
        accounts: [String] = [], options: Options = Options(),
        isolation: isolated (any Actor)? = #isolation, _ body: (TestServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start(accounts: accounts, options: options)
        do {
            let result =
                options.isPredictable
                ? try await withPredictableNames { try await body(server) } : try await body(server)
            let unfired = server.script.unfired
            if !unfired.isEmpty {
                throw TestServerError(
                    "the test's script has rules that never fired: " + unfired.joined(separator: "; "))
            }
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    /// Stops the server and removes its folder. Calls of its devices fail at once from then on, with a sentence that
    /// says why.
    ///
    /// A second stop does nothing, and a stopped server does not come back: see ``restart()``.
    public func stop() async {
        await BlockingWork.run { [self] in
            devices.end(Self.stoppedSentence)
            script.end()
            running.withLock { server in
                guard let stopping = server else { return }
                stopping.stop()
                server = nil
                ServerSlots.leave()
            }
            folder.remove()
        }
    }

    /// Stops the server and starts it again with its data, on its port, as an update or a reboot of the machine would.
    /// Devices reconnect by themselves; calls in flight end first, those that a script holds with `serviceUnavailable`.
    /// Enrolments under way are forgotten.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func restart() async throws {
        try await restart { _ in }
    }

    /// - Parameter body: Does something with the server's folder while nobody uses it. Where it fails the server is
    ///   there as it was.
    func restart<Value: Sendable>(_ body: @escaping @Sendable (RunningServer) throws -> Value) async throws -> Value {
        let result = try await BlockingWork.run { [self] in
            try running.withLock { server in
                guard let former = server else { throw Self.stopped }
                script.end()
                former.stop()
                server = nil
                do {
                    let result = Result { try body(former) }
                    server = try RunningServer(options, script: script, after: former)
                    return result
                } catch {
                    ServerSlots.leave()
                    throw error
                }
            }
        }
        devices.circumstancesChanged()
        return try result.get()
    }

    /// Does something with the server.
    ///
    /// - Throws: ``TestServerError`` when it was stopped, and what the body throws.
    func withServer<Value>(_ body: (Server) throws -> Value) throws -> Value {
        try running.withLock { running in
            guard let server = running?.server else { throw Self.stopped }
            return try body(server)
        }
    }

    /// Whether the server has not been stopped.
    public var isRunning: Bool { running.withLock { $0 != nil } }

    private static let stoppedSentence =
        "the test server of this device was stopped: use its devices before, or TestServer.restart() instead of stop()"

    static let stopped = TestServerError(
        "the test server was stopped: ask it for accounts and devices before that, or start another one")

    // MARK: Accounts and devices

    /// The account of that name, made when there is none.
    ///
    /// - Throws: ``TestServerError`` for a name that no account can have, and when the server was stopped.
    @discardableResult
    public func account(_ name: String) throws -> TestAccount {
        try running.withLock { running in
            guard let server = running?.server else { throw Self.stopped }
            return try accounts.withLock { accounts in
                if let account = accounts[name] { return account }
                do throws(AccountError) {
                    let (_, token) = try server.addAccount(
                        name: name, email: "\(name)@example.com",
                        id: options.isPredictable ? Array(SHA256.digest(Array(name.utf8)).prefix(16)) : nil)
                    let made = server.account(
                        named: name, container: options.containerIdentifier, environment: options.modelEnvironment)!
                    let account = TestAccount(
                        name: name, email: made.email, token: token, userRecordName: made.userRecordName)
                    accounts[name] = account
                    return account
                } catch {
                    throw TestServerError("no account \"\(name)\" can be made: \(error)")
                }
            }
        }
    }

    /// A new device of an account, which is made when there is none of that name. Each has a `CKContainer` and a state
    /// folder of its own: two devices of one account see each other's changes as two phones do.
    ///
    /// - Parameter clock: What the device's SDK goes by: schedules of a `CKSyncEngine`, and how long it believes what
    ///   it knows of encryption keys (ten seconds; of the account's devices ten minutes). Nil: the machine's clock.
    /// - Throws: ``TestServerError`` as ``account(_:)`` does.
    public func device(of name: String, clock: TestClock? = nil) throws -> TestDevice {
        try device(account: try account(name), clock: clock)
    }

    /// A new device without an account, which can read the public database.
    ///
    /// - Throws: ``TestServerError`` when the server was stopped.
    public func deviceWithoutAccount() throws -> TestDevice {
        try device(account: nil, clock: nil)
    }

    private func device(account: TestAccount?, clock: TestClock?) throws -> TestDevice {
        try device(account: account, clock: clock, host: self, isKits: false)
    }

    /// The kit's own device of an account, for what a test asks of the server: scripts and the list of calls pass it
    /// over.
    func seedingDevice(of name: String) throws -> TestDevice {
        let account = try account(name)
        return try seedingDevices.withLock { devices in
            if let device = devices[account.name] { return device }
            // It does not keep the server running.
            let device = try device(account: account, clock: nil, host: folder, isKits: true)
            devices[account.name] = device
            return device
        }
    }

    /// The accounts that the server has, by their names; others are made anew when they are asked for.
    var knownAccounts: [String: TestAccount] {
        get { accounts.withLock { $0 } }
        set {
            accounts.withLock { $0 = newValue }
            seedingDevices.withLock { $0 = $0.filter { newValue[$0.key] == $0.value.account } }
        }
    }

    /// The names of accounts by their users' record names.
    var accountNamesByUser: [String: String] {
        accounts.withLock { accounts in
            Dictionary(uniqueKeysWithValues: accounts.values.map { ($0.userRecordID.recordName, $0.name) })
        }
    }

    private func device(
        account: TestAccount?, clock: TestClock?, host: any Sendable, isKits: Bool
    ) throws -> TestDevice {
        guard isRunning else { throw Self.stopped }
        return try devices.add(to: host, account: account, folder: folder, isKits: isKits) { stateFolder in
            var configuration = BrumeConfiguration(
                server: address, caPath: caPath, token: account?.token, container: options.containerIdentifier,
                environment: options.environment, stateFolder: stateFolder)
            configuration.automaticSendDelay = options.automaticSendDelay
            configuration.encryptsAssets = options.encryptsAssets
            if let clock { configuration.clock = clock.clock }
            return configuration
        }
    }
}
