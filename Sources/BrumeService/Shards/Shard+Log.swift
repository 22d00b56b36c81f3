package import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The shard as its log knows it. On the shard's loop.
extension Shard: CommitLogHost {
    func becameDurable(upTo position: UInt64) {
        let now = loop.nowNanoseconds
        undurable.becameDurable(
            position, isShared: server.diskSharing.isShared(atNanoseconds: now), nowNanoseconds: now)
        gate.open(upTo: position)
        giveTurnsNextTurn()
    }

    func lost(_ id: DatabaseID) {
        if let loaded = databases.known(id) { databases.giveUp(loaded, because: nil) }
    }

    /// Hands what was committed to the log.
    func submit() {
        log.submit()
        undurable.submitted(upTo: appendedPosition)
    }

    /// Why no write of anybody is accepted now, with a time to come back; nil when writes are accepted.
    package var writeRefusal: ServiceError? { log.refusal.map(ServiceError.init) }

    // MARK: Saving

    /// Notes that a database has a commit that is not saved.
    func noteUnsaved(_ loaded: LoadedDatabase) {
        if loaded.isListedAsUnsaved { return }
        loaded.isListedAsUnsaved = true
        unsaved.append(loaded.database.id)
    }

    var databaseIDs: [DatabaseID] {
        var ids: [DatabaseID] = []
        databases.forEach { ids.append($0.database.id) }
        return ids
    }

    func takeUnsaved() -> [DatabaseID] {
        let ids = unsaved
        unsaved = []
        for id in ids { databases.known(id)?.isListedAsUnsaved = false }
        return ids
    }

    func listUnsaved() {
        databases.forEach { if !$0.isSaved { noteUnsaved($0) } }
    }

    func capture(
        _ ids: ArraySlice<DatabaseID>, _ done: @escaping @Sendable (_ captures: [DatabaseCapture], _ taken: Int) -> Void
    ) {
        submit()
        var captures: [(database: LoadedDatabase, capture: DatabaseCapture)] = []
        var taken = 0
        var cost = 0
        for id in ids {
            taken += 1
            if let loaded = databases.known(id), !loaded.isSaved {
                captures.append((loaded, loaded.database.capture()))
                // A capture costs more for each zone; checking a database that needs none costs something too.
                cost += 10 + loaded.database.zoneCount
            } else {
                cost += 1
            }
            if cost >= ServiceLimits.captureCost { break }
        }
        gate.whenDurable(appendedPosition) { [captures, taken] in
            // A capture of a database that was lost meanwhile may hold what will never be durable.
            done(captures.filter { !$0.database.isLost }.map(\.capture), taken)
        }
    }

    func saved(_ id: DatabaseID, upTo sequence: UInt64) {
        guard let loaded = databases.known(id) else { return }
        loaded.savedSequence = max(loaded.savedSequence, sequence)
    }

    func lostSaved(_ id: DatabaseID) -> Bool {
        guard let loaded = databases.known(id), loaded.database.sequence > 0 else { return false }
        loaded.savedSequence = 0
        noteUnsaved(loaded)
        return true
    }
}
