internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Room for the bytes of an upload, from its beginning until it is a blob, or ends otherwise. The database stays in
/// memory for as long.
///
/// `@unchecked Sendable`: it travels between loops; what it holds is used on that of the database.
final class UploadReservation: @unchecked Sendable {
    private let byteCount: UInt64
    private let user: String
    private let shard: Shard
    private let loaded: LoadedDatabase

    /// What it counts: a small upload takes a file too.
    private var countedByteCount: UInt64 { max(byteCount, ServiceLimits.uploadBytesMin) }

    /// On the loop of the database.
    init(_ byteCount: UInt64, by user: String, in loaded: LoadedDatabase, of shard: Shard) {
        (self.byteCount, self.user, self.loaded, self.shard) = (byteCount, user, loaded, shard)
        loaded.uploads.reserve(countedByteCount, of: user)
        loaded.slicedWorkCount += 1
    }

    /// Call it once, on any thread.
    func release() {
        shard.loop.execute { [self] in
            loaded.uploads.release(countedByteCount, of: user)
            loaded.slicedWorkCount -= 1
        }
    }

    /// The upload has become a blob, which counts by itself from now on. On the loop of the database; the reservation
    /// is released all the same. False when the blob is about to go: an upload that was complete long ago comes back.
    func became(_ name: BlobName) -> Bool {
        if loaded.database.blobs.isGoing(name) { return false }
        let end = UInt32(clamping: UInt64(shard.nowSeconds) + UInt64(shard.server.configuration.receiptSeconds))
        loaded.database.blobs.add(name, byteCount: byteCount, promisedUntil: end, now: shard.nowSeconds)
        loaded.uploads.stored(name, countedByteCount, by: user)
        return true
    }
}
