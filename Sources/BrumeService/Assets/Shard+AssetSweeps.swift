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
            sweepAssets(of: databaseIDs[...])
        }
    }

    /// Looks for them in some of the databases that were in memory, and in the others in later turns.
    private func sweepAssets(of ids: ArraySlice<DatabaseID>) {
        for id in ids.prefix(ServiceLimits.databasesSweptPerTurn) {
            guard let loaded = databases.known(id) else { continue }
            sweepAssets(of: loaded)
            lookThroughFolder(of: loaded)
        }
        let rest = ids.dropFirst(ServiceLimits.databasesSweptPerTurn)
        if rest.isEmpty { return sweepAssetsLater() }
        let next = OnLoop<Void> { [self] in sweepAssets(of: rest) }
        loop.execute { next.body(()) }
    }

    /// Looks through one of the folders of a database's assets for files that nobody knows, once since it was loaded:
    /// what was uploaded before, and never named. A server that takes no assets has none of that.
    private func lookThroughFolder(of loaded: LoadedDatabase) {
        guard let store = server.blobs, server.configuration.assetLimitBytes > 0, loaded.nextBlobFolder < 256 else {
            return
        }
        let bucket = UInt8(loaded.nextBlobFolder)
        let removedCount = loaded.removedBlobCount
        loaded.nextBlobFolder += 1
        // The database may leave the memory meanwhile: then nobody needs to know.
        let done = OnLoop<Result<[BlobName: UInt64], BlobFailure>> { [self] result in
            guard case .success(let found) = result else { return }
            // One of them may have been removed since it was seen: they are looked at once more.
            if loaded.removedBlobCount != removedCount { return loaded.nextBlobFolder = Int(bucket) }
            // In an order that is always the same.
            takeIn(found.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }[...], of: loaded)
        }
        let loop = loop
        store.list(bucket, of: loaded.database.id) { result in
            loop.execute { done.body(result) }
        }
    }

    /// Notes files that were found, some now and the rest in later turns.
    private func takeIn(_ found: ArraySlice<(key: BlobName, value: UInt64)>, of loaded: LoadedDatabase) {
        for (name, byteCount) in found.prefix(ServiceLimits.assetsReleasedPerTurn)
        where loaded.database.blobs.isUnknown(name) {
            loaded.database.blobs.found(name, byteCount: byteCount, now: nowSeconds)
        }
        let rest = found.dropFirst(ServiceLimits.assetsReleasedPerTurn)
        if rest.isEmpty { return }
        // What is not known yet is not removed in between.
        let next = OnLoop<Void> { [self] in takeIn(rest, of: loaded) }
        loop.execute { next.body(()) }
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
            loaded.removedBlobCount += names.count - failed.count
            figures.assets.removedFiles += UInt64(names.count - failed.count)
            loaded.noteUse()
            databases.measure(loaded)
            // Nothing may have been there but uploads.
            if failed.isEmpty { return databases.dropIfEmpty(loaded) }
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
