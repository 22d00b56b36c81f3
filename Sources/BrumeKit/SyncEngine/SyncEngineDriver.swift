internal import BrumeLock
internal import BrumeModel
internal import Foundation
internal import Synchronization

/// Does what a sync engine's state machine says: asks the server and the delegate, and gives it the time.
final class SyncEngineDriver: Sendable {
    private struct Held: Sendable {
        var machine: SyncEngineStateMachine
        var callers: [UInt64: CheckedContinuation<Result<Void, CKError>, Never>] = [:]
        var lastCallID: UInt64 = 0
        /// Calls whose task was cancelled before they began.
        var cancelledEarly: Set<UInt64> = []
        var isStopped = false
        /// The database for the account that was found last.
        var database: CKDatabase
        /// When a fetch of everything ended last.
        var headDate: Date?

        var request: (id: UInt64, task: Task<Void, Never>)?
        /// A request to cancel that another thread is about to begin.
        var cancelledRequestID: UInt64?
        /// Uploads under way, and those to cancel that another thread is about to begin.
        var uploads: [UInt64: Task<Void, Never>] = [:]
        var cancelledUploadIDs: Set<UInt64> = []
        var timer: Task<Void, Never>?
        var timerMilliseconds = UInt64.max
        var listener: Task<Void, Never>?
        var delegateCall: DelegateCall?

        /// Callers of ``waitUntilAtRest()`` that wait.
        var restWaiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastRestWaiter: UInt64 = 0
        var cancelledRestWaiters: Set<UInt64> = []
    }

    /// Objects that are let go of with the app's last reference to them.
    private struct App: Sendable {
        weak var engine: CKSyncEngine?
        weak var delegate: (any CKSyncEngineDelegate)?
    }

    let database: CKDatabase
    let subscriptionID: CKSubscription.ID?
    let clock: any ClientClock
    let statuses = SyncStatusBroadcast()
    let conflicts = CKSyncEngine.ConflictLog()
    private let persistState: (@Sendable (CKSyncEngine.State.Serialization) -> Void)?
    private let held: Lock<Held>
    private let app: Lock<App>
    private let accountObserver = Lock<ObserverToken?>(nil)
    /// One call of ``persistState`` at a time. Recursive, so that a call from within can be told from one of another
    /// thread.
    private let persisting = NSRecursiveLock()
    private nonisolated(unsafe) var isPersisting = false

    init(_ configuration: CKSyncEngine.Configuration) {
        database = configuration.database
        subscriptionID = configuration.subscriptionID
        clock = configuration.database.core.configuration.clock
        persistState = configuration.persistState
        held = Lock(
            Held(
                machine: SyncEngineStateMachine(
                    state: configuration.stateSerialization?.state, isAutomatic: configuration.automaticallySync,
                    seed: .random(in: .min ... .max),
                    sendDelay: configuration.database.core.configuration.automaticSendDelayMilliseconds),
                database: configuration.database.boundToAccount))
        app = Lock(App(engine: nil, delegate: configuration.delegate))
    }

    // MARK: The engine's life

