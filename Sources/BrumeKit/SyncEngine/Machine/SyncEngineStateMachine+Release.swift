internal import BrumeModel

/// What was held until its files were on the server, or could not be brought there.
extension SyncEngineStateMachine {
    /// When it is looked at whether something that was held can be sent; sends that the engine makes by itself wait for
    /// as long as the server has asked for. What was cancelled is not sent, and waits for nothing.
    var releaseDue: UInt64? {
        guard let uploadsDue else { return nil }
        if heldBatches.contains(where: { $0.failure != nil }) { return uploadsDue }
        return isAutomatic && waitingSends.isEmpty ? max(uploadsDue, schedule.sendHeldUntil) : uploadsDue
    }

    /// Whether a part of what is held can be sent.
    func isAnythingReleased() -> Bool {
        heldBatches.indices.contains { heldBatches[$0].failure != nil || !readyIDs(at: $0).isEmpty }
    }

    /// Whether a failure is still to be told, which would be a stale one for a call that comes now.
    func isFailureReleased() -> Bool {
        if heldBatches.contains(where: { $0.failure != nil }) { return true }
        guard uploads.values.contains(where: { $0.error != nil }) else { return false }
        return heldBatches.indices.contains { readyIDs(at: $0).contains { uploads[$0]?.error != nil } }
    }

    private func readyIDs(at index: Int) -> Set<CKRecord.ID> {
        let batch = heldBatches[index].batch
        func isUnready(_ id: CKRecord.ID) -> Bool {
            uploads[id]?.isOver == false || sendCycle?.lateUploads.contains(id) == true
        }
        // Most often all of it waits. Deletions alone may wait for nothing any more.
        if batch.recordIDsToDelete.isEmpty, batch.recordsToSave.allSatisfy({ isUnready($0.recordID) }) { return [] }
        let earlier = heldBatches[..<index].map(\.batch)
        let unready = batch.recordsToSave.map(\.recordID).filter(isUnready)
        let waiting = BatchDependencies(batch, behind: earlier)
            .waiting(for: unready + earlier.flatMap { $0.recordsToSave.map(\.recordID) })
        return Set(batch.itemIDs).subtracting(waiting)
    }

    /// The first part of what is held that can be sent.
    mutating func takeReleased(now: UInt64) -> ReleasedBatch? {
        for index in heldBatches.indices {
            let held = heldBatches[index]
            let ready = held.failure == nil ? readyIDs(at: index) : Set(held.batch.itemIDs)
            if ready.isEmpty { continue }
            let batch = held.batch.filtered(ready.contains)
            let failures =
                held.failure.map { error in Dictionary(uniqueKeysWithValues: ready.map { ($0, error) }) }
                ?? failures(of: batch)
            dropHeld(ready, now: now)
            return ReleasedBatch(
                batch: withUploads(batch), additionsAtQuestion: held.additionsAtQuestion, failures: failures)
        }
        return nil
    }

    func withUploads(_ batch: CKSyncEngine.RecordZoneChangeBatch) -> CKSyncEngine.RecordZoneChangeBatch {
        var batch = batch
        for id in batch.recordsToSave.map(\.recordID) { batch.uploads[id] = uploads[id]?.assets }
        return batch
    }

    /// The records of a batch whose files could not be uploaded, and what fails with them: what was to happen at once
    /// with them, and, where they are tried again, what refers to them.
    private func failures(of batch: CKSyncEngine.RecordZoneChangeBatch) -> [CKRecord.ID: CKError] {
        var failures: [CKRecord.ID: CKError] = [:]
        for record in batch.recordsToSave { failures[record.recordID] = uploads[record.recordID]?.error }
        if failures.isEmpty { return [:] }
        let dependencies = BatchDependencies(batch, behind: [])
        for (id, error) in failures {
            let others: any Sequence<CKRecord.ID> =
                error.isTransient
                ? dependencies.waiting(for: [id])
                : batch.itemIDs.filter { $0.zoneID == id.zoneID && batch.isWhole(id.zoneID) }
            let error = error.isTransient ? error : CKError(.batchRequestFailed)
            for other in others where failures[other] == nil { failures[other] = error }
        }
        return failures
    }

