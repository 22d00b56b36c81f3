internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Keeps an asset from going, and its database in memory, for a save that names it or a transfer.
///
/// `@unchecked Sendable`: it travels between loops; what it holds is used on that of the database.
final class BlobPin: @unchecked Sendable {
    let name: BlobName
    private let shard: Shard
    private let loaded: LoadedDatabase

    /// Nil when the asset is not there, or about to go. On the loop of the database.
    init?(_ name: BlobName, in loaded: LoadedDatabase, of shard: Shard) {
        guard loaded.database.blobs.pin(name) else { return nil }
        loaded.slicedWorkCount += 1
        (self.name, self.loaded, self.shard) = (name, loaded, shard)
    }

    /// Lets it go. Call it once, on any thread.
    ///
    /// - Parameter isDamaged: Whether it could not be read.
    func release(isDamaged: Bool = false) {
        shard.loop.execute { [self] in
            if isDamaged { loaded.database.blobs.markDamaged(name) }
            loaded.database.blobs.unpin(name, now: shard.nowSeconds)
            loaded.slicedWorkCount -= 1
        }
    }
}
