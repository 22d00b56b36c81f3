internal import BrumeModel

/// Sending: the changes to zones, and then batches of the changes to records (Documentation/CloudKit.md, The sync
/// engine, 5 and 9 to 13).
extension SyncEngineStateMachine {
    struct SendCycle: Sendable {
        enum Phase: Sendable {
            case begin
            case zones
            case batch
            case end
            case over
        }

        let context: CKSyncEngine.SendChangesContext
        var callIDs: [UInt64]
        var phase = Phase.begin
        var isCancelled = false
        var isToldOver = false
        var isStateTold = false
        /// Why the cycle ends early.
        var failure: CKError?
        var failedZones: [CKRecordZone.ID: CKError] = [:]
        var failedRecords: [CKRecord.ID: CKError] = [:]
        var isProgressMade = false
        /// Whether changes were left out of batches that were added a moment before.
        var isAnythingHeldBack = false
        /// The changes to zones that succeeded: none is sent twice, whatever the delegate adds, but for one that its
        /// opposite has undone.
        var doneZoneChanges: Set<CKSyncEngine.PendingDatabaseChange> = []
        /// How often a change was undone by its opposite.
        var reversalCount = 0
        /// More than an app has reason for. One whose delegate saves a zone whenever it is deleted, and deletes it
        /// whenever it is saved, goes on with the next cycle, after a pause.
        private static let reversalsMax = 8
        /// What was added behind the moment at which the delegate was asked for a batch may be newer than what is in
        /// it.
        var additionsAtQuestion: UInt64 = 0
        /// The changes to zones that are in flight.
        var zoneChanges: [CKSyncEngine.PendingDatabaseChange] = []
        /// A batch that waits for a zone of its own, which the delegate added when it was asked, or for a zone's token,
        /// and ``additionsAtQuestion`` of then.
        var heldBatch: (batch: CKSyncEngine.RecordZoneChangeBatch, additionsAtQuestion: UInt64)?
        /// Zones that were asked for their tokens.
        var askedZones: Set<CKRecordZone.ID> = []
        /// The files of the batch that is about to be sent; nil: it was not looked for them.
        var files: [CKRecord.ID: [AssetUpload]]?
        /// Whether the cycle is for what was held, and asks the delegate for nothing.
        var isRelease = false
        /// Whether the delegate was not asked for more since too much is held.
        var isCut = false
        /// Whether the delegate gave nothing but what waits already: it may have more behind that.
        var isGivenAgain = false
        /// Records that waited and were asked for anew, since one was given that has to go before them or with them:
        /// once each, or a delegate that gives them in turns would be asked for ever.
        var askedBehind: Set<CKRecord.ID> = []
        /// The files that were not there when a release began: their records are for the next one.
        var lateUploads: Set<CKRecord.ID> = []
        /// Whether it has to be asked for a record again whose file went after it was asked last.
        var mustAskAgain = false
        /// The batch in flight, and those of its changes that were pending.
        var batch: CKSyncEngine.RecordZoneChangeBatch?
        var trackedIDs: Set<CKRecord.ID> = []
        /// What of the batch is not sent but fails, as files of it could not be uploaded.
        var batchFailures: [CKRecord.ID: CKError] = [:]

        var failedItems: [AnyHashable: any Error] {
            var items: [AnyHashable: any Error] = [:]
            for (id, error) in failedZones { items[id] = error }
            for (id, error) in failedRecords { items[id] = error }
            return items
        }

        var isBegun: Bool {
            if case .begin = phase { return false }
            return true
        }

        /// The server has made the change.
        mutating func zoneChangeDone(_ change: CKSyncEngine.PendingDatabaseChange) {
            doneZoneChanges.insert(change)
            let opposite: CKSyncEngine.PendingDatabaseChange =
                switch change {
                case .saveZone(let zone): .deleteZone(zone.zoneID)
                case .deleteZone(let id): .saveZone(CKRecordZone(zoneID: id))
                }
            guard reversalCount < Self.reversalsMax, doneZoneChanges.remove(opposite) != nil else { return }
            reversalCount += 1
        }
    }