    /// Records of a batch are sent later than what is held: what refers to them is asked for again behind them.
    mutating func dropDependents(
        of records: [CKRecord.ID], in batch: CKSyncEngine.RecordZoneChangeBatch, now: UInt64
    ) {
        dropHeld(dependents(of: records, in: batch), now: now)
    }

    /// What is held, and of which the delegate can be asked again, that has to wait for records of a batch.
    func dependents(
        of records: some Collection<CKRecord.ID>, in batch: CKSyncEngine.RecordZoneChangeBatch
    ) -> Set<CKRecord.ID> {
        if records.isEmpty { return [] }
        var ids = Set(records)
        // What waits for it may be waited for in turn.
        var earlier = [batch]
        for held in heldBatches where held.failure == nil {
            let waiting = BatchDependencies(held.batch, behind: earlier).waiting(for: ids)
            if waiting.isEmpty { continue }
            ids.formUnion(waiting)
            earlier.append(held.batch.filtered(waiting.contains))
        }
        return ids.filter { heldChanges[$0]?.isTracked == true }
    }

    // MARK: Calls

    /// A send is over. What is neither pending nor held any more needs none of its files.
    mutating func uploadsSettled(now: UInt64) {
        defer { settleWaitingSends() }
        for id in uploads.keys where heldChanges[id] == nil && state.recordChanges[id] != .saveRecord(id) {
            cancelUpload(id)
        }
        recordsAskedAgain = recordsAskedAgain.filter { state.recordChanges.contains($0) }
        beginUploads()
        if isHeldFull, heldFill <= 0.5 {
            isHeldFull = false
            schedule.wantSend(now: now)
        }
    }

    /// Ends the calls for which nothing is held any more, and those of which something has failed.
    private mutating func settleWaitingSends() {
        for waiting in waitingSends {
            // One that had to stop asking goes on when there is room, and not before: it would only stop again.
            let isOver =
                waiting.isCut
                ? heldFill <= 0.5
                : waiting.awaited.keys.allSatisfy { heldChanges[$0] == nil }
            // What is still pending was given for another call, which left it unsent.
            let isUnsent = waiting.awaited.contains { heldChanges[$0] == nil && state.recordChanges[$0] == $1 }
            guard waiting.error != nil || isOver || isUnsent else { continue }
            // The delegate gives what is behind when what waited is gone, and nothing where there is nothing.
            let isMoreLeft =
                waiting.isGivenAgain
                && (state.hasUntrackedChanges
                    || state.recordChanges.changes.contains { waiting.options.scope.contains($0) })
            if waiting.failure == nil, waiting.error != nil { isNextCallAwaited = true }
            waitingSends.removeAll { $0.callIDs == waiting.callIDs }
            if waiting.error == nil, waiting.isCut || isUnsent || isMoreLeft {
                calls.insert(contentsOf: waiting.callIDs.map { ($0, .send(waiting.options)) }, at: 0)
            } else {
                finish(waiting.callIDs, waiting.error.map { .failure($0) } ?? .success(()))
            }
        }
    }

    /// Something that calls may wait for was sent.
    mutating func sentForWaitingSends(_ id: CKRecord.ID) {
        for index in waitingSends.indices { waitingSends[index].awaited[id] = nil }
    }

    /// Something that calls may wait for has failed.
    mutating func failWaitingSends(_ id: CKRecord.ID, _ error: CKError, isWhole: Bool) {
        for index in waitingSends.indices where waitingSends[index].awaited[id] != nil {
            if isWhole { waitingSends[index].failure = error } else { waitingSends[index].failedRecords[id] = error }
        }
    }

    /// An engine that does nothing by itself, and for which nobody waits, uploads nothing, except after failures: the
    /// call ended with the first ones, and the app makes another one for what still waits.
    mutating func abandonHeld(now: UInt64) {
        guard !isAutomatic, !isNextCallAwaited, waitingSends.isEmpty, calls.isEmpty else { return }
        guard heldBatches.contains(where: { $0.failure == nil }) else { return }
        cancelHeld(.sendAbandoned, now: now)
    }
}

extension CKError {
    fileprivate static var sendAbandoned: CKError {
        CKError(.operationCancelled, message: "nobody waits for the send any more; call sendChanges() again")
    }
}
