public import BrumeKit
internal import BrumeLock

/// A `CKSyncEngineDelegate` that remembers its events and gives the engine records: for tests of what a server and an
/// engine make of an app's data, without the app's own delegate.
///
/// ```swift
/// let delegate = TestSyncEngineDelegate()
/// let engine = delegate.makeEngine(on: try server.device(of: "ada", clock: TestClock()))
/// delegate.save([note], with: engine)
/// try await delegate.waitUntilIdle(engine)
/// #expect(delegate.savedRecords.count == 1)
/// ```
///
/// An engine holds its delegate weakly, so keep the delegate for as long as the test needs it. The delegate keeps the
/// engines that it makes.
public final class TestSyncEngineDelegate: CKSyncEngineDelegate {
    fileprivate struct Waiter: Sendable {
        let condition: @Sendable ([CKSyncEngine.Event]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    fileprivate struct State: Sendable {
        var events: [CKSyncEngine.Event] = []
        var records: [CKRecord.ID: CKRecord] = [:]
        var serialization: CKSyncEngine.State.Serialization?
        /// A test may have no use for an engine after it has begun.
        var engines: [CKSyncEngine] = []
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        var cancelledWaiters: Set<Int> = []
    }

    private let provider: (@Sendable (CKRecord.ID) async -> CKRecord?)?
    private let state = Lock(State())

    /// A delegate that gives the engine the records of ``records``.
    public init(_ records: [CKRecord] = []) {
        provider = nil
        state.withLock { state in
            for record in records { state.records[record.recordID] = record }
        }
    }

    /// A delegate that asks a closure for the records to save; for nil the change stays pending and is not sent.
    public init(recordProvider: @escaping @Sendable (CKRecord.ID) async -> CKRecord?) {
        provider = recordProvider
    }

    // MARK: What happened

    /// The events so far but the state updates, in their order. The last 10,000 are kept.
    public var events: [CKSyncEngine.Event] { state.withLock { $0.events } }

    /// Forgets the events so far, so that a test sees those of its next step alone.
    public func forgetEvents() { state.withLock { $0.events = [] } }

    /// The state of the last state update, for the engine of a launch to come; nil before the first.
    public var stateSerialization: CKSyncEngine.State.Serialization? { state.withLock { $0.serialization } }

    /// What an app would have in its database: the records that it was made with, those of ``save(_:with:)``, and what
    /// was saved and fetched, without those that were deleted.
    public var records: [CKRecord.ID: CKRecord] { state.withLock { $0.records } }

    /// The records that were fetched, in all events; one that was fetched twice is there twice.
    public var fetchedRecords: [CKRecord] {
        events.flatMap { event -> [CKRecord] in
            if case .fetchedRecordZoneChanges(let changes) = event { changes.modifications.map(\.record) } else { [] }
        }
    }

    /// The ids of the records that others deleted, in all events.
    public var fetchedDeletions: [CKRecord.ID] {
        events.flatMap { event -> [CKRecord.ID] in
            if case .fetchedRecordZoneChanges(let changes) = event { changes.deletions.map(\.recordID) } else { [] }
        }
    }

    /// The records that were saved on the server, in all events.
    public var savedRecords: [CKRecord] {
        events.flatMap { event -> [CKRecord] in
            if case .sentRecordZoneChanges(let sent) = event { sent.savedRecords } else { [] }
        }
    }

    /// The saves of records that failed, in all events.
    public var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] {
        events.flatMap { event -> [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] in
            if case .sentRecordZoneChanges(let sent) = event { sent.failedRecordSaves } else { [] }
        }
    }

    // MARK: An engine

    /// Makes an engine on a database of a device, with this delegate, which keeps it. It goes by the clock that
    /// the device was given.
    ///
    /// - Parameters:
    ///   - scope: Which of its databases: the private or the shared one.
    ///   - automaticallySync: Whether it fetches and sends by itself.
    ///   - stateSerialization: The state of an earlier engine on the device; nil: it begins anew.
    public func makeEngine(
        on device: TestDevice, scope: CKDatabase.Scope = .private, automaticallySync: Bool = true,
        stateSerialization: CKSyncEngine.State.Serialization? = nil
    ) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: device.container.database(with: scope), stateSerialization: stateSerialization, delegate: self)
        configuration.automaticallySync = automaticallySync
        let engine = CKSyncEngine(configuration)
        state.withLock { $0.engines.append(engine) }
        return engine
    }

    /// Puts records into ``records``, and tells the engine to send them. It sends them by its schedule, or with
    /// `sendChanges()`. In the private database their zones are made where the engine's user has none of the name; one
    /// that the engine is to save already is saved as that says.
    public func save(_ records: [CKRecord], with engine: CKSyncEngine) {
        state.withLock { state in
            for record in records { state.records[record.recordID] = record }
        }
        var zones: [CKRecordZone.ID] = []
        for zone in records.map(\.recordID.zoneID) where zone != .default && !zones.contains(zone) {
            zones.append(zone)
        }
        if engine.database.databaseScope == .private {
            let pending = engine.state.pendingDatabaseChanges.compactMap { change in
                if case .saveZone(let zone) = change { zone.zoneID } else { nil }
            }
            zones.removeAll(where: pending.contains)
            engine.state.add(pendingDatabaseChanges: zones.map { .saveZone(CKRecordZone(zoneID: $0)) })
        }
        engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
    }

    /// Takes records out of ``records``, and tells the engine to delete them.
    public func delete(_ recordIDs: [CKRecord.ID], with engine: CKSyncEngine) {
        state.withLock { state in
            for id in recordIDs { state.records[id] = nil }
        }
        engine.state.add(pendingRecordZoneChanges: recordIDs.map { .deleteRecord($0) })
    }

    /// Returns once the engine has done all that it does by itself: nothing is under way, nothing waits for a time. A
    /// ``TestClock`` of its device is turned to each time that the engine waits for; with the machine's clock that
    /// takes as long as it does in an app.
    ///
    /// What another device has just saved comes when the server's push does: await ``waitUntil(timeout:_:)`` for it, or
    /// `fetchChanges()`. An engine is not idle while a change is pending that its delegate has no record for: it asks
    /// again and again.
    ///
    /// - Parameter timeout: Of real time.
    /// - Throws: ``TestServerError`` with what is pending, the last error and the last events when the engine does not
    ///   come to rest in time, or not at all, as without a network, where it tries again for ever; `CancellationError`
    ///   when the task is cancelled, as a test's time limit does.
    public func waitUntilIdle(_ engine: CKSyncEngine, timeout: Duration = .seconds(10)) async throws {
        try await wait(atMost: timeout, { "\(engine) is not idle\(self.situation(of: engine))" }) {
            for _ in 0..<TestLimits.idleTurnsMax {
                try await engine.waitUntilAtRest()
                guard let due = engine.nextDueMilliseconds else { return }
                if let clock = engine.scheduleClock as? ManualClientClock {
                    clock.advance(byMilliseconds: due - min(due, clock.nowMilliseconds))
                } else {
                    try await engine.scheduleClock.wait(untilMilliseconds: due)
                }
            }
            throw TestServerError(
                "\(engine) goes on after \(TestLimits.idleTurnsMax) turns of its clock: look at what fails"
                    + self.situation(of: engine))
        }
    }

    /// Returns once ``events`` are as the condition wants them.
    ///
    /// ```swift
    /// try await delegate.waitUntil { events in
    ///     events.contains { if case .accountChange = $0 { true } else { false } }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: Of real time.
    ///   - condition: Asked at once and after each event, within a lock: it looks at nothing else of the delegate.
    /// - Throws: ``TestServerError`` with the last events when the time is over; `CancellationError` when the task is
    ///   cancelled, as a test's time limit does.
    public func waitUntil(
        timeout: Duration = .seconds(10), _ condition: @escaping @Sendable ([CKSyncEngine.Event]) -> Bool
    ) async throws {
        try await wait(atMost: timeout, { "the events are not as wanted\(self.situation(of: nil))" }) {
            try await self.waitUntilMet(condition)
        }
    }

    private func waitUntilMet(_ condition: @escaping @Sendable ([CKSyncEngine.Event]) -> Bool) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let isMet = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: Bool? = state.withLock { state in
                    if state.cancelledWaiters.remove(id) != nil { return false }
                    if condition(state.events) { return true }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelledWaiters.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelledWaiters.remove(id) }
        if !isMet { throw CancellationError() }
    }

    // MARK: CKSyncEngineDelegate

    /// Remembers the event, and takes over what it brings. Of a record that is to be sent, what ``records`` holds
    /// stays: the fields that were set there, with the version on the server from now on.
    public func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        let pending = Set(
            syncEngine.state.pendingRecordZoneChanges.compactMap { change in
                if case .saveRecord(let id) = change { id } else { nil }
            })
        let met = state.withLock { state in
            if case .stateUpdate(let update) = event {
                state.serialization = update.stateSerialization
                return [Waiter]()
            }
            state.takeOver(event, pending)
            if state.events.count >= TestLimits.eventsMax { state.events.removeFirst(TestLimits.eventsMax / 10) }
            state.events.append(event)
            let ids = state.waiters.filter { $0.value.condition(state.events) }.map(\.key)
            return ids.map { state.waiters.removeValue(forKey: $0)! }
        }
        for waiter in met { waiter.continuation.resume(returning: true) }
    }

    /// The pending changes that are in the send's scope.
    public func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            if let provider { await provider(id) } else { records[id] }
        }
    }
}