    mutating func beginSend(
        _ reason: CKSyncEngine.SyncReason, _ options: CKSyncEngine.SendChangesOptions, callIDs: [UInt64]
    ) {
        if options.scope == .all { schedule.sendBegan() }
        sendCycle = SendCycle(
            context: CKSyncEngine.SendChangesContext(reason: reason, options: options), callIDs: callIDs)
    }

    /// Begins to send what was held until its files were uploaded.
    mutating func beginRelease() {
        let waiting = waitingSends.first
        var options = CKSyncEngine.SendChangesOptions()
        if let waiting { options.operationGroup = waiting.options.operationGroup }
        let reason: CKSyncEngine.SyncReason = waiting == nil && isAutomatic ? .scheduled : .manual
        sendCycle = SendCycle(context: .init(reason: reason, options: options), callIDs: [])
        sendCycle!.isRelease = true
        sendCycle!.lateUploads = Set(uploads.filter { !$0.value.isOver }.keys)
    }

    mutating func advanceSend(now: UInt64) {
        guard let cycle = sendCycle else { return }
        if cycle.isCancelled, cycle.isBegun, !cycle.isToldOver {
            sendCycle!.failure = cycle.failure ?? .operationsCancelled
            sendCycle!.phase = .end
        }
        switch sendCycle!.phase {
        case .begin:
            sendCycle!.phase = cycle.isRelease ? .batch : .zones
            tell(.willSendChanges(.init(context: cycle.context)))
        case .zones:
            let changes = unsentZoneChanges(cycle)
            if changes.isEmpty {
                sendCycle!.phase = .batch
            } else {
                sendZones(Array(changes.prefix(Limits.itemsPerRequest)))
            }
        case .batch where cycle.isRelease:
            guard let released = takeReleased(now: now) else {
                sendCycle!.phase = .end
                return
            }
            sendCycle!.additionsAtQuestion = released.additionsAtQuestion
            send(released.batch, failing: released.failures, now: now)
        case .batch:
            // A zone that was added since has to be there before its records.
            if !unsentZoneChanges(cycle).isEmpty {
                sendCycle!.phase = .zones
                return
            }
            if let held = sendCycle!.heldBatch.take() {
                // The app may have removed all of it.
                if held.batch.itemCount == 0 {
                    sendCycle!.files = nil
                    return
                }
                sendCycle!.additionsAtQuestion = held.additionsAtQuestion
                return sendOnceFollowed(held.batch, now: now)
            }
            // A call for some records or zones does not wait for all the others.
            if heldFill >= (cycle.context.options.scope == .all ? 1 : 2) {
                isHeldFull = true
                sendCycle!.isCut = true
                sendCycle!.phase = .end
                return
            }
            sendCycle!.additionsAtQuestion = additions
            sendCycle!.mustAskAgain = false
            ask(.batch(cycle.context), .batch)
        case .end:
            sendCycle!.phase = .over
            sendCycle!.isToldOver = true
            tell(.didSendChanges(.init(context: cycle.context)))
        case .over:
            if dirtySince != nil, !cycle.isStateTold {
                sendCycle!.isStateTold = true
                updateState()
                return
            }
            sendCycle = nil
            sendEnded(cycle, now: now)
        }
    }

