internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Assets that no record names any more: they are released when that is durable, and their files are removed when
/// nobody has needed them for long.
extension Shard {
    /// Releases what commits up to a sequence, which are durable, have replaced and removed: some now, the rest in
    /// later turns.
    func releaseAssets(of loaded: LoadedDatabase, upTo sequence: UInt64) {
        loaded.releasableSequence = max(loaded.releasableSequence, sequence)
        if !loaded.isReleasing { releaseSome(of: loaded) }
    }

    private func releaseSome(of loaded: LoadedDatabase) {
        if loaded.isLost { return }
        let limit = ServiceLimits.assetsReleasedPerTurn
        let isMore = loaded.database.releaseAssets(upTo: loaded.releasableSequence, now: nowSeconds, limit: limit)
        loaded.noteUse()
        databases.measure(loaded)
        if !isMore { return }
        let next = OnLoop<Void> { [self] in
            loaded.slicedWorkCount -= 1
            loaded.isReleasing = false
            releaseSome(of: loaded)
        }
        loaded.slicedWorkCount += 1
        loaded.isReleasing = true
        loop.execute { next.body(()) }
    }

    /// Looks from time to time for assets that nothing needs.
    func sweepAssetsLater() {
        guard server.blobs != nil else { return }
        _ = loop.schedule(afterMilliseconds: server.configuration.assetSweepMilliseconds) { [unowned self] in
            visitDueDatabases()
            sweepAssets(of: databaseIDs[...])
        }
    }

    /// Looks for them in some of the databases that were in memory, and in the others in later turns.
    private func sweepAssets(of ids: ArraySlice<DatabaseID>) {
        for id in ids.prefix(ServiceLimits.databasesSweptPerTurn) {
            guard let loaded = databases.known(id) else { continue }
            sweepAssets(of: loaded) { _, _ in }
        }
        let rest = ids.dropFirst(ServiceLimits.databasesSweptPerTurn)
        if rest.isEmpty { return endSweep() }
        let next = OnLoop<Void> { [self] in sweepAssets(of: rest) }
        loop.execute { next.body(()) }
    }

    private func endSweep() {
        sweepAssetsLater()
        // The store is all loops'. A pass may take longer than it is until the next one.
        guard index == 0, let store = server.blobs, !forgetsOldUploads else { return }
        forgetsOldUploads = true
        let ended = OnLoop<Void> { [self] in forgetsOldUploads = false }
        store.forgetOldUploads { [loop] in loop.execute { ended.body(()) } }
    }

    /// Visits the databases that are not in memory and of which something is due, one after the other.
    private func visitDueDatabases() {
        guard let store = server.blobs, !visitsDueAssets else { return }
        visitsDueAssets = true
        visitNextDue(in: store)
    }

    private func visitNextDue(in store: any BlobStore) {
        guard let (id, looksThroughFolder) = departedAssets.takeDue(at: nowSeconds) else {
            return visitsDueAssets = false
        }
        AssetVisit.begin(to: id, on: self, in: store, looksThroughFolder: looksThroughFolder) { [self] isWhole in
            if !isWhole {
                let (later, isNever) = nowSeconds.addingReportingOverflow(ServiceLimits.assetVisitRetrySeconds)
                departedAssets.putOff(id, until: isNever ? .max : later)
            }
            _ = loop.schedule(afterMilliseconds: ServiceLimits.assetVisitPauseMilliseconds) { [unowned self] in
                visitNextDue(in: store)
            }
        }
    }

    /// Removes the files of what nothing needs, as much as one sweep takes. A database stays in memory until they are
    /// removed: it has marked them, and what comes from the disk again would know nothing of that.
    func sweepAssets(
        of loaded: LoadedDatabase, then done: @escaping (_ removedCount: Int, _ failedCount: Int) -> Void
    ) {
        guard let store = server.blobs else { return done(0, 0) }
        let unneeded = loaded.database.blobs.takeUnneeded(now: nowSeconds, limit: ServiceLimits.assetsSweptPerTurn)
        let names = unneeded + loaded.unremovedBlobs
        if names.isEmpty { return done(0, 0) }
        loaded.unremovedBlobs = []
        loaded.removalBegan()
        let ended = OnLoop<[BlobName]> { [self] failed in
            removed(names, but: Set(failed), of: loaded)
            loaded.removalEnded()
            done(names.count - failed.count, failed.count)
            // Nothing may have been there but uploads.
            if failed.isEmpty { databases.dropIfEmpty(loaded) }
        }
        let loop = loop
        store.remove(names, of: loaded.database.id) { failed in
            loop.execute { ended.body(failed) }
        }
    }

    private func removed(_ names: [BlobName], but failed: Set<BlobName>, of loaded: LoadedDatabase) {
        for name in names where !failed.contains(name) {
            loaded.database.blobs.removed(name)
            loaded.removedMeanwhile?.insert(name)
        }
        figures.assets.removedFiles += UInt64(names.count - failed.count)
        loaded.noteUse()
        databases.measure(loaded)
        if failed.isEmpty { return }
        server.log.warning("files of assets can't be removed; they are tried again", [("files", String(failed.count))])
        loaded.unremovedBlobs += names.filter { failed.contains($0) }
    }
}
