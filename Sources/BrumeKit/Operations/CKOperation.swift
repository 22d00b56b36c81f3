public import Foundation

/// What is done with a container or a database, as an `Operation`: the base of all operations here.
///
/// Set it up, then give it to ``CKDatabase/add(_:)``, to ``CKContainer/add(_:)`` or to an `OperationQueue`;
/// dependencies between operations count as everywhere. It ends by itself when the server's answer was told to its
/// blocks.
///
/// - **Blocks** are called one after the other on a queue of the operation's own: first those for single items, then
///   the result block, once, then `completionBlock`. A block may wait. Where a newer block replaces a deprecated one,
///   the newer one is called alone when both are set.
/// - **Errors**: a result block gets what failed the operation as a whole; what failed for one item is told to that
///   item's block. The deprecated completion blocks get `partialFailure` then. When a request fails as a whole, each
///   item that has no result yet is told that error.
/// - **Cancelling**: an operation that is cancelled before its answer is there tells `operationCancelled`, also when it
///   has not started: it does so when its queue starts it. What a request had sent by then may still happen.
/// - **Once**: an operation runs once. Added or started a second time, it tells its blocks `invalidArguments`.
///   `OperationQueue` itself ends the process when it is handed one that it, or another queue, has or had.
///
/// The settings are read when the operation starts. They may be made from several threads.
///
/// Where the server can't be reached, an operation of quality `utility` or `background` waits for it, and one of
/// another quality ends at once with `networkUnavailable`; see ``CKOperationConfiguration/qualityOfService``.
///
/// Differs from CloudKit: a request that the server refused is repeated by nobody, whatever its quality of service; see
/// ``CKError/retryAfterSeconds``. An operation keeps its blocks when it is finished.
open class CKOperation: Operation, @unchecked Sendable {
    // Sendable: all state here and in the subclasses is behind locks.

    /// The name of an operation.
    public typealias ID = String

    private enum Phase {
        case new, executing, finished
    }

    private struct State {
        var phase = Phase.new
        var isQueued = false
        var task: Task<Void, Never>?
        var container: CKContainer?
        var configuration = CKOperationConfiguration()
        var group: CKOperationGroup?
        var longLivedOperationWasPersistedBlock: (() -> Void)?
    }

    private let state = Guarded(State())
    private let executor = CallbackExecutor(queue: DispatchQueue(label: "brume.operation"))

    /// The operation's identity, a new one for each that is made.
    public let operationID: CKOperation.ID = UUID().uuidString

    /// A new operation, to be set up.
    public required override init() {
        super.init()
    }

    /// How the operation runs. Set to nil, it is a configuration without explicit values. Copied when it is set.
    public var configuration: CKOperation.Configuration! {
        get { state.configuration }
        set {
            state.configuration = newValue.map { CKOperationConfiguration($0.settings) } ?? CKOperationConfiguration()
        }
    }

    /// The group whose name goes with the requests, and whose ``CKOperationGroup/defaultConfiguration`` counts where
    /// ``configuration`` says nothing. Unless set, the one of ``configuration``.
    public var group: CKOperationGroup? {
        get { state.withLock { $0.group ?? $0.configuration.group } }
        set { state.group = newValue }
    }

    /// Never called. On Apple's systems it tells that a long-lived operation will outlive its process, and none does
    /// here.
    public var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { state.longLivedOperationWasPersistedBlock }
        set { state.longLivedOperationWasPersistedBlock = newValue }
    }

    /// ``CKOperationConfiguration/qualityOfService`` of ``configuration``.
    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set { configuration.qualityOfService = newValue }
    }

    // MARK: Operation

    /// True: the operation goes on when `start()` has returned.
    open override var isAsynchronous: Bool { true }

    /// Whether the operation has started and not finished.
    open override var isExecuting: Bool { state.phase == .executing }

    /// Whether the last block was called.
    open override var isFinished: Bool { state.phase == .finished }

    /// Starts the operation. Queues call it; a second call tells the blocks `invalidArguments`.
    open override func start() {
        let isFirst = state.withLock { state in
            guard state.phase == .new else { return false }
            state.phase = .executing
            return true
        }
        guard isFirst else { return refuseReuse() }
        willChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isExecuting)
        let run = run(refusal: isCancelled ? .cancelled : nil)
        if settings.isLongLived == true { LongLivedOperations.shared.started(self, in: run.container.core) }
        let task = Task(executorPreference: executor, priority: run.options.priority.taskPriority) {
            await self.execute(run)
            self.finish()
        }
        state.withLock { state in
            // It may have finished by now.
            if state.phase == .executing { state.task = task }
        }
        // The one who cancelled may have found no task.
        if isCancelled { task.cancel() }
    }

    /// Cancels the operation: it tells `operationCancelled`, unless its answer was there already.
    open override func cancel() {
        super.cancel()
        state.task?.cancel()
    }

    private func finish() {
        state.withLock { state in
            state.phase = .finished
            state.task = nil
        }
        LongLivedOperations.shared.finished(self)
        willChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        didChangeValue(for: \.isFinished)
    }

    // MARK: Inside

    /// Does the work and calls all blocks. On the operation's own queue.
    func execute(_ run: OperationRun) async {
        preconditionFailure("\(type(of: self)) is abstract: use one of the operations that CloudKit declares")
    }

    /// The container of the database that the operation names, where it has one.
    var namedContainer: CKContainer? { nil }

    /// Hands the operation to the queue of a container or a database, in which it works unless it says otherwise.
    func enqueue(on queue: OperationQueue, of container: CKContainer?, _ prepare: () -> Void = {}) {
        enum Claim { case granted, refused, running }
        let isLongLived = settings.isLongLived == true
        let claim: Claim = state.withLock { state in
            if state.phase == .executing, isLongLived { return .running }
            guard state.phase == .new, !state.isQueued else { return .refused }
            state.isQueued = true
            state.container = container
            return .granted
        }
        switch claim {
        case .granted:
            prepare()
            queue.addOperation(self)
        case .refused: refuseReuse()
        case .running: break
        }
    }

    private func refuseReuse() {
        let run = run(refusal: .reused(self))
        Task(executorPreference: executor) { await self.execute(run) }
    }

    /// The explicit values of the operation, and of its group where it has none.
    private var settings: OperationSettings {
        let (own, group) = state.withLock { ($0.configuration.settings, $0.group ?? $0.configuration.group) }
        return own.over(group?.defaultSettings ?? OperationSettings())
    }

    private func run(refusal: CKError?) -> OperationRun {
        let settings = settings
        let container = namedContainer ?? settings.container ?? state.container ?? CKContainer.default()
        let options = settings.callOptions(group: group, clock: container.core.configuration.clock)
        return OperationRun(refusal: refusal, container: container, options: options)
    }
}

/// The settings that moved to ``CKOperation/configuration``.
extension CKOperation {
    /// See ``CKOperationConfiguration/container``.
    @available(*, deprecated, message: "Use configuration.container")
    public var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// See ``CKOperationConfiguration/allowsCellularAccess``.
    @available(*, deprecated, message: "Use configuration.allowsCellularAccess")
    public var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// See ``CKOperationConfiguration/isLongLived``.
    @available(*, deprecated, message: "Use configuration.isLongLived")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// See ``CKOperationConfiguration/timeoutIntervalForRequest``.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForRequest")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// See ``CKOperationConfiguration/timeoutIntervalForResource``.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForResource")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}
