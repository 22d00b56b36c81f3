/// What the app says is to be sent.
extension SyncEngineStateMachine {
    /// Adds changes to records. Says whether the state is another one now.
    package mutating func add(_ changes: [CKSyncEngine.PendingRecordZoneChange], now: UInt64) -> Bool {
        additions += 1
        var isChanged = false
        for change in changes {
            let isNew = state.recordChanges.add(change, id: change.recordID, stamp: additions, now: now)
            if state.isDeleting(change.recordID.zoneID) { state.recordsForNextZone.insert(change.recordID) }
            dropHeldChange(change.recordID, now: now)
            isChanged = isNew || isChanged
        }
        return changesAdded(!changes.isEmpty, isChanged, now: now)
    }

    /// Removes changes to records, also from what is in flight, in so far as it does not come back.
    package mutating func remove(_ changes: [CKSyncEngine.PendingRecordZoneChange], now: UInt64) -> Bool {
        var isChanged = false
        var removed: Set<CKSyncEngine.PendingRecordZoneChange> = []
        for change in changes {
            if state.recordChanges[change.recordID] == change {
                removed.insert(change)
                state.recordChanges.remove(change.recordID)
                dropHeldChange(change.recordID, now: now)
                isChanged = true
            }
            if state.sentRecordChanges.contains(change) {
                state.sentRecordChanges.removeAll { $0 == change }
                removedInFlight.insert(change.recordID)
                isChanged = true
            }
        }
        // What the delegate gave of them is not on its way yet.
        sendCycle?.heldBatch?.batch.recordsToSave.removeAll { removed.contains(.saveRecord($0.recordID)) }
        sendCycle?.heldBatch?.batch.recordIDsToDelete.removeAll { removed.contains(.deleteRecord($0)) }
        if isChanged { markDirty(now: now) }
        return isChanged
    }

    /// Adds changes to zones. Says whether the state is another one now.
    package mutating func add(_ changes: [CKSyncEngine.PendingDatabaseChange], now: UInt64) -> Bool {
        additions += 1
        var isChanged = false
        for change in changes {
            let isNew = state.zoneChanges.add(change, id: change.zoneID, stamp: additions)
            if case .deleteZone(let id) = change {
                state.recordsForNextZone = state.recordsForNextZone.filter { $0.zoneID != id }
            }
            isChanged = isNew || isChanged
        }
        return changesAdded(!changes.isEmpty, isChanged, now: now)
    }

    /// Removes changes to zones, also from what is in flight, in so far as it does not come back.
    package mutating func remove(_ changes: [CKSyncEngine.PendingDatabaseChange], now: UInt64) -> Bool {
        var isChanged = false
        for change in changes {
            if state.zoneChanges[change.zoneID] == change {
                state.zoneChanges.remove(change.zoneID)
                isChanged = true
            }
            if state.sentZoneChanges.contains(change) {
                state.sentZoneChanges.removeAll { $0 == change }
                removedZonesInFlight.insert(change.zoneID)
                isChanged = true
            }
        }
        if isChanged { markDirty(now: now) }
        return isChanged
    }

    /// The app has changes to send that it keeps itself, or has none any more.
    package mutating func setHasUntrackedChanges(_ value: Bool, now: UInt64) -> Bool {
        additions += 1
        if value { untrackedAddition = additions }
        let isChanged = state.hasUntrackedChanges != value
        state.hasUntrackedChanges = value
        return changesAdded(value, isChanged, now: now)
    }

    /// Whether a change is left out of the batch that the delegate makes: in a scheduled send one that was added a
    /// moment ago, as the app's transaction that wrote its record may not have been committed. It waits for the next
    /// send, which comes by itself. And one that was given and waits for files, unless it was added again since.
    mutating func holdsBack(_ change: CKSyncEngine.PendingRecordZoneChange, now: UInt64) -> Bool {
        guard case .question(.batch) = step else { return false }
        if waitsForFiles(change) { return true }
        guard sendCycle?.context.reason == .scheduled,
            let times = state.recordChanges.times(change.recordID),
            schedule.settled(added: times.first, last: times.last) > now
        else { return false }
        sendCycle!.isAnythingHeldBack = true
        return true
    }

    private mutating func changesAdded(_ isAnythingWanted: Bool, _ isChanged: Bool, now: UInt64) -> Bool {
        if isAnythingWanted {
            schedule.wantSend(now: now)
            schedule.changesAdded()
        }
        if isChanged { markDirty(now: now) }
        return isChanged
    }
}
