internal import BrumeLock
public import Foundation

/// An app's place on a server: its public database, the user's private and shared ones, and the account.
///
/// Containers of one configuration share one connection, which opens with the first call and comes back by itself. May
/// be used from several threads.
///
/// Its own calls are made at the quality of service `userInitiated`; see `configuredWith(configuration:group:body:)`.
///
/// Differs from CloudKit: the server and the account come from a ``BrumeConfiguration``; pushes come through
/// ``notifications`` instead of the app delegate; nobody is discovered.
public final class CKContainer: NSObject, Sendable {
    let core: ContainerCore
    let defaults: CallDefaults
    private let queue = OperationQueue()

    /// How a call of the container itself is made that starts now.
    var callOptions: CallOptions { defaults.callOptions(otherwise: .userInitiated, clock: core.configuration.clock) }

    /// The user's own database. Its calls throw `notAuthenticated` without an account.
    public let privateCloudDatabase: CKDatabase

    /// The database that all users of the app share. Reads need no account.
    public let publicCloudDatabase: CKDatabase

    /// Zones that other users share with this one: those whose shares the user has accepted. Its calls throw
    /// `notAuthenticated` without an account.
    public let sharedCloudDatabase: CKDatabase

    private static let shared = Lock(Defaults())

    private struct Defaults {
        var configuration: BrumeConfiguration?
        var container: CKContainer?
    }

    /// The container that the default configuration names (`BRUME_CONTAINER`).
    ///
    /// Without a name its calls throw `internalError` with a sentence that says what to set.
    public class func `default`() -> CKContainer {
        let configuration = defaultConfiguration
        return shared.withLock { shared in
            if let container = shared.container, container.core.madeWith == configuration { return container }
            let container = CKContainer(configuration: configuration)
            shared.container = container
            return container
        }
    }

    /// Brume's addition: what ``default()`` and ``init(identifier:)`` use from now on instead of the environment.
    /// Containers that exist keep their configuration. Nil: the environment again.
    public class func configureDefault(_ configuration: BrumeConfiguration?) {
        shared.withLock { $0.configuration = configuration }
    }

    /// The configuration that was set, or the environment's.
    private static var defaultConfiguration: BrumeConfiguration {
        shared.withLock { $0.configuration }
            ?? BrumeConfiguration(environmentVariables: ProcessInfo.processInfo.environment)
    }

    /// The container of the given name, on the server of the default configuration, with the account that ``default()``
    /// has now.
    public convenience init(identifier containerIdentifier: String) {
        var configuration = Self.defaultConfiguration
        if let container = Self.shared.withLock({ $0.container }), container.core.madeWith == configuration {
            configuration.token = container.core.configuration.token
        }
        self.init(identifier: containerIdentifier, configuration: configuration)
    }

    /// Brume's addition: the container of the given name, on the server of the given configuration, whose own container
    /// name does not count.
    public convenience init(identifier containerIdentifier: String, configuration: BrumeConfiguration) {
        var configuration = configuration
        configuration.container = containerIdentifier
        self.init(configuration: configuration)
    }

    private convenience init(configuration: BrumeConfiguration) {
        self.init(
            configuration: configuration, transport: LoopTransport.shared.map { $0 as any ClientTransport },
            registry: .shared)
    }

    /// A container on a transport of its own kind.
    package convenience init(
        configuration: BrumeConfiguration, transport: Result<any ClientTransport, TransportFailure>,
        registry: SessionRegistry
    ) {
        self.init(core: ContainerCore(configuration: configuration, transport: transport, registry: registry))
        core.announcer.attach(self)
    }

    /// The container of a core, whose own calls and whose databases' are made with the given defaults.
    init(core: ContainerCore, defaults: CallDefaults = CallDefaults()) {
        self.core = core
        self.defaults = defaults
        privateCloudDatabase = CKDatabase(core: core, scope: .private, defaults: defaults)
        publicCloudDatabase = CKDatabase(core: core, scope: .public, defaults: defaults)
        sharedCloudDatabase = CKDatabase(core: core, scope: .shared, defaults: defaults)
        queue.name = "brume.container"
    }

    /// The time that schedules of this container go by.
    package var scheduleClock: any ClientClock { core.configuration.clock }

    /// The container's name; nil when the configuration names none.
    public var containerIdentifier: String? { core.configuration.container }

    /// The database of the given scope.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        switch databaseScope {
        case .public: publicCloudDatabase
        case .private: privateCloudDatabase
        case .shared: sharedCloudDatabase
        }
    }

    /// Runs an operation. One that names no database works in this container's private one, unless its configuration
    /// has a container.
    ///
    /// An operation that was added or ran before tells its blocks `invalidArguments`; see ``CKOperation``.
    public func add(_ operation: CKOperation) {
        operation.enqueue(on: queue, of: self)
    }

    /// The container's name.
    public override var description: String { "<CKContainer: \(containerIdentifier ?? "no identifier")>" }
}
