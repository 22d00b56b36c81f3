package import BrumeModel

/// What a load does.
package enum LoadScenario: String, CaseIterable, Sendable {
    /// Saves, fetches and fetches of changes, in the proportions of the mix.
    case mixed
    /// Saves alone.
    case save
    /// Devices that have been away fetch what changed meanwhile, page by page.
    case catchUp = "catch-up"
    /// A publisher saves records that subscribed devices are told of.
    case fanOut = "fan-out"
    /// Subscribed connections that do nothing.
    case idle
    /// Connections that are opened, welcomed and closed.
    case connect
    /// All connections are lost at once, and reconnect at once.
    case reconnect
}

/// What a load is made of.
package struct LoadConfiguration: Sendable {
    package struct Server: Sendable {
        package var host: String
        package var port: UInt16
        /// The CA certificate to trust; nil trusts what the system trusts.
        package var caPath: String?
        package var container: String
        package var environment: Environment

        package init(host: String, port: UInt16, caPath: String?, container: String, environment: Environment) {
            self.host = host
            self.port = port
            self.caPath = caPath
            self.container = container
            self.environment = environment
        }
    }

    package var server: Server
    /// The accounts' tokens; the connections are distributed over them.
    package var tokens: [String]
    package var scenario: LoadScenario
    package var mix: LoadMix
    package var connections = 8
    package var seconds = 10.0
    /// The time before anything counts.
    package var warmUpSeconds = 0.0
    /// Operations a second, however long the server takes for them. When nil, the next operation begins when an earlier
    /// one has ended.
    package var rate: Double?
    /// Event loops of this process.
    package var threads = 1
    package var recordBytes = 1_024
    /// Records of one save or fetch.
    package var batch = 1
    /// Zones of each connection.
    package var zones = 1
    /// How unevenly accounts and zones are chosen: the exponent of Zipf's law; 0 means evenly.
    package var skew = 0.0
    /// Records that a device of `catchUp` is behind.
    package var lag = 1_000
    /// Publishes of `fanOut` that are in flight at a time, when no rate is given.
    package var inFlight = 1
    /// Whether `fanOut` publishes in the public database, to the devices of all accounts.
    package var isPublic = false
    /// The time between two losses of `reconnect`.
    package var herdSeconds = 5.0
    package var seed: UInt64 = 1
    /// The time limit for one connection: TCP, TLS and the welcome.
    package var connectTimeoutNanoseconds: UInt64 = 5_000_000_000
    /// The process whose CPU time and memory are measured.
    package var serverPID: Int32?
    /// The time between two samples of the report's plots.
    package var sampleSeconds = 1.0

    /// The number of connections that publish in `fanOut`.
    var publisherCount: Int { isPublic ? 1 : min(tokens.count, connections) }

    /// The number of threads that an open loop's operations are distributed over: those that have a connection for
    /// them.
    var issuingThreads: Int { min(threads, scenario == .fanOut ? publisherCount : connections) }

    package init(server: Server, tokens: [String], scenario: LoadScenario, mix: LoadMix) {
        self.server = server
        self.tokens = tokens
        self.scenario = scenario
        self.mix = mix
    }
}