    private mutating func sendEnded(_ cycle: SendCycle, now: UInt64) {
        let error: CKError? =
            if let failure = cycle.failure {
                failure
            } else if !cycle.failedZones.isEmpty || !cycle.failedRecords.isEmpty {
                CKError.partialFailure(cycle.failedItems)
            } else {
                nil
            }
        let errors = Array(cycle.failedZones.values) + Array(cycle.failedRecords.values)
        // What waits for keys holds nothing else up.
        let passing = errors.filter { $0.isTransient && !$0.concernsKeys }
        let onlyWaitsForKeys = cycle.failure == nil && !errors.isEmpty && errors.allSatisfy(\.concernsKeys)
        if let cause = cycle.failure ?? passing.max(by: { ($0.retryAfterSeconds ?? 0) < ($1.retryAfterSeconds ?? 0) }),
            cause.isTransient
        {
            schedule.sendFailed(cause, now: now)
        } else if let error, !onlyWaitsForKeys {
            if hasUnsent { schedule.sendHadFailures(error, madeProgress: cycle.isProgressMade, now: now) }
        } else if onlyWaitsForKeys || cycle.isProgressMade || heldBatches.isEmpty {
            // A send that has only begun uploads does not show that the server can be reached.
            schedule.sendSucceeded()
        }
        if !hasUnsent { schedule.sendBegan() }
        if hasUnsent, schedule.sendDue == nil {
            if cycle.isAnythingHeldBack {
                schedule.wantSend(now: now)
            } else if cycle.context.options.scope == .all, !cycle.isCut {
                schedule.changesRemained(now: now)
            }
        }
        if cycle.isRelease, cycle.isProgressMade, hasUnsent {
            // A delegate that gave nothing but what waited gives what is behind now.
            schedule.changesAdded()
            schedule.wantSend(now: now)
        }
        let scope = cycle.context.options.scope
        let awaited = cycle.callIDs.isEmpty ? [:] : heldChanges.filter { scope.contains($0.key) }.mapValues(\.change)
        let isForMore = (cycle.isCut || cycle.isGivenAgain) && !cycle.callIDs.isEmpty
        let isDone = awaited.isEmpty && !isForMore
        if error == nil, cycle.isCancelled, cycle.mustAskAgain || !isDone {
            // It was cancelled when nothing was left to be sent but what waits for files.
            finish(cycle.callIDs, .failure(.operationsCancelled))
        } else if error == nil, cycle.mustAskAgain {
            calls.insert(contentsOf: cycle.callIDs.map { ($0, .send(cycle.context.options)) }, at: 0)
        } else if error != nil || isDone {
            if cycle.failure == nil, !awaited.isEmpty { isNextCallAwaited = true }
            finish(cycle.callIDs, error.map { .failure($0) } ?? .success(()))
        } else {
            waitingSends.append(
                WaitingSend(
                    callIDs: cycle.callIDs, options: cycle.context.options, awaited: awaited, isCut: cycle.isCut,
                    isGivenAgain: cycle.isGivenAgain))
        }
        // What else could be sent is tried again with the rest.
        if cycle.isRelease, cycle.failure != nil, !heldBatches.isEmpty, uploadsDue == nil {
            // ``releaseDue`` adds for how long the server has asked to wait, where and while that counts.
            uploadsDue = now + Self.releaseDelay
        }
        // Others have their turn between two releases.
        if cycle.isRelease, !runningUploads.isEmpty, let due = uploadsDue {
            uploadsDue = max(due, now + Self.releaseDelay)
        }
        uploadsSettled(now: now)
    }

    // MARK: Zones

    /// The changes to zones that the cycle has yet to send: those that failed in it, or were done, wait for the next
    /// one.
    private func unsentZoneChanges(_ cycle: SendCycle) -> [CKSyncEngine.PendingDatabaseChange] {
        state.zoneChanges.changes.filter {
            cycle.context.options.scope.containsZone($0.zoneID) && cycle.failedZones[$0.zoneID] == nil
                && !cycle.doneZoneChanges.contains($0)
        }
    }

    private mutating func sendZones(_ changes: [CKSyncEngine.PendingDatabaseChange]) {
        var saves: [CKRecordZone] = []
        var deletions: [CKRecordZone.ID] = []
        for change in changes {
            switch change {
            case .saveZone(let zone): saves.append(zone)
            case .deleteZone(let id): deletions.append(id)
            }
            state.zoneChanges.remove(change.zoneID)
        }
        state.sentZoneChanges = changes
        sendCycle!.zoneChanges = changes
        removedZonesInFlight = []
        request(.modifyZones(saving: saves, deleting: deletions))
    }