    func start(engine: CKSyncEngine) {
        app.withLock { $0.engine = engine }
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            [weak self] notification in
            guard let self else { return }
            // Of another container's account there is nothing to know.
            if let container = notification.object as? CKContainer, container.core !== self.database.core { return }
            self.handle { machine, now in machine.accountMayHaveChanged(now: now) }
        }
        let token = ObserverToken(observer)
        accountObserver.withLock { $0 = token }
        handle { machine, now in machine.started(now: now) }
    }

    /// The engine is gone: nothing more is begun, and what is under way is given up.
    func stop() {
        let (tasks, callers, waiters) = held.withLock { held in
            held.isStopped = true
            let tasks = [held.request?.task, held.timer, held.listener].compactMap { $0 } + held.uploads.values
            let callers = held.callers.values.map { $0 }
            held.callers = [:]
            return (tasks, callers, exchange(&held.restWaiters, with: [:]).values)
        }
        for task in tasks { task.cancel() }
        for waiter in waiters { waiter.resume(returning: true) }
        for caller in callers { caller.resume(returning: .failure(.delegateGone)) }
        if let token = accountObserver.withLock({ $0 }) { NotificationCenter.default.removeObserver(token.observer) }
        statuses.finish()
    }

    var boundDatabase: CKDatabase { held.withLock { $0.database } }

    /// The database for the account that the container has now; requests are for that one from now on.
    func bindToAccount() -> CKDatabase {
        let bound = database.boundToAccount
        held.withLock { $0.database = bound }
        return bound
    }

    // MARK: State

    func read<Value>(_ body: (SyncEngineStateMachine) -> Value) -> Value {
        held.withLock { body($0.machine) }
    }

    func status(_ zoneID: CKRecordZone.ID?) -> CKSyncEngine.SyncStatus {
        let (source, date) = held.withLock {
            (
                CKSyncEngine.SyncStatus.Source(state: $0.machine.state, knowsAllZones: $0.machine.knowsAllZones),
                $0.headDate
            )
        }
        return CKSyncEngine.SyncStatus(source, zoneID: zoneID, certified: date)
    }

    /// A change that the app makes. When it returns, ``persistState`` has had it.
    func change(_ body: (inout SyncEngineStateMachine, UInt64) -> Bool) {
        let now = clock.nowMilliseconds
        let isChanged = held.withLock { body(&$0.machine, now) }
        if isChanged { persist() }
        handle { machine, now in machine.timePassed(now: now) }
    }

    private func persist() {
        guard let persistState else { return }
        persisting.lock()
        defer { persisting.unlock() }
        precondition(
            !isPersisting, "CKSyncEngine: persistState added or removed changes; do that outside of it")
        isPersisting = true
        defer { isPersisting = false }
        persistState(read { CKSyncEngine.State.Serialization($0.state) })
    }

    /// Whether a change is too young for the batch that the delegate is asked for.
    func holdsBack(_ change: CKSyncEngine.PendingRecordZoneChange) -> Bool {
        let now = clock.nowMilliseconds
        return held.withLock { $0.machine.holdsBack(change, now: now) }
    }

    // MARK: Calls

    func call(_ wish: SyncEngineStateMachine.Wish, name: String) async throws {
        let enclosing = DelegateCall.current.flatMap { $0.driver == ObjectIdentifier(self) && $0.isUnderWay ? $0 : nil }
        if let enclosing, enclosing.isCurrentTask { throw CKError.calledByDelegate(name) }
        let id = held.withLock { held in
            held.lastCallID += 1
            return held.lastCallID
        }
        // A child task of the delegate's call looks like a task of its own that the delegate began. The former waits
        // for ever, the latter until the delegate's call is over.
        let watch = enclosing.map { enclosing in
            Task { [clock] in
                try await clock.wait(untilMilliseconds: clock.nowMilliseconds + Self.delegateMilliseconds)
                if enclosing.isUnderWay { self.fail(id, .calledByDelegate(name)) }
            }
        }
        defer { watch?.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let refusal: CKError? = held.withLock { held in
                    if held.cancelledEarly.remove(id) != nil { return .callCancelled }
                    if held.isStopped { return .delegateGone }
                    held.callers[id] = continuation
                    return nil
                }
                if let refusal { return continuation.resume(returning: .failure(refusal)) }
                handle { machine, now in machine.called(id, wish, now: now) }
            }
        } onCancel: {
            let hasBegun = held.withLock { held in
                if held.callers[id] != nil { return true }
                held.cancelledEarly.insert(id)
                return false
            }
            if hasBegun { handle { machine, now in machine.callCancelled(id, now: now) } }
        }
        held.withLock { _ = $0.cancelledEarly.remove(id) }
        try result.get()
    }

    /// How long a call from within the delegate's may wait for it.
    private static let delegateMilliseconds: UInt64 = 30_000

    private func fail(_ id: UInt64, _ error: CKError) {
        let caller = held.withLock { $0.callers.removeValue(forKey: id) }
        caller?.resume(returning: .failure(error))
        handle { machine, now in machine.callCancelled(id, now: now) }
    }

    func cancelOperations() {
        handle { machine, now in machine.operationsCancelled(now: now) }
    }

    // MARK: Doing what the machine says

    func handle(_ event: (inout SyncEngineStateMachine, UInt64) -> [SyncEngineStateMachine.Action]) {
        let now = clock.nowMilliseconds
        // What the machine decides is for the account that it knows then, whoever signs in before it is done.
        let (actions, database) = held.withLock { held in
            if held.isStopped { return ([SyncEngineStateMachine.Action](), held.database) }
            let heads = held.machine.headsReached
            let actions = event(&held.machine, now)
            if held.machine.headsReached != heads { held.headDate = Date() }
            return (actions, held.database)
        }
        for action in actions { perform(action, database) }
        armTimer()
        statuses.changed(status)
        wakeAtRest()
    }

    // MARK: Rest

    private func wakeAtRest() {
        let now = clock.nowMilliseconds
        let waiters = held.withLock { held in
            held.restWaiters.isEmpty || !held.machine.isAtRest(now: now)
                ? nil : exchange(&held.restWaiters, with: [:]).values
        }
        for waiter in waiters ?? [:].values { waiter.resume(returning: true) }
    }

    /// Returns once nothing is under way and nothing is due before a later time; at once when the engine is gone.
    func waitUntilAtRest() async throws(CancellationError) {
        let id = held.withLock { held in
            held.lastRestWaiter += 1
            return held.lastRestWaiter
        }
        let isAtRest = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = clock.nowMilliseconds
                let outcome: Bool? = held.withLock { held in
                    if held.cancelledRestWaiters.remove(id) != nil { return false }
                    if held.isStopped || held.machine.isAtRest(now: now) { return true }
                    held.restWaiters[id] = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = held.withLock { held in
                let waiter = held.restWaiters.removeValue(forKey: id)
                if waiter == nil { held.cancelledRestWaiters.insert(id) }
                return waiter
            }
            waiter?.resume(returning: false)
        }
        held.withLock { _ = $0.cancelledRestWaiters.remove(id) }
        if !isAtRest { throw CancellationError() }
    }

    private func perform(_ action: SyncEngineStateMachine.Action, _ database: CKDatabase) {
        switch action {
        case .request(let id, let request): begin(id, request)
        case .cancelRequest(let id):
            let task = held.withLock { held in
                guard let request = held.request, request.id == id else {
                    held.cancelledRequestID = id
                    return nil as Task<Void, Never>?
                }
                return request.task
            }
            task?.cancel()
        case .upload(let id, let zoneID, let files, let limit):
            beginUpload(id) { await self.upload(files, to: zoneID, atATime: limit, database) }
        case .cancelUpload(let id):
            let task = held.withLock { held in
                if held.uploads[id] == nil { held.cancelledUploadIDs.insert(id) }
                return held.uploads[id]
            }
            task?.cancel()
        case .ask(let question): ask(question)
        case .listen: listen()
        case .finish(let id, let result):
            held.withLock { $0.callers.removeValue(forKey: id) }?.resume(returning: result)
        }
    }

    private func begin(_ id: UInt64, _ request: SyncEngineRequest) {
        let task = Task {
            let answer = await self.answer(request)
            self.handle { machine, now in machine.answered(id, answer, now: now) }
        }
        let isCancelled = held.withLock { held in
            // One that ended meanwhile is replaced by the next one, or cancelled to no effect.
            if held.request.map({ $0.id < id }) ?? true { held.request = (id, task) }
            return held.isStopped || held.cancelledRequestID == id
        }
        if isCancelled { task.cancel() }
    }

    private func beginUpload(
        _ id: UInt64, _ upload: @escaping @Sendable () async -> Result<[URL: UploadedFile], CKError>
    ) {
        held.withLock { held in
            if held.isStopped || held.cancelledUploadIDs.remove(id) != nil { return }
            // It ends behind this block, as it needs the lock for that.
            held.uploads[id] = Task {
                let result = await upload()
                self.handle { machine, now in machine.uploadEnded(id, result, now: now) }
                self.held.withLock { held in
                    held.uploads[id] = nil
                    held.cancelledUploadIDs.remove(id)
                }
            }
        }
    }

    private func armTimer() {
        let old: Task<Void, Never>? = held.withLock { held in
            let deadline = held.isStopped ? .max : held.machine.deadlineMilliseconds ?? .max
            guard deadline != held.timerMilliseconds else { return nil }
            let old = held.timer
            held.timerMilliseconds = deadline
            held.timer =
                deadline == .max
                ? nil
                : Task { [weak self, clock] in
                    guard (try? await clock.wait(untilMilliseconds: deadline)) != nil else { return }
                    self?.timerFired(deadline)
                }
            return old
        }
        old?.cancel()
    }

    private func timerFired(_ deadline: UInt64) {
        held.withLock { held in
            if held.timerMilliseconds == deadline { held.timerMilliseconds = .max }
        }
        handle { machine, now in machine.timePassed(now: now) }
    }

    private func listen() {
        let core = boundDatabase.core
        let task = Task { [weak self] in
            do {
                for try await event in CKContainer.NotificationEvents(core: core, isObserver: true) {
                    guard let self else { return }
                    guard let push = self.push(event, currentUser: core.account.currentUser) else { continue }
                    self.handle { machine, now in machine.pushed(push, now: now) }
                }
            } catch {}
            guard !Task.isCancelled else { return }
            self?.handle { machine, now in
                core.account.isEnded ? machine.accountMayHaveChanged(now: now) : machine.listeningEnded(now: now)
            }
        }
        let old = held.withLock { held in
            let old = held.listener
            held.listener = held.isStopped ? nil : task
            return held.isStopped ? task : old
        }
        old?.cancel()
    }

    // MARK: The delegate

    private func ask(_ question: SyncEngineQuestion) {
        Task {
            let reply: SyncEngineReply
            if case .event(.stateUpdate) = question, self.persistState != nil {
                // The state has one way to the disk: an event's might arrive there behind a newer one.
                self.persist()
                reply = .handled
            } else {
                reply = await self.reply(to: question)
            }
            self.handle { machine, now in machine.replied(reply, now: now) }
        }
    }

    private func reply(to question: SyncEngineQuestion) async -> SyncEngineReply {
        let (engine, delegate) = app.withLock { ($0.engine, $0.delegate) }
        guard let engine, let delegate else { return .gone }
        let isBatch = if case .batch = question { true } else { false }
        let call = DelegateCall(driver: self, isBatch: isBatch)
        defer { call.end() }
        return await DelegateCall.$current.withValue(call) {
            switch question {
            case .event(let event):
                if case .sentRecordZoneChanges(let sent) = event { conflicts.add(sent) }
                await delegate.handleEvent(event, syncEngine: engine)
                return .handled
            case .batch(let context):
                return .batch(await delegate.nextRecordZoneChangeBatch(context, syncEngine: engine))
            case .fetchOptions(let context):
                return .fetchOptions(await delegate.nextFetchChangesOptions(context, syncEngine: engine))
            }
        }
    }
}

