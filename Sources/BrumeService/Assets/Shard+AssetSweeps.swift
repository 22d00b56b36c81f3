internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Assets that no record names any more: they are released when that is durable, and their files are removed when
/// nobody has needed them for long.
extension Shard {
    /// Releases what commits up to a sequence, which are durable, have replaced and removed: some now, the rest in
    /// later turns.
    func releaseAssets(of loaded: LoadedDatabase, upTo sequence: UInt64) {
        if loaded.isLost { return }
        guard loaded.database.releaseAssets(upTo: sequence, now: nowSeconds, limit: ServiceLimits.assetsReleasedPerTurn)
        else { return }
        let next = OnLoop<Void> { [self] in
            loaded.slicedWorkCount -= 1
            releaseAssets(of: loaded, upTo: sequence)
        }
        loaded.slicedWorkCount += 1
        loop.execute { next.body(()) }
    }

    /// Looks from time to time for assets that nothing needs.
    func sweepAssetsLater() {
        guard server.blobs != nil else { return }
        _ = loop.schedule(afterMilliseconds: ServiceLimits.assetSweepMilliseconds) { [unowned self] in
            databases.forEach { sweepAssets(of: $0) }
            sweepAssetsLater()
        }
    }

    /// Removes the files of what nothing needs. A database stays in memory until they are removed: it has marked them,
    /// and what comes from the disk again would know nothing of that.
    private func sweepAssets(of loaded: LoadedDatabase) {
        guard let store = server.blobs else { return }
        let unneeded = loaded.database.blobs.takeUnneeded(now: nowSeconds, limit: ServiceLimits.assetsSweptPerTurn)
        let names = unneeded + loaded.unremovedBlobs
        if names.isEmpty { return }
        loaded.unremovedBlobs = []
        loaded.slicedWorkCount += 1
        let done = OnLoop<[BlobName]> { [self] failed in
            loaded.slicedWorkCount -= 1
            let failed = Set(failed)
            for name in names where !failed.contains(name) { loaded.database.blobs.removed(name) }
            if failed.isEmpty { return }
            server.log.warning(
                "files of assets can't be removed; they are tried again", [("files", String(failed.count))])
            loaded.unremovedBlobs += names.filter { failed.contains($0) }
        }
        let loop = loop
        store.remove(names, of: loaded.database.id) { failed in
            loop.execute { done.body(failed) }
        }
    }
}