    mutating func zonesModified(_ result: Result<SyncEngineAnswer.ZoneResults, CKError>, now: UInt64) {
        guard let cycle = sendCycle else { preconditionFailure("zones were modified that no send asked for") }
        var savedZones: [CKRecordZone] = []
        var failedSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = []
        var deletedIDs: [CKRecordZone.ID] = []
        var failedDeletes: [CKRecordZone.ID: CKError] = [:]
        var returned: [CKSyncEngine.PendingDatabaseChange] = []
        var endsPass = false
        func failed(_ change: CKSyncEngine.PendingDatabaseChange, _ error: CKError) {
            if error.isTransient, !removedZonesInFlight.contains(change.zoneID) {
                returned.append(change)
                // A zone that waits for keys holds no other one up.
                if !error.concernsKeys { endsPass = true }
            }
            if case .success = result { sendCycle!.failedZones[change.zoneID] = error }
        }
        if case .failure(let error) = result { sendCycle!.failure = error }
        for change in cycle.zoneChanges {
            switch change {
            case .saveZone(let zone):
                switch result.flatMap({ $0.saves[zone.zoneID] ?? .failure(.missingResult) }) {
                case .success(let saved):
                    savedZones.append(saved)
                    sendCycle!.zoneChangeDone(change)
                    if state.zoneTokens[zone.zoneID] == nil { state.zoneTokens[zone.zoneID] = saved.firstFetchToken }
                case .failure(let error):
                    failedSaves.append(.init(zone: zone, error: error))
                    failed(change, error)
                }
            case .deleteZone(let id):
                switch result.flatMap({ $0.deletions[id] ?? .failure(.missingResult) }) {
                case .success:
                    deletedIDs.append(id)
                    sendCycle!.zoneChangeDone(change)
                    dropRecordChanges(ofDeletedZone: id, now: now)
                    state.zoneTokens[id] = nil
                    state.unfetchedZones.remove(id)
                    state.ownDeletedZones.insert(id)
                case .failure(let error):
                    failedDeletes[id] = error
                    failed(change, error)
                }
            }
        }
        returnToPending(returned)
        sendCycle!.isProgressMade = cycle.isProgressMade || !savedZones.isEmpty || !deletedIDs.isEmpty
        if sendCycle!.failure != nil || endsPass { sendCycle!.phase = .end }
        tell(
            .sentDatabaseChanges(
                .init(
                    savedZones: savedZones, failedZoneSaves: failedSaves, deletedZoneIDs: deletedIDs,
                    failedZoneDeletes: failedDeletes)),
            .zonesSent)
        markDirty(now: now)
    }

    private mutating func returnToPending(_ changes: [CKSyncEngine.PendingDatabaseChange]) {
        state.zoneChanges.putBack(changes.map { ($0.zoneID, $0) }, stamp: additions)
        let returned = Set(changes.map(\.zoneID))
        state.sentZoneChanges.removeAll { returned.contains($0.zoneID) }
    }

    // MARK: Records

    /// The delegate gave a batch. What is in it leaves the pending changes, but for what was added since it was asked
    /// for: the delegate may have read the record before that.
    mutating func batchProvided(_ provided: CKSyncEngine.RecordZoneChangeBatch?, now: UInt64) {
        guard let cycle = sendCycle else { preconditionFailure("a batch came that no send asked for") }
        let scope = cycle.context.options.scope
        var batch = provided
        // What is not in the scope is not sent, and stays as it is.
        batch?.recordsToSave.removeAll { !scope.contains($0.recordID) }
        batch?.recordIDsToDelete.removeAll { !scope.contains($0) }
        if cycle.isCancelled { batch = nil }
        guard let batch, batch.itemCount > 0 else {
            if provided == nil, scope == .all, !cycle.isCancelled, state.hasUntrackedChanges,
                untrackedAddition <= cycle.additionsAtQuestion, heldChanges.values.allSatisfy(\.isTracked)
            {
                state.hasUntrackedChanges = false
                markDirty(now: now)
            }
            // Zones that the delegate added when it was asked are sent all the same.
            sendCycle!.phase = unsentZoneChanges(cycle).isEmpty ? .end : .zones
            return
        }
        let zones = Set(batch.recordsToSave.map(\.recordID.zoneID) + batch.recordIDsToDelete.map(\.zoneID))
        let isZoneMissing = unsentZoneChanges(cycle).contains {
            if case .saveZone(let zone) = $0 { zones.contains(zone.zoneID) } else { false }
        }
        if isZoneMissing {
            sendCycle!.heldBatch = (batch, cycle.additionsAtQuestion)
            sendCycle!.phase = .zones
            return
        }
        sendOnceFollowed(batch, now: now)
    }

