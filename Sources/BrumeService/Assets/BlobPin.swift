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

/// Room for the bytes of an upload, from its beginning until it is a blob, or ends otherwise.
///
/// `@unchecked Sendable`: as for ``BlobPin``.
final class UploadReservation: @unchecked Sendable {
    let byteCount: UInt64
    private let shard: Shard
    private let loaded: LoadedDatabase

    /// On the loop of the database.
    init(_ byteCount: UInt64, in loaded: LoadedDatabase, of shard: Shard) {
        loaded.reservedByteCount += byteCount
        loaded.slicedWorkCount += 1
        (self.byteCount, self.loaded, self.shard) = (byteCount, loaded, shard)
    }

    /// Call it once, on any thread.
    func release() {
        shard.loop.execute { [self] in
            loaded.reservedByteCount -= byteCount
            loaded.slicedWorkCount -= 1
        }
    }

    /// The upload has become a blob, which counts by itself from now on. On the loop of the database; the reservation
    /// is released all the same. False when the blob is about to go: an upload that was complete long ago comes back.
    func became(_ name: BlobName) -> Bool {
        if loaded.database.blobs.isGoing(name) { return false }
        let end = UInt32(clamping: UInt64(shard.nowSeconds) + UInt64(ServiceLimits.receiptSeconds))
        loaded.database.blobs.add(name, byteCount: byteCount, promisedUntil: end, now: shard.nowSeconds)
        return true
    }
}
