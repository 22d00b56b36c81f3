internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Keeps the databases within the server's memory budget: those that nobody uses and that are saved are
/// dropped, least recently used first, and loaded again when they are used.
///
/// The budget counts roughly what records, names, look-ups, feeds and the events kept for devices take, over all
/// loops. Databases with a client or a stream stay in memory, so the sum may exceed the budget; the log says so.
extension DatabaseCache {
    /// Counts what the database takes. Called after it was loaded, and after each commit.
    func measure(_ loaded: LoadedDatabase) {
        guard limits.memoryBudgetBytes > 0 else { return databases.noteUnmeasured(loaded) }
        // Measuring costs time for each zone, so a database with many zones is not measured at every commit.
        let zones = loaded.database.zoneCount
        if zones > 64, loaded.entry.bytes > 0, loaded.database.sequence % UInt64(zones / 64 + 1) != 0 { return }
        count(databases.measure(loaded))
    }

    /// Counts the events that the database keeps for devices. Called whenever some were published.
    func measureBacklog(_ loaded: LoadedDatabase) {
        guard limits.memoryBudgetBytes > 0 else { return }
        count(databases.measureBacklog(loaded))
    }

    private func count(_ growth: Int) {
        memory.add(growth)
        if growth > 0 { mayDrop = true }
    }

    /// At the end of a turn, when nothing holds a database: drops some if there are too many.
    func dropIdleDatabases() {
        let budget = limits.memoryBudgetBytes
        guard mayDrop, budget > 0 else { return }
        mayDrop = false
        // Each loop drops its part of the excess.
        let total = memory.bytes
        guard total > budget, databases.bytes > 0 else { return }
        var excess = Int(Double(total - budget) * (Double(databases.bytes) / Double(max(total, databases.bytes)))) + 1
        let canSave = !isSavingToDrop && loop.nowNanoseconds >= nextSaveToDropNanoseconds
        var unsaved: [DatabaseID] = []
        var dropped = 0
        // To note what nothing needs of it takes longer than all else.
        var noted = 0
        for loaded in databases.leastRecentlyUsed(ServiceLimits.dropScan) {
            if excess <= 0 || noted > ServiceLimits.departedBlobsNotedPerTurn { break }
            if loaded.isInUse {
                databases.use(loaded)
            } else if !loaded.isSaved || loaded.lastPosition > source.log.durablePosition {
                if canSave, unsaved.count < ServiceLimits.dropSnapshots {
                    unsaved.append(loaded.database.id)
                    excess -= loaded.entry.bytes
                }
            } else {
                excess -= loaded.entry.bytes
                noted += loaded.database.blobs.unneededCount
                drop(loaded)
                dropped += 1
            }
        }
        if dropped > 0 {
            mayDrop = true
            log.debug("databases dropped from memory", [("count", String(dropped))])
        }
        if !unsaved.isEmpty {
            saveToDrop(unsaved)
        } else if dropped == 0, canSave, loop.nowNanoseconds >= nextBudgetWarningNanoseconds {
            nextBudgetWarningNanoseconds = loop.nowNanoseconds + ServiceLimits.budgetWarningNanoseconds
            log.warning(
                "databases in use take more than the memory budget",
                [("bytes", String(total)), ("budget", String(budget))])
        }
    }

    /// Drops a database without a commit, so that a client that opens any number of containers does not fill the
    /// memory.
    func dropIfEmpty(_ loaded: LoadedDatabase) {
        guard loaded.database.sequence == 0, !loaded.isInUse, databases.known(loaded.database.id) === loaded else {
            return
        }
        drop(loaded)
    }

    /// Drops a database that came into memory for no client, unless somebody uses it by now, or it is not saved.
    func letGo(_ loaded: LoadedDatabase) {
        guard databases.known(loaded.database.id) === loaded, !loaded.isInUse, loaded.isSaved,
            loaded.lastPosition <= source.log.durablePosition
        else { return dropIfEmpty(loaded) }
        drop(loaded)
    }

    /// Drops a database at once, although it may be in use: what is in memory is no longer what the log has. It is
    /// opened again when somebody asks for it.
    ///
    /// - Parameter refusal: Why the log has not taken a commit; nil when it has lost the database by itself.
    func giveUp(_ loaded: LoadedDatabase, because refusal: CommitLogRefusal?) {
        if loaded.isLost { return }
        loaded.markLost()
        let id = loaded.database.id
        log.warning(
            refusal == nil
                ? "a database is opened anew: another owner has taken it"
                : "a database is opened anew: the log did not take its last commit",
            [("container", id.container)] + (refusal.map { [("refusal", "\($0)")] } ?? []))
        load(of: id)?.lost(.databaseLost)
        if databases.known(id) === loaded { drop(loaded) }
        host.databaseLost(loaded)
    }

    private func drop(_ loaded: LoadedDatabase) {
        if limits.memoryBudgetBytes > 0 { memory.add(-loaded.entry.bytes) }
        dropCount += 1
        databases.remove(loaded)
        if let storage = loaded.storage {
            // Uploads to a database that was lost are not known any more.
            storage.changed(to: loaded.database.quotaBytes)
            ledger.dropped(loaded.database.id)
        }
        source.log.close(loaded.database.id)
        host.databaseLeaves(loaded)
    }

    /// Has databases saved whose last commits are not, so that ``dropIdleDatabases()`` can drop them later.
    private func saveToDrop(_ ids: [DatabaseID]) {
        isSavingToDrop = true
        source.log.save(ids) { [self] isSaved in
            isSavingToDrop = false
            mayDrop = true
            if !isSaved { nextSaveToDropNanoseconds = loop.nowNanoseconds + ServiceLimits.dropPauseNanoseconds }
        }
    }
}