    /// Sends a batch when the engine has a token of each of its zones. Records that are saved in a zone that was never
    /// fetched may be deleted by another device before it is, and a fetch without a token tells of no deletion.
    private mutating func sendOnceFollowed(_ batch: CKSyncEngine.RecordZoneChangeBatch, now: UInt64) {
        guard let cycle = sendCycle else { preconditionFailure("a batch is sent that no send asked for") }
        let unfollowed = Set(batch.recordsToSave.map(\.recordID.zoneID))
            .filter { state.zoneTokens[$0] == nil && !$0.isDefault && !cycle.askedZones.contains($0) }
            .sorted { $0.zoneName < $1.zoneName }.prefix(Limits.itemsPerRequest)
        if unfollowed.isEmpty { return sendOnceLookedForFiles(batch, now: now) }
        sendCycle!.heldBatch = (batch, cycle.additionsAtQuestion)
        sendCycle!.askedZones.formUnion(unfollowed)
        request(.firstFetchTokens(Array(unfollowed)))
    }

    /// Sends of a batch what does not wait for files.
    private mutating func sendOnceLookedForFiles(_ batch: CKSyncEngine.RecordZoneChangeBatch, now: UInt64) {
        guard let cycle = sendCycle else { preconditionFailure("a batch is sent that no send asked for") }
        if cycle.files == nil, batch.mayHoldFiles {
            sendCycle!.heldBatch = (batch, cycle.additionsAtQuestion)
            return request(.assetFiles(batch))
        }
        sendCycle!.files = nil
        guard let ready = holdingBack(batch, files: cycle.files ?? [:], now: now) else { return }
        send(ready, now: now)
    }

    /// A zone that is missing has no token, and the save says so. Where tokens can't be had the records are not sent.
    mutating func firstFetchTokensFetched(
        _ result: Result<[CKRecordZone.ID: CKServerChangeToken], CKError>, now: UInt64
    ) {
        switch result {
        case .success(let tokens):
            for (zoneID, token) in tokens where state.zoneTokens[zoneID] == nil { state.zoneTokens[zoneID] = token }
            markDirty(now: now)
        case .failure(let error):
            sendCycle?.failure = error
            sendCycle?.phase = .end
        }
    }

    private mutating func send(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, failing failures: [CKRecord.ID: CKError] = [:], now: UInt64
    ) {
        guard let cycle = sendCycle else { preconditionFailure("a batch is sent that no send asked for") }
        var tracked: [CKSyncEngine.PendingRecordZoneChange] = []
        for change in batch.changes {
            let id = change.recordID
            guard state.recordChanges[id] == change, let stamp = state.recordChanges.stamp(id) else { continue }
            tracked.append(change)
            if stamp <= cycle.additionsAtQuestion { state.recordChanges.remove(id) }
        }
        state.sentRecordChanges = tracked
        removedInFlight = []
        sendCycle!.trackedIDs = Set(tracked.map(\.recordID))
        sendCycle!.batch = batch
        sendCycle!.batchFailures = failures
        markDirty(now: now)
        let sent = failures.isEmpty ? batch : batch.filtered { failures[$0] == nil }
        if sent.itemCount > 0 {
            request(.modifyRecords(sent))
        } else {
            recordsModified(.success(.init(saves: [:], deletions: [:])), now: now)
        }
    }

