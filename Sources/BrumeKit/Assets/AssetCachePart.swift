internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem

/// The beginning of a content that is being downloaded. Nobody else writes it meanwhile; when the object goes, the
/// bytes are kept, and a later download continues after them.
final class AssetCachePart: Sendable {
    private struct Progress {
        var receivedByteCount = 0
        let hash = AssetHash()
    }

    /// Where the content will be.
    let path: String
    let checksum: AssetChecksum
    /// Bytes of the whole content.
    let byteCount: Int

    private let cache: AssetCache
    let file: File
    /// Held while bytes are written: there is one download.
    private let progress = Lock(Progress())

    /// How many bytes are there: the download goes on at this offset.
    var receivedByteCount: Int { progress.withLock { $0.receivedByteCount } }

    /// Opens and locks the part, which is made when there is none.
    ///
    /// Nil when another download has the lock.
    init?(path: String, _ checksum: AssetChecksum, byteCount: Int, in cache: AssetCache) throws(SystemError) {
        self.path = path
        self.checksum = checksum
        self.byteCount = byteCount
        self.cache = cache
        file = try File(path: path + AssetCache.partSuffix, mode: .readWrite)
        guard try file.tryLock() else { return nil }
    }

    deinit { end() }

    /// Whether the part's name still leads to the open file: nobody finished or removed it.
    var isInPlace: Bool { (try? file.isInPlace()) ?? false }

    /// Makes room for the content, drops what is after the last whole step of the part, and adds the rest to the
    /// checksum.
    func resume(_ isCancelled: () -> Bool) throws(AssetError) {
        let kept: Int
        do throws(SystemError) {
            let size = try file.status().version.byteCount
            // A part that is longer than the content is of no use.
            kept = size > byteCount ? 0 : size - size % AssetCacheLimits.partStepByteCount
            if kept < size { try file.truncate(to: kept) }
            try FileSystem.setAccessTime(file.path, nanoseconds: cache.now())
        } catch {
            throw AssetError(error)
        }
        cache.reserve(byteCount, for: self, keptByteCount: kept)
        try progress.withLock { progress throws(AssetError) in
            let count = try progress.hash.update(first: kept, of: file, isCancelled: isCancelled)
            guard count == kept else {
                throw .failed(
                    SystemError(call: "pread", errno: 0, context: file.path, message: "it became shorter meanwhile"))
            }
            progress.receivedByteCount = kept
        }
    }

    /// Writes the next bytes. After `diskFull` the same bytes may be given again.
    ///
    /// - Throws: `damaged` when there are more bytes than the content has: the part is removed. `diskFull`, `failed`.
    func append(_ bytes: UnsafeRawBufferPointer) throws(AssetError) {
        try progress.withLock { progress throws(AssetError) in
            guard bytes.count <= byteCount - progress.receivedByteCount else {
                remove()
                throw .damaged
            }
            do throws(SystemError) {
                try file.write(bytes, at: progress.receivedByteCount)
            } catch {
                throw AssetError(error)
            }
            progress.hash.update(bytes)
            progress.receivedByteCount += bytes.count
        }
    }

    func append(_ bytes: [UInt8]) throws(AssetError) {
        let result = bytes.withUnsafeBytes { bytes -> Result<Void, AssetError> in
            do throws(AssetError) {
                return .success(try append(bytes))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Verifies the content and puts it in place. Unless bytes are missing, the part is not used afterwards.
    ///
    /// - Throws: `incomplete` when bytes are missing: the part is kept. `damaged` when the checksum, or the file's
    ///   size, is another one: the part is removed. `failed` when the cache was emptied meanwhile or can't be used.
    func finish() throws(AssetError) -> AssetCacheLease {
        let actual = try progress.withLock { progress throws(AssetError) in
            guard progress.receivedByteCount == byteCount else {
                throw .incomplete(missingByteCount: byteCount - progress.receivedByteCount)
            }
            return progress.hash.finish()
        }
        // The checksum is of the bytes that arrived; the size says whether somebody cut the file meanwhile.
        guard actual == checksum, (try? file.size()) == byteCount else {
            remove()
            throw .damaged
        }
        let lease = AssetCacheLease(path, in: cache)
        do throws(SystemError) {
            // A second ago: then every later edit shows, even one in the same step of the kernel's clock.
            let now = cache.now()
            try file.setTimes(accessedNanoseconds: now, modifiedNanoseconds: now - 1_000_000_000)
            let version = try file.status().version
            try cache.state.withLock { state throws(SystemError) in
                // Under the lock, so that no other download of this process puts its own part here in between.
                guard isInPlace else {
                    throw SystemError(call: "rename", errno: 0, context: file.path, message: "it was removed meanwhile")
                }
                try FileSystem.rename(file.path, to: path)
                state.verifiedVersions[path] = version
                state.reservations[ObjectIdentifier(self)] = nil
            }
            // Not before: a read-only part could not be continued.
            try? file.setPermissions(0o400)
        } catch {
            throw AssetError(error)
        }
        file.unlockAndClose()
        return lease
    }

    /// Removes the part. It is not used afterwards.
    func remove() {
        if isInPlace { try? FileSystem.remove(file.path) }
        end()
    }

    private func end() {
        cache.state.withLock { $0.reservations[ObjectIdentifier(self)] = nil }
        file.unlockAndClose()
    }
}
