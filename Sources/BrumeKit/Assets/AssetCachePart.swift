internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem

/// The beginning of a content that is being downloaded. Nobody else writes it meanwhile; when the object goes, the
/// bytes are kept, and a later download continues after them.
final class AssetCachePart: Sendable {

    /// Where the content will be.
    let path: String
    let content: AssetContent

    private let cache: AssetCache
    let file: File
    /// Held while bytes are written: there is one download.
    private let receiver: Lock<AssetReceiver>

    /// How many bytes the server has sent.
    var receivedByteCount: Int { receiver.withLock { $0.receivedByteCount } }

    /// How many of them another stream would not have to send again.
    var resumableByteCount: Int { receiver.withLock { $0.resumableByteCount } }

    /// Whether the server has sent all, whatever it is.
    var isComplete: Bool { UInt64(receivedByteCount) == content.asset.byteCount }

    /// A stream begins.
    ///
    /// - Returns: The offset in what the server keeps at which it goes on.
    func streamBegins() -> Int {
        receiver.withLock { receiver in
            receiver.streamBegins()
            return receiver.resumableByteCount
        }
    }

    /// Opens and locks the part, which is made when there is none.
    ///
    /// Nil when another download has the lock.
    init?(path: String, _ content: AssetContent, in cache: AssetCache) throws(SystemError) {
        self.path = path
        self.content = content
        self.cache = cache
        receiver = Lock(AssetReceiver(content))
        file = try File(path: path + AssetCache.partSuffix, mode: .readWrite)
        guard try file.tryLock() else { return nil }
    }

    deinit { end() }

    /// Whether the part's name still leads to the open file: nobody finished or removed it.
    var isInPlace: Bool { (try? file.isInPlace()) ?? false }

    /// Makes room for the file, drops what is after the last whole step of the part, and adds the rest to what will be
    /// checked in the end.
    func resume(_ isCancelled: () -> Bool) throws(AssetError) {
        let byteCount = Int(clamping: content.fileByteCount)
        let kept: Int
        do throws(SystemError) {
            let size = try file.status().version.byteCount
            // A part that is longer than the file is of no use.
            kept = size > byteCount ? 0 : size - size % AssetReceiver.stepByteCount(content)
            if kept < size { try file.truncate(to: kept) }
            try FileSystem.setAccessTime(file.path, nanoseconds: cache.now())
        } catch {
            throw AssetError(error)
        }
        cache.reserve(byteCount, for: self, keptByteCount: kept)
        let count = try receiver.withLock { receiver throws(AssetError) in
            try receiver.restore(first: kept, of: file, isCancelled: isCancelled)
        }
        guard count == kept else {
            throw .failed(
                SystemError(call: "pread", errno: 0, context: file.path, message: "it became shorter meanwhile"))
        }
    }

    /// Takes the next bytes of what the server keeps. After `diskFull` the same bytes of a plain content may be given
    /// again.
    ///
    /// - Throws: `damaged` when there are more bytes than the content has, or a chunk does not open: the part is
    ///   removed. `diskFull`, `failed`.
    func append(_ bytes: UnsafeRawBufferPointer) throws(AssetError) {
        do throws(AssetError) {
            try receiver.withLock { receiver throws(AssetError) in
                try receiver.take(bytes) { bytes, offset throws(AssetError) in
                    do throws(SystemError) { try file.write(bytes, at: offset) } catch { throw AssetError(error) }
                }
            }
        } catch {
            if error == .damaged { remove() }
            throw error
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
        let isWhole = try receiver.withLock { receiver throws(AssetError) in
            let missing = content.asset.byteCount - UInt64(receiver.receivedByteCount)
            guard missing == 0 else { throw .incomplete(missingByteCount: Int(clamping: missing)) }
            return receiver.isWhole()
        }
        // The checksum is of the bytes that arrived; the size says whether somebody cut the file meanwhile.
        guard isWhole, (try? file.size()) == Int(clamping: content.fileByteCount) else {
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
