internal import Foundation

/// Where a container's server is and who uses it: Brume's addition to CloudKit, whose containers know Apple's servers.
///
/// By default a container reads it from the environment; see ``init(environmentVariables:)``. Programs that know better
/// give it to ``CKContainer/init(identifier:configuration:)`` or, for all their containers,
/// ``CKContainer/configureDefault(_:)``. What is missing or wrong shows as a `CKError` of the first call that needs it.
public struct BrumeConfiguration: Hashable, Sendable {
    /// Which of a container's two worlds.
    public enum Environment: String, Hashable, Sendable {
        /// For tests and development.
        case development
        /// For the app's users.
        case production
    }

    /// `host:port` of the server; an IPv6 address stands in brackets.
    public var server: String?
    /// Path of a PEM file with the CA certificate that the server's certificate is verified against; nil: the system's
    /// CAs.
    public var caPath: String?
    /// The account's token; nil: no account, which can read public databases.
    public var token: String?
    /// The container of ``CKContainer/default()``.
    public var container: String?
    /// The environment of the container.
    public var environment: Environment
    /// The folder for the device's id, its encryption keys and what it caches, made when it is missing; nil:
    /// `~/.local/state/brume`.
    ///
    /// One process at a time: a folder is a device, and a device has one stream of notifications. Of two processes that
    /// listen with one folder each takes the stream from the other every 30 seconds and misses what comes meanwhile;
    /// the one that it was taken from says so on the standard error output. Calls are not affected. Give each process a
    /// folder of its own.
    public var stateFolder: String?

    /// How the account's other devices show this one among those that have its encryption keys; nil: the machine's host
    /// name. It is encrypted for these devices, and cut after 200 bytes of UTF-8.
    public var deviceName: String?

    /// Whether the files of the private database's records are encrypted on the device, as `encryptedValues` are, in
    /// zones whose encryption keys are made from now on; false by default. What a zone's keys were made with holds for
    /// it on all devices, and never changes: give all devices of an app the same value before they save anything
    /// encrypted.
    ///
    /// A device without the account's keys can't save records with files then (`accountTemporarilyUnavailable`).
    /// Web clients can neither read nor save any, nor can participants of a share who don't have its keys. An app that
    /// had files before reads <doc:EncryptedValues> first: they are hidden until they were saved anew. A zone can say
    /// otherwise: ``CKRecordZone/encryptsAssets``.
    public var encryptsAssets = false

    /// Whether files that nobody encrypted are handed out in zones whose files are encrypted; false by default, since
    /// the server could have put them there.
    ///
    /// For an app that had files before it turned ``encryptsAssets`` on: records whose files it sets again
    /// (`record["photo"] = record["photo"]`) are saved with encrypted ones. Turn it off once all are.
    public var acceptsPlainAssets = false

    /// How long after the last change that an app adds a `CKSyncEngine` sends by itself; after five times as long,
    /// changes that are added without a pause don't put it off. A second by default.
    ///
    /// An app that adds changes within a transaction of its database is asked for their records when this time has
    /// passed, and has to have committed it by then. Tests of apps that add changes behind their commits may wait less.
    public var automaticSendDelay: Duration = .seconds(1)

    /// Whether records are handed out with the files of their assets; otherwise these have none, and nothing is
    /// downloaded: for commands that show records.
    package var downloadsAssets = true

    /// What was wrong with the environment's variables.
    var problem: String?

    /// The time that schedules go by: the machine's, but for tests that turn their own clock.
    package var clock: any ClientClock {
        get { clockReference.clock }
        set { clockReference = ClockReference(clock: newValue) }
    }

    /// The delay in milliseconds, an hour at most: no schedule overflows.
    var automaticSendDelayMilliseconds: UInt64 {
        let delay = min(max(automaticSendDelay, .zero), .seconds(3_600))
        return UInt64(delay / .milliseconds(1))
    }

    private var clockReference = ClockReference(clock: SystemClientClock.shared)

    /// Equal for one and the same clock.
    private struct ClockReference: Hashable, Sendable {
        let clock: any ClientClock