/// Foundation's token of an observer, which is given back to it and used for nothing else.
private final class ObserverToken: @unchecked Sendable {
    let observer: any NSObjectProtocol

    init(_ observer: any NSObjectProtocol) {
        self.observer = observer
    }
}

/// One call of the delegate, known to what runs in its task and in those that it begins.
final class DelegateCall: Sendable {
    @TaskLocal static var current: DelegateCall?

    /// Not the driver itself: a task that the delegate began may live longer than the engine.
    let driver: ObjectIdentifier
    /// Whether a change is to be left out of the batch that the call is for.
    let holdsBack: @Sendable (CKSyncEngine.PendingRecordZoneChange) -> Bool
    private let task: Int
    private let isOver = Atomic(false)

    /// Begins in the current task.
    ///
    /// - Parameter isBatch: Whether the delegate is asked for a batch.
    init(driver: SyncEngineDriver, isBatch: Bool) {
        self.driver = ObjectIdentifier(driver)
        holdsBack = { [weak driver] change in isBatch && driver?.holdsBack(change) ?? false }
        task = Self.currentTask
    }

    func end() {
        isOver.store(true, ordering: .releasing)
    }

    var isUnderWay: Bool { !isOver.load(ordering: .acquiring) }
    var isCurrentTask: Bool { task == Self.currentTask }

    private static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }
}

extension CKError {
    static func calledByDelegate(_ name: String) -> CKError {
        CKError(
            .invalidArguments,
            message:
                "\(name)() was called within a call of the sync engine's delegate, which it waits for; start a Task for "
                + "it, and don't await that one there")
    }
}
