/// The decisions of a ``CKSyncEngine``: what to ask of the server and of the delegate, when, and in which order.
///
/// Pure: events come in with the time, actions go out. One thing is under way at a time, a request or a question to the
/// delegate; ``advance(now:)`` starts the next one when it is over. A fetch or a send is a cycle of such steps. Uploads
/// of files alone are under way beside them.
package struct SyncEngineStateMachine: Sendable {
    package enum Action: Sendable {
        /// Ask the server, and come back with ``answered(_:_:now:)``.
        case request(id: UInt64, SyncEngineRequest)
        /// Give up a request, if it is still under way. Its answer is awaited all the same.
        case cancelRequest(id: UInt64)
        /// Upload files of a record of a zone, so many at a time, beside all else, and come back with
        /// ``uploadEnded(_:_:now:)``.
        case upload(id: UInt64, zoneID: CKRecordZone.ID, [AssetUpload], atATime: Int)
        /// Give up an upload. Whether it still comes back is all the same.
        case cancelUpload(id: UInt64)
        /// Ask the delegate, and come back with ``replied(_:now:)``.
        case ask(SyncEngineQuestion)
        /// Listen to the device's notifications, from now on instead of before.
        case listen
        /// A call of the app is over.
        case finish(id: UInt64, Result<Void, CKError>)
    }

    /// What an app's call wants.
    package enum Wish: Sendable {
        case fetch(CKSyncEngine.FetchChangesOptions)
        case send(CKSyncEngine.SendChangesOptions)

        /// Whether one cycle does for both.
        fileprivate func isMet(by other: Wish) -> Bool {
            switch (self, other) {
            case (.fetch(let left), .fetch(let right)):
                left.scope == right.scope && left.prioritizedZoneIDs == right.prioritizedZoneIDs
            case (.send(let left), .send(let right)): left.scope == right.scope
            default: false
            }
        }
    }

    /// A notification of the device's stream.
    package enum Push: Sendable {
        /// The stream is open, and with it the way to the server.
        case opened
        case databaseChanged
        case zoneChanged(CKRecordZone.ID)
    }

    /// What is under way.
    enum Step: Sendable {
        case request(id: UInt64)
        case question(Effect)
    }

    /// What follows from the delegate's having handled a question.
    enum Effect: Sendable {
        case none
        case databasePage(CKServerChangeToken)
        case zonePage(CKRecordZone.ID, CKServerChangeToken, isLast: Bool)
        case zonesSent
        case recordsSent
        case batch
        case fetchOptions
    }

    package internal(set) var state: SyncEngineState
    let isAutomatic: Bool

    /// Where the account stands in this process; the state has what was known before.
    var isAccountKnown = false
    var isAccountCheckWanted = false
    var schedule: SyncEngineSchedule

    var step: Step?
    /// Events that the delegate has yet to be told, with what follows.
    var outbox: [(event: CKSyncEngine.Event, effect: Effect)] = []
    var fetchCycle: FetchCycle?
    var sendCycle: SendCycle?
    var calls: [(id: UInt64, wish: Wish)] = []
    var actions: [Action] = []
    var lastRequestID: UInt64 = 0

    var isDelegateGone = false
    var isListening = false
    var isSubscribed = false

    /// Zones that a push named since they were asked for last.
    var pushedZones: Set<CKRecordZone.ID> = []

    /// Since when the state differs from what the delegate was told.
    var dirtySince: UInt64?
    /// Counts additions of changes, to tell those before a moment from those behind it.
    var additions: UInt64 = 0
    /// The addition at which the app last said that it has changes of its own.
    var untrackedAddition: UInt64 = 0
    /// What waits for files, in the order in which it was given, and by item. Its changes stay pending.
    var heldBatches: [HeldBatch] = []
    var heldChanges: [CKRecord.ID: HeldChange] = [:]
    /// The files of what is held, and of records that are tried again.
    var uploads: [CKRecord.ID: Upload] = [:]
    /// The records of uploads that wait for their turn, and of those under way.
    var waitingUploads: [CKRecord.ID] = []
    var runningUploads: [UInt64: CKRecord.ID] = [:]
    var lastUploadID: UInt64 = 0
    /// Records that the delegate was asked for once more, since a file of them was gone.
    var recordsAskedAgain: Set<CKRecord.ID> = []
    /// When it is looked at whether something that was held can be sent; nil: there is no reason.
    var uploadsDue: UInt64?
    /// Whether the delegate was not asked for more since too much is held.
    var isHeldFull = false
    var waitingSends: [WaitingSend] = []
    /// Records that were not saved for want of keys, and are pending again.
    var keyWaits: [CKRecord.ID: KeyWait] = [:]
    /// Whether the last call for what is held ended with failures of some of it, or of something else.
    var isNextCallAwaited = false

    /// Changes in flight that the app has removed: they don't come back.
    var removedInFlight: Set<CKRecord.ID> = []
    var removedZonesInFlight: Set<CKRecordZone.ID> = []

    /// Whether all zones that have changes are known: a fetch has asked for them, and nothing was heard of the database
    /// since; see ``CKSyncEngine/SyncStatus``.
    var knowsAllZones = false
    /// How often the engine heard that the database has changed, or that it may have.
    var databasePushes: UInt64 = 0
    /// How often a fetch has found all zones that have changes.
    var headsReached: UInt64 = 0

    /// Whether this device has everything, as far as it has heard.
    package var isAtHead: Bool { knowsAllZones && state.unfetchedZones.isEmpty }

    /// - Parameter sendDelay: Milliseconds from the last addition of a change to a scheduled send.
    package init(state: SyncEngineState?, isAutomatic: Bool, seed: UInt64, sendDelay: UInt64 = 1_000) {
        self.state = state ?? SyncEngineState()
        self.isAutomatic = isAutomatic
        schedule = SyncEngineSchedule(seed: seed, sendDelay: sendDelay)
        // What was in flight when the process ended goes first.
        let zones = self.state.sentZoneChanges
        let records = self.state.sentRecordChanges
        self.state.sentZoneChanges = []
        self.state.sentRecordChanges = []
        self.state.zoneChanges.putBack(zones.map { ($0.zoneID, $0) }, stamp: 0)
        self.state.recordChanges.putBack(records.map { ($0.recordID, $0) }, stamp: 0)
    }

    // MARK: Events

    /// The engine begins its work. Without automatic sync it waits for calls.
    package mutating func started(now: UInt64) -> [Action] {
        if isAutomatic {
            schedule.wantFetch(now: now)
            if hasUnsent { schedule.wantSend(now: now) }
        }
        return turn(now: now)
    }

    /// The app calls for a fetch or a send. It is over with ``Action/finish(id:_:)``.
    package mutating func called(_ id: UInt64, _ wish: Wish, now: UInt64) -> [Action] {
        if isDelegateGone {
            finish([id], .failure(.delegateGone))
        } else {
            calls.append((id, wish))
            if case .send = wish { isNextCallAwaited = false }
        }
        return turn(now: now)
    }

    /// The task that made a call was cancelled. Its cycle ends when nobody else waits for it.
    package mutating func callCancelled(_ id: UInt64, now: UInt64) -> [Action] {
        if let index = calls.firstIndex(where: { $0.id == id }) {
            calls.remove(at: index)
            finish([id], .failure(.callCancelled))
        } else if let index = fetchCycle?.callIDs.firstIndex(of: id) {
            fetchCycle!.callIDs.remove(at: index)
            finish([id], .failure(.callCancelled))
            if fetchCycle!.callIDs.isEmpty { cancelCycle() }
        } else if let index = sendCycle?.callIDs.firstIndex(of: id) {
            sendCycle!.callIDs.remove(at: index)
            finish([id], .failure(.callCancelled))
            if sendCycle!.callIDs.isEmpty { cancelCycle() }
        } else if let index = waitingSends.firstIndex(where: { $0.callIDs.contains(id) }) {
            waitingSends[index].callIDs.removeAll { $0 == id }
            waitingSends.removeAll { $0.callIDs.isEmpty }
            finish([id], .failure(.callCancelled))
        }
        return turn(now: now)
    }

    /// The app wants everything that is under way to end, and calls that wait not to begin.
    package mutating func operationsCancelled(now: UInt64) -> [Action] {
        finish(calls.map(\.id) + waitingSends.flatMap(\.callIDs), .failure(.operationsCancelled))
        calls = []
        waitingSends = []
        cancelHeld(.operationsCancelled, now: now)
        cancelCycle()
        return turn(now: now)
    }

    /// A notification came.
    package mutating func pushed(_ push: Push, now: UInt64) -> [Action] {
        switch push {
        case .opened:
            databaseChanged()
            schedule.connectionCameBack()
            // The first one is no news when the first fetch is still to come.
            schedule.wantFetch(now: now)
        case .databaseChanged:
            databaseChanged()
            schedule.wantFetch(now: now)
        case .zoneChanged(let zoneID):
            guard !zoneID.isDefault else { break }
            if !state.unfetchedZones.contains(zoneID) {
                state.unfetchedZones.insert(zoneID)
                markDirty(now: now)
            }
            pushedZones.insert(zoneID)
            schedule.wantFetch(now: now)
        }
        return turn(now: now)
    }

    /// There may be zones with changes that this device does not know.
    mutating func databaseChanged() {
        knowsAllZones = false
        databasePushes += 1
    }

    /// The notifications ended.
    package mutating func listeningEnded(now: UInt64) -> [Action] {
        isListening = false
        schedule.listeningFailed(now: now)
        return turn(now: now)
    }

    /// The account may be another one.
    package mutating func accountMayHaveChanged(now: UInt64) -> [Action] {
        isAccountCheckWanted = true
        schedule.accountDue = 0
        return turn(now: now)
    }

    /// Time passed, up to ``deadlineMilliseconds`` or not.
    package mutating func timePassed(now: UInt64) -> [Action] {
        turn(now: now)
    }

    /// The delegate answered the question that was asked last.
    package mutating func replied(_ reply: SyncEngineReply, now: UInt64) -> [Action] {
        guard case .question(let effect) = step else {
            preconditionFailure("the delegate answered a question that was not asked")
        }
        step = nil
        switch (effect, reply) {
        case (_, .gone): delegateIsGone()
        case (.batch, .batch(let batch)): batchProvided(batch, now: now)
        case (.fetchOptions, .fetchOptions(let options)): fetchCycle?.options = options
        case (.batch, _), (.fetchOptions, _): preconditionFailure("the delegate's answer is of another kind")
        case (_, .handled): apply(effect, now: now)
        default: preconditionFailure("the delegate's answer is of another kind")
        }
        return turn(now: now)
    }

    /// The server answered a request, or it failed.
    package mutating func answered(_ id: UInt64, _ answer: SyncEngineAnswer, now: UInt64) -> [Action] {
        guard case .request(let current) = step, current == id else {
            preconditionFailure("a request was answered that is not under way")
        }
        step = nil
        switch answer {
        case .account(let result): accountChecked(result, now: now)
        case .subscription(let result):
            switch result {
            case .success: isSubscribed = true
            case .failure(let error): schedule.subscribingFailed(error, now: now)
            }
        case .databaseChanges(let result): databaseChangesFetched(result, now: now)
        case .zoneChanges(let result): zoneChangesFetched(result, now: now)
        case .deletionReasons(let result): deletionReasonsFetched(result, now: now)
        case .firstFetchTokens(let result): firstFetchTokensFetched(result, now: now)
        case .assetFiles(let files): assetFilesFound(files)
        case .modifyZones(let result): zonesModified(result, now: now)
        case .modifyRecords(let result): recordsModified(result, now: now)
        }
        return turn(now: now)
    }

    /// The group of the cycle under way.
    var operationGroup: CKOperationGroup? {
        fetchCycle?.options.operationGroup ?? sendCycle?.context.options.operationGroup
    }

    // MARK: Going on

    /// When ``timePassed(now:)`` is due; nil: nothing waits for time.
    package var deadlineMilliseconds: UInt64? {
        guard step == nil, !isDelegateGone else { return nil }
        var deadline = dirtySince.map { $0 + SyncEngineSchedule.stateUpdateDelay }
        func consider(_ due: UInt64?) {
            guard let due, due != .max else { return }
            deadline = min(deadline ?? .max, due)
        }
        if let releaseDue {
            consider(isAccountKnown && !isAccountCheckWanted ? releaseDue : max(releaseDue, schedule.accountDue))
        }
        // Uploads wait for it.
        if isAccountCheckWanted, !heldBatches.isEmpty { consider(schedule.accountDue) }
        guard isAutomatic else { return deadline }
        if !isAccountKnown || isAccountCheckWanted {
            consider(schedule.accountDue)
        } else if case .user = state.account {
            if !isListening { consider(schedule.listenDue) }
            if !isSubscribed { consider(schedule.subscriptionDue) }
            consider(schedule.fetchDue)
            if hasUnsent { consider(schedule.sendDue) }
        }
        return deadline
    }

    /// Whether nothing is under way, and nothing is due before a later time.
    package func isAtRest(now: UInt64) -> Bool {
        step == nil && fetchCycle == nil && sendCycle == nil && calls.isEmpty && outbox.isEmpty
            && heldBatches.isEmpty && deadlineMilliseconds ?? .max > now
    }

    /// Whether something is to be sent that does not wait for files already.
    var hasUnsent: Bool {
        if !state.zoneChanges.isEmpty || state.hasUntrackedChanges { return true }
        if state.recordChanges.isEmpty || heldChanges.isEmpty { return !state.recordChanges.isEmpty }
        return state.recordChanges.count > heldChanges.values.count(where: isHeld)
    }

    /// Whether the delegate has given the record of a change, and it waits for files.
    func waitsForFiles(_ change: CKSyncEngine.PendingRecordZoneChange) -> Bool {
        guard let held = heldChanges[change.recordID], held.change == change else { return false }
        return isHeld(held)
    }

    /// Whether a change that waits for files is the latest one of its record.
    func isHeld(_ held: HeldChange) -> Bool {
        let id = held.change.recordID
        guard state.recordChanges[id] == held.change, let stamp = state.recordChanges.stamp(id) else { return false }
        return stamp <= held.additionsAtQuestion
    }

    /// Goes on as far as it can, and gives what is to be done.
    mutating func turn(now: UInt64) -> [Action] {
        while step == nil, advance(now: now) {}
        defer { actions = [] }
        return actions
    }

    /// Does one thing, if there is one.
    private mutating func advance(now: UInt64) -> Bool {
        if isDelegateGone { return false }
        if !outbox.isEmpty {
            let (event, effect) = outbox.removeFirst()
            ask(.event(event), effect)
            return true
        }
        if let dirtySince, now >= dirtySince + SyncEngineSchedule.stateUpdateDelay {
            updateState()
            return true
        }
        // Who is signed in comes before anything that is that user's.
        let isUserNeeded = fetchCycle != nil || sendCycle != nil || isAutomatic || !heldBatches.isEmpty
        if isAccountCheckWanted, isUserNeeded, schedule.accountDue <= now {
            request(.account)
            return true
        }
        if fetchCycle != nil {
            advanceFetch(now: now)
            return true
        }
        if sendCycle != nil {
            advanceSend(now: now)
            return true
        }
        return beginSomething(now: now)
    }

    private mutating func beginSomething(now: UInt64) -> Bool {
        abandonHeld(now: now)
        let isReleaseDue = releaseDue ?? .max <= now
        guard isAutomatic || !calls.isEmpty || isReleaseDue else { return false }
        if !isAccountKnown || isAccountCheckWanted {
            guard !calls.isEmpty || schedule.accountDue <= now else { return false }
            request(.account)
            return true
        }
        guard case .user = state.account else {
            if calls.isEmpty { return false }
            finish(calls.map(\.id), .failure(.noAccount))
            calls = []
            return true
        }
        if isReleaseDue || !calls.isEmpty && isFailureReleased() {
            uploadsDue = nil
            if isAnythingReleased() { beginRelease() } else { uploadsSettled(now: now) }
            return true
        }
        if let first = calls.first?.wish {
            let ids = calls.filter { $0.wish.isMet(by: first) }.map(\.id)
            calls.removeAll { ids.contains($0.id) }
            switch first {
            case .fetch(let options): beginFetch(.manual, options, callIDs: ids)
            case .send(let options): beginSend(.manual, options, callIDs: ids)
            }
            return true
        }
        if !isListening, schedule.listenDue <= now {
            isListening = true
            actions.append(.listen)
            return true
        }
        if !isSubscribed, schedule.subscriptionDue <= now {
            request(.subscription)
            return true
        }
        if let due = schedule.fetchDue, due <= now {
            beginFetch(.scheduled, CKSyncEngine.FetchChangesOptions(), callIDs: [])
            return true
        }
        if hasUnsent, let due = schedule.sendDue, due <= now {
            beginSend(.scheduled, CKSyncEngine.SendChangesOptions(), callIDs: [])
            return true
        }
        return false
    }

    mutating func request(_ request: SyncEngineRequest) {
        lastRequestID += 1
        step = .request(id: lastRequestID)
        actions.append(.request(id: lastRequestID, request))
    }

    mutating func ask(_ question: SyncEngineQuestion, _ effect: Effect) {
        step = .question(effect)
        actions.append(.ask(question))
    }

    mutating func tell(_ event: CKSyncEngine.Event, _ effect: Effect = .none) {
        outbox.append((event, effect))
    }

    mutating func finish(_ ids: [UInt64], _ result: Result<Void, CKError>) {
        for id in ids { actions.append(.finish(id: id, result)) }
    }

    mutating func markDirty(now: UInt64) {
        if dirtySince == nil { dirtySince = now }
    }

    /// Tells the delegate the state as it is now.
    mutating func updateState() {
        dirtySince = nil
        let serialization = CKSyncEngine.State.Serialization(state)
        ask(.event(.stateUpdate(.init(stateSerialization: serialization))), .none)
    }

    mutating func apply(_ effect: Effect, now: UInt64) {
        switch effect {
        case .none, .batch, .fetchOptions: return
        case .databasePage(let token):
            guard state.databaseToken != token else { return }
            state.databaseToken = token
        case .zonePage(let zoneID, let token, let isLast):
            let wasUnfetched = state.unfetchedZones.contains(zoneID)
            // A push that came behind the request may tell of a change that is not in the answer.
            if isLast, !pushedZones.contains(zoneID) { state.unfetchedZones.remove(zoneID) }
            guard state.zoneTokens[zoneID] != token || wasUnfetched else { return }
            state.zoneTokens[zoneID] = token
        case .zonesSent:
            state.sentZoneChanges = []
            removedZonesInFlight = []
        case .recordsSent:
            state.sentRecordChanges = []
            removedInFlight = []
        }
        markDirty(now: now)
    }

    /// The cycle under way ends as soon as it can: what began is told to be over.
    private mutating func cancelCycle() {
        guard fetchCycle != nil || sendCycle != nil else { return }
        fetchCycle?.isCancelled = true
        sendCycle?.isCancelled = true
        if case .request(let id) = step { actions.append(.cancelRequest(id: id)) }
    }

    /// Nobody handles anything any more: what waits is over. What was in flight stays in the state as unsent.
    private mutating func delegateIsGone() {
        isDelegateGone = true
        let waiting = calls.map(\.id) + (fetchCycle?.callIDs ?? []) + (sendCycle?.callIDs ?? [])
        finish(waiting, .failure(.delegateGone))
        calls = []
        fetchCycle = nil
        sendCycle = nil
        forgetHeld(.delegateGone)
        outbox = []
        dirtySince = nil
    }
}

extension CKError {
    static var callCancelled: CKError {
        CKError(.operationCancelled, message: "the task that made the call was cancelled")
    }

    static var operationsCancelled: CKError {
        CKError(.operationCancelled, message: "cancelOperations() was called")
    }

    static var delegateGone: CKError {
        CKError(
            .operationCancelled,
            message: "the sync engine's delegate is gone; keep a reference to it, the engine holds it weakly")
    }
}