        static func == (left: ClockReference, right: ClockReference) -> Bool { left.clock === right.clock }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(clock)) }
    }

    /// A configuration in code.
    public init(
        server: String? = nil, caPath: String? = nil, token: String? = nil, container: String? = nil,
        environment: Environment = .development, stateFolder: String? = nil
    ) {
        self.server = server
        self.caPath = caPath
        self.token = token
        self.container = container
        self.environment = environment
        self.stateFolder = stateFolder
    }

    /// The configuration in environment variables: `BRUME_SERVER` (`host:port`), `BRUME_CA`, `BRUME_TOKEN`,
    /// `BRUME_CONTAINER`, `BRUME_ENVIRONMENT` (`development`, which is the default, or `production`) and `BRUME_STATE`.
    /// An empty variable counts as absent.
    public init(environmentVariables variables: [String: String]) {
        func value(_ name: String) -> String? {
            guard let value = variables[name], !value.isEmpty else { return nil }
            return value
        }
        self.init(
            server: value("BRUME_SERVER"), caPath: value("BRUME_CA"), token: value("BRUME_TOKEN"),
            container: value("BRUME_CONTAINER"), stateFolder: value("BRUME_STATE"))
        if let name = value("BRUME_ENVIRONMENT") {
            if let environment = Environment(rawValue: name) {
                self.environment = environment
            } else {
                problem = "BRUME_ENVIRONMENT is \"\(name)\"; set it to development or production"
            }
        }
    }
}

extension BrumeConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Everything but the token, which is a secret.
    public var description: String {
        "BrumeConfiguration(server: \(server ?? "none"), caPath: \(caPath ?? "the system's"), "
            + "token: \(token == nil ? "none" : "set"), container: \(container ?? "none"), "
            + "environment: \(environment.rawValue), stateFolder: \(stateFolder ?? "default"))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Without the token, for `dump`.
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}

extension BrumeConfiguration {
    /// What a session needs of it, or what is wrong: a sentence that names the variable to set.
    func sessionKey() throws(ConfigurationProblem) -> ClientSession.Key {
        if let problem { throw ConfigurationProblem(problem) }
        guard let container else {
            throw ConfigurationProblem(
                "the default container has no name; set BRUME_CONTAINER, or use CKContainer(identifier:)")
        }
        let endpoint = try endpoint()
        let folder = try resolvedStateFolder()
        return ClientSession.Key(
            endpoint: endpoint, accountToken: token, container: container,
            environment: environment == .development ? 1 : 2,
            deviceID: try DeviceIdentity.load(folder: folder, token: token))
    }

    /// Whether the app itself has ever listened for notifications on this device, `now` included.
    func appListens(now: Bool) -> Bool {
        // The folder of a session that is open can be resolved.
        guard let folder = try? resolvedStateFolder() else { return true }
        return DeviceIdentity.appListens(folder: folder, now: now)
    }

    /// The device's id for the configuration's account, made when there is none.
    package func deviceID() throws(CKError) -> [UInt8] {
        do throws(ConfigurationProblem) {
            return try sessionKey().deviceID
        } catch {
            throw CKError(.internalError, message: error.message)
        }
    }

    func endpoint() throws(ConfigurationProblem) -> ServerEndpoint {
        guard let server else {
            throw ConfigurationProblem(
                "no server is named; set BRUME_SERVER to host:port, as `brume dev` prints it, or give the container a "
                    + "BrumeConfiguration")
        }
        if server.contains("://") {
            throw ConfigurationProblem(
                "the server is \"\(server)\"; name it as host:port, as in localhost:4433, without a scheme")
        }
        guard let colon = server.lastIndex(of: ":"), let port = UInt16(server[server.index(after: colon)...]), port > 0
        else {
            throw ConfigurationProblem(
                "the server is \"\(server)\", which has no port from 1 to 65535; name it as host:port (BRUME_SERVER, or "
                    + "BrumeConfiguration.server)")
        }
        var host = String(server[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            throw ConfigurationProblem(
                "the server is \"\(server)\"; put an IPv6 address in brackets, as in [::1]:4433")
        }
        guard !host.isEmpty else {
            throw ConfigurationProblem("the server is \"\(server)\", which has no host; name it as host:port")
        }
        return ServerEndpoint(host: host, port: port, caPath: caPath)
    }

    /// The folder for what this device keeps.
    func resolvedStateFolder() throws(ConfigurationProblem) -> String {
        if let stateFolder { stateFolder } else { try Self.defaultStateFolder() }
    }

    /// `HOME`, as the shell and what it starts understand it, and otherwise what the system has for the user:
    /// Foundation knows the latter alone.
    package static var homeFolder: String {
        if let home = ProcessInfo.processInfo.environment["HOME"], home.hasPrefix("/") { return home }
        return NSHomeDirectory()
    }

    private static func defaultStateFolder() throws(ConfigurationProblem) -> String {
        let home = homeFolder
        guard !home.isEmpty, home != "/" else {
            throw ConfigurationProblem(
                "there is no home folder to keep the device's id in; set BRUME_STATE to a folder")
        }
        return home + "/.local/state/brume"
    }
}
