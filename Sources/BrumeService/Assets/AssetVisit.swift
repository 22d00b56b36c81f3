internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// A visit to a database for the sake of its assets: what is due of them is removed. On the loop of the database.
///
/// The database is loaded if it has to be, and let go again afterwards.
final class AssetVisit {
    private let loaded: LoadedDatabase
    private let shard: Shard
    private let store: any BlobStore
    /// Whether the database came into memory for the visit.
    private let isGuest: Bool
    private let done: (_ isWhole: Bool) -> Void
    /// Whether something could not be looked at.
    private var hasFailed = false
    private var looksThrough = false

    /// - Parameters:
    ///   - looksThroughFolder: Whether files are looked for that nobody knows: what was uploaded before the start, and
    ///     never named, or was forgotten. Their graces begin now. One visit of a database at a time does: another one
    ///     is not whole.
    ///   - done: Called when it is over, with whether all was looked at.
    static func begin(
        to id: DatabaseID, on shard: Shard, in store: any BlobStore, looksThroughFolder: Bool,
        then done: @escaping (_ isWhole: Bool) -> Void
    ) {
        let isGuest = shard.databases.known(id) == nil
        shard.databases.withDatabase(id, of: .operator, keepsEmpty: true) { outcome in
            // One that can't be loaded keeps its files. Why it can't is in the log, or passes.
            guard case .success(let loaded) = outcome else { return done(false) }
            let visit = AssetVisit(loaded, on: shard, in: store, isGuest: isGuest, then: done)
            loaded.slicedWorkCount += 1
            // When the calls are over that have waited for the database too.
            let begin = OnLoop<Void> { looksThroughFolder ? visit.lookThroughFolder() : visit.sweep() }
            shard.loop.execute { begin.body(()) }
        }
    }

    private init(
        _ loaded: LoadedDatabase, on shard: Shard, in store: any BlobStore, isGuest: Bool,
        then done: @escaping (_ isWhole: Bool) -> Void
    ) {
        (self.loaded, self.shard, self.store) = (loaded, shard, store)
        (self.isGuest, self.done) = (isGuest, done)
    }

    /// A closure that the store may call on any thread, which runs `body` on the loop.
    private func onLoop<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        let go = OnLoop<Value>(body)
        let loop = shard.loop
        return { value in loop.execute { go.body(value) } }
    }

    // MARK: Looking through the folder

    private func lookThroughFolder() {
        if loaded.isLookedThrough {
            hasFailed = true
            return sweep()
        }
        loaded.isLookedThrough = true
        looksThrough = true
        let next = onLoop { [self] (_: Void) in
            store.buckets(
                of: loaded.database.id,
                then: onLoop { [self] result in
                    switch result {
                    case .success(let buckets): lookThrough(buckets[...])
                    case .failure(let failure):
                        failed(failure)
                        sweep()
                    }
                })
        }
        store.recoverUploads(of: loaded.database.id) { next(()) }
    }

    private func lookThrough(_ buckets: ArraySlice<UInt8>) {
        if loaded.isLost { return end() }
        guard let bucket = buckets.first else {
            if !hasFailed { loaded.database.blobs.foundAll() }
            return sweep()
        }
        let rest = buckets.dropFirst()
        loaded.removedMeanwhile = []
        store.list(
            bucket, of: loaded.database.id,
            then: onLoop { [self] result in
                switch result {
                case .success(let found): takeIn(found[...]) { [self] in lookThrough(rest) }
                // One folder that the disk does not give keeps no other one from being looked through.
                case .failure(let failure):
                    failed(failure)
                    loaded.removedMeanwhile = nil
                    lookThrough(rest)
                }
            })
    }

    /// Notes files that were found, some now and the rest in later turns.
    private func takeIn(_ found: ArraySlice<(name: BlobName, byteCount: UInt64)>, then next: @escaping () -> Void) {
        for (name, byteCount) in found.prefix(ServiceLimits.assetsReleasedPerTurn)
        where loaded.database.blobs.isUnknown(name) && loaded.removedMeanwhile?.contains(name) == false {
            // A file that was there before may be one whose name was forgotten.
            if loaded.uploads.reservedByteCount == 0 {
                loaded.database.blobs.foundFormer(name, byteCount: byteCount, now: shard.nowSeconds)
            } else {
                loaded.database.blobs.found(name, byteCount: byteCount, now: shard.nowSeconds)
            }
        }
        let rest = found.dropFirst(ServiceLimits.assetsReleasedPerTurn)
        if rest.isEmpty {
            loaded.removedMeanwhile = nil
            return next()
        }
        let goOn = OnLoop<Void> { [self] in takeIn(rest, then: next) }
        shard.loop.execute { goOn.body(()) }
    }

    private func failed(_ failure: BlobFailure) {
        hasFailed = true
        shard.server.log.warning("a folder of assets can't be looked through", [("reason", "\(failure)")])
    }

    // MARK: What is due

    private func sweep() {
        // Others sweep it too, from time to time.
        loaded.afterRemovals { [self] in
            if loaded.isLost { return end() }
            shard.sweepAssets(of: loaded) { [self] removedCount, failedCount in
                // There may be more than one sweep takes. What can't be removed is tried again later.
                removedCount > 0 && failedCount == 0 ? sweep() : end()
            }
        }
    }

    private func end() {
        loaded.slicedWorkCount -= 1
        if looksThrough { (loaded.isLookedThrough, loaded.removedMeanwhile) = (false, nil) }
        if loaded.isLost { return done(false) }
        let isEmpty = loaded.database.blobs.count == 0
        isGuest ? shard.databases.letGo(loaded) : shard.databases.dropIfEmpty(loaded)
        guard isEmpty, !hasFailed else { return done(!hasFailed) }
        let tidied = onLoop { [done] (_: Void) in done(true) }
        store.tidy(loaded.database.id) { tidied(()) }
    }
}