    mutating func recordsModified(_ result: Result<SyncEngineAnswer.RecordResults, CKError>, now: UInt64) {
        guard let cycle = sendCycle, let batch = cycle.batch else {
            preconditionFailure("records were modified that no send asked for")
        }
        var savedRecords: [CKRecord] = []
        var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
        var deletedIDs: [CKRecord.ID] = []
        var failedDeletes: [CKRecord.ID: CKError] = [:]
        var returned: [CKSyncEngine.PendingRecordZoneChange] = []
        /// Those that wait for keys stand behind all others.
        var waiting: [CKSyncEngine.PendingRecordZoneChange] = []
        var edited: [CKRecord.ID] = []
        var retriedSaves: [CKRecord.ID] = []
        func failed(_ change: CKSyncEngine.PendingRecordZoneChange, _ error: CKError) {
            let isWhole = if case .failure = result { cycle.batchFailures[change.recordID] == nil } else { false }
            if !isWhole { sendCycle!.failedRecords[change.recordID] = error }
            failWaitingSends(change.recordID, error, isWhole: isWhole)
            guard error.isTransient, !removedInFlight.contains(change.recordID) else { return }
            if cycle.trackedIDs.contains(change.recordID) {
                if error.concernsKeys { waiting.append(change) } else { returned.append(change) }
            } else {
                state.hasUntrackedChanges = true
            }
        }
        if case .failure(let error) = result { sendCycle!.failure = error }
        let behindKeys = (try? result.get()).map { noteKeyWaits(in: batch, $0) } ?? [:]
        for record in batch.recordsToSave {
            let failure = cycle.batchFailures[record.recordID].map { Result<CKRecord, CKError>.failure($0) }
            switch failure ?? result.flatMap({ $0.saves[record.recordID] ?? .failure(.missingResult) }) {
            case .success(let saved):
                savedRecords.append(saved)
                sentForWaitingSends(record.recordID)
                uploadUsed(record.recordID, error: nil)
                // The instance was edited while it was on its way, so that it is not yet what the server has.
                if record.isEdited { edited.append(record.recordID) }
            case .failure(let error):
                let error = behindKeys[record.recordID] ?? error
                failedSaves.append(.init(record: record, error: error))
                failed(.saveRecord(record.recordID), error)
                uploadUsed(record.recordID, error: error)
                if error.isTransient { retriedSaves.append(record.recordID) }
            }
        }
        for id in batch.recordIDsToDelete {
            let failure = cycle.batchFailures[id].map { Result<Void, CKError>.failure($0) }
            switch failure ?? result.flatMap({ $0.deletions[id] ?? .failure(.missingResult) }) {
            case .success:
                deletedIDs.append(id)
                sentForWaitingSends(id)
            case .failure(let error):
                let error = behindKeys[id] ?? error
                failedDeletes[id] = error
                failed(.deleteRecord(id), error)
            }
        }
        state.recordChanges.putBack(returned.map { ($0.recordID, $0) }, stamp: additions)
        for change in waiting where !state.recordChanges.contains(change.recordID) {
            state.recordChanges.add(change, id: change.recordID, stamp: additions)
        }
        let returnedIDs = Set((returned + waiting).map(\.recordID))
        state.sentRecordChanges.removeAll { returnedIDs.contains($0.recordID) }
        for id in edited where !state.recordChanges.contains(id) && !removedInFlight.contains(id) {
            additions += 1
            state.recordChanges.add(.saveRecord(id), id: id, stamp: additions, now: now)
            schedule.wantSend(now: now)
        }
        dropDependents(of: retriedSaves, in: batch, now: now)
        sendCycle!.batch = nil
        sendCycle!.isProgressMade = cycle.isProgressMade || !savedRecords.isEmpty || !deletedIDs.isEmpty
        // A pass ends with its first failures: what the delegate mends is for the next one.
        if !failedSaves.isEmpty || !failedDeletes.isEmpty, !cycle.isRelease || sendCycle!.failure != nil {
            sendCycle!.phase = .end
        }
        tell(
            .sentRecordZoneChanges(
                .init(
                    savedRecords: savedRecords, failedRecordSaves: failedSaves, deletedRecordIDs: deletedIDs,
                    failedRecordDeletes: failedDeletes)),
            .recordsSent)
        markDirty(now: now)
    }
}

extension CKError {
    static var missingResult: CKError { .malformedResponse("it lacks the result of an item") }
}

extension CKRecord {
    /// Whether something was set since the last fetch or save.
    fileprivate var isEdited: Bool {
        let state = snapshot
        return !state.edits.isEmpty || !state.encrypted.edits.isEmpty || state.parentEdit != nil
            || (self as? CKShare)?.details.current.isEdited == true
    }
}
