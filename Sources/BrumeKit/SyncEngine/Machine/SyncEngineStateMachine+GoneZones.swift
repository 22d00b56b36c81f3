/// Zones that are deleted, here or elsewhere, and what was to be sent to them.
extension SyncEngineStateMachine {
    /// The zones that the device knows and that a fetch from the start did not come across; none before its last page.
    func zonesMissing(behind page: SyncEngineAnswer.DatabasePage) -> [CKRecordZone.ID] {
        if page.moreComing { return [] }
        let seen = Set(page.modifications.map(\.zoneID))
        return state.unconfirmedZones.list.filter { state.zoneTokens[$0] != nil && !seen.contains($0) }
    }

    /// An app deletes its copy of what was deleted, and uploads it again where the encrypted data were reset: it is
    /// told nothing before the server has said which it was.
    mutating func deletionReasonsFetched(
        _ result: Result<[CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason], CKError>, now: UInt64
    ) {
        guard let page = fetchCycle?.lastPage.take() else {
            preconditionFailure("reasons came that no fetch asked for")
        }
        switch result {
        case .success(let reasons):
            fetchCycle!.deletionReasons = reasons
            databaseChangesFetched(.success(page), now: now)
        case .failure(let error): databaseChangesFetched(.failure(error), now: now)
        }
    }

    /// Deletions of zones that the device knows and that a fetch from the start, which ends here, did not come across.
    mutating func missingZones(now: UInt64) -> [CKDatabase.DatabaseChange.Deletion] {
        let zoneIDs = state.unconfirmedZones.list.filter { state.zoneTokens[$0] != nil }
        state.unconfirmedZones = UniqueZones()
        for zoneID in zoneIDs { zoneIsGone(zoneID, now: now) }
        let reasons = fetchCycle?.deletionReasons.take() ?? [:]
        return zoneIDs.map { .init(zoneID: $0, reason: reasons[$0] ?? .deleted) }
    }

    /// A zone is gone on the server. Its deletion by this device comes back as well: what was to be sent before that is
    /// gone already, and what was added since is for the zone that takes its place.
    mutating func zoneDeletionFetched(_ zoneID: CKRecordZone.ID, now: UInt64) {
        if state.ownDeletedZones.contains(zoneID) {
            state.ownDeletedZones.remove(zoneID)
            state.zoneTokens[zoneID] = nil
            state.unfetchedZones.remove(zoneID)
        } else {
            zoneIsGone(zoneID, now: now)
        }
    }

    /// Forgets a zone that is gone, with what was to be sent to it. What the delegate adds on hearing of it stays.
    mutating func zoneIsGone(_ zoneID: CKRecordZone.ID, now: UInt64) {
        dropRecordChanges(in: zoneID)
        dropHeldChanges(in: zoneID, now: now)
        state.zoneChanges.remove(zoneID)
        state.zoneTokens[zoneID] = nil
        state.unfetchedZones.remove(zoneID)
    }

    /// Drops what was to be sent to a zone.
    mutating func dropRecordChanges(in zoneID: CKRecordZone.ID) {
        state.recordsForNextZone = state.recordsForNextZone.filter { $0.zoneID != zoneID }
        for change in state.recordChanges.changes where change.recordID.zoneID == zoneID {
            state.recordChanges.remove(change.recordID)
        }
    }

    /// Drops what was to be sent to a zone that this device has deleted, but what was added behind the deletion.
    mutating func dropRecordChanges(ofDeletedZone zoneID: CKRecordZone.ID, now: UInt64) {
        dropHeldChanges(in: zoneID, now: now)
        for change in state.recordChanges.changes where change.recordID.zoneID == zoneID {
            if state.recordsForNextZone.remove(change.recordID) == nil { state.recordChanges.remove(change.recordID) }
        }
    }
}
