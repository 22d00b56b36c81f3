internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Room for the bytes of an upload, from its beginning until it is a blob, or ends otherwise. The database stays in
/// memory for as long.
///
/// `@unchecked Sendable`: it travels between loops; what it holds is used on that of the database.
final class UploadReservation: @unchecked Sendable {
    private let request: UploadRequest
    private let user: String
    private let shard: Shard
    private let loaded: LoadedDatabase
    /// Whether it counts. One that does not is for an upload that is counted already: it may find that it has ended, or
    /// is open elsewhere, and nothing else. Changes before the answer to who asked for that.
    private(set) var isCounted = false
    private var isReleased = false

    /// On the loop of the database.
    init(_ request: UploadRequest, by user: String, in loaded: LoadedDatabase, of shard: Shard) {
        (self.request, self.user, self.loaded, self.shard) = (request, user, loaded, shard)
        loaded.slicedWorkCount += 1
    }

    /// Counts the bytes from now on, unless it was released meanwhile. On the loop of the database.
    func count() {
        precondition(!isCounted, "an upload is counted twice")
        if isReleased { return }
        isCounted = true
        loaded.uploads.reserve(request.byteCount, for: request.id, of: user)
        loaded.noteUse()
    }

    /// Takes back ``count()``. On the loop of the database.
    func uncount() {
        if !isCounted { return }
        isCounted = false
        loaded.uploads.release(request.byteCount, for: request.id, of: user)
        loaded.noteUse()
    }

    /// Call it once, on any thread.
    func release() {
        shard.loop.execute { [self] in
            isReleased = true
            uncount()
            loaded.slicedWorkCount -= 1
            shard.databases.dropIfEmpty(loaded)
        }
    }

    /// The upload has become a blob, which counts by itself from now on. On the loop of the database; the reservation
    /// is released all the same. False when the blob is about to go: an upload that was complete long ago comes back.
    func became(_ name: BlobName) -> Bool {
        if loaded.database.blobs.isGoing(name) { return false }
        let end = UInt32(clamping: UInt64(shard.nowSeconds) + UInt64(shard.server.configuration.receiptSeconds))
        loaded.database.blobs.add(name, byteCount: request.byteCount, promisedUntil: end, now: shard.nowSeconds)
        loaded.uploads.stored(name, request.byteCount, as: request.id, by: user)
        // Otherwise it would count twice for a moment, in which others find no room.
        uncount()
        shard.databases.measure(loaded)
        return true
    }
}