extension TestSyncEngineDelegate.State {
    /// The records as they are after an event.
    ///
    /// - Parameter pending: Records that are to be saved still: they hold edits that the server has not seen.
    fileprivate mutating func takeOver(_ event: CKSyncEngine.Event, _ pending: Set<CKRecord.ID>) {
        switch event {
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { takeOver(record, pending) }
            for id in sent.deletedRecordIDs { records[id] = nil }
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications { takeOver(modification.record, pending) }
            for deletion in changes.deletions { records[deletion.recordID] = nil }
        case .fetchedDatabaseChanges(let changes):
            let gone = Set(changes.deletions.map(\.zoneID))
            if !gone.isEmpty { records = records.filter { !gone.contains($0.key.zoneID) } }
        case .accountChange(let change):
            if case .signIn = change.changeType { return }
            records = [:]
        default: return
        }
    }

    private mutating func takeOver(_ record: CKRecord, _ pending: Set<CKRecord.ID>) {
        let id = record.recordID
        guard pending.contains(id), let local = records[id], let kept = record.copy() as? CKRecord else {
            records[id] = record
            return
        }
        // The instance that was saved has the version already, and edits that were made meanwhile.
        if local.recordChangeTag == record.recordChangeTag { return }
        for key in local.changedKeys() { kept[key] = local[key] }
        if local.parent != record.parent { kept.parent = local.parent }
        records[id] = kept
    }
}
