internal import BrumeLock
package import BrumeModel

/// The stored assets of one database, in a folder of its own:
///
/// ```
/// assets/DATABASE/XX/CHECKSUM.GENERATION   a blob, see ``BlobFormat``; XX are the first two digits of its checksum
/// assets/DATABASE/incoming/NAME.part       the content of an upload
/// assets/DATABASE/incoming/NAME.note       what of it is durable, see ``UploadNote``
/// assets/DATABASE/database                 what DATABASE is the SHA-256 of, where it is one
/// ```
///
/// DATABASE is named as the database's snapshot is. Two databases never share a blob. A folder is there from the first
/// upload on, until ``removeEmptyFolders()`` finds that it holds nothing.
///
/// There is one of them for a database at a time, as long as anybody uses it: it knows what is open. It may be used on
/// any threads; every call blocks.
/// Files are only named and removed here: those who have the records know which blobs are needed.
package final class BlobFolder: Sendable {
    struct State {
        /// The folders that are there, durably; nil for the one of the uploads.
        var folders = Set<UInt8?>()
        /// The buckets whose names of earlier processes were made durable.
        var syncedBuckets = Set<UInt8>()
        /// The uploads that are open, by the names of their files.
        var open = Set<String>()
        /// Blobs that got their names and are not durable there yet.
        var unsynced = Set<BlobName>()
        var isAbandoned = false
    }

    package static let root = "assets"

    let disk: any Disk
    private let database: DatabaseID
    /// The name of the database among others.
    private let name: String
    private let path: String
    /// The folder of the uploads.
    let incoming: String
    let state = Lock(State())

    package init(of database: DatabaseID, on disk: any Disk) {
        self.disk = disk
        self.database = database
        name = SnapshotFormat.name(of: database, on: disk)
        path = BlobFolder.root + "/" + name
        incoming = path + "/incoming"
    }

    /// The process has ended, or is about to: uploads that are open leave their files as they are.
    package func abandon() { state.withLock { $0.isAbandoned = true } }

    private func path(ofBucket bucket: UInt8) -> String { path + "/" + [bucket].hexadecimal }
    package func path(of name: BlobName) -> String { path(ofBucket: name.bucket) + "/" + name.fileName }

    /// Makes a folder, with those above it, durably.
    func makeFolder(_ bucket: UInt8?) throws(DiskError) {
        let folders = state.withLock { $0.folders }
        if folders.contains(bucket) { return }
        if folders.isEmpty {
            for (folder, parent) in [(BlobFolder.root, ""), (path, BlobFolder.root)] {
                try disk.makeDirectory(folder)
                try disk.syncDirectory(parent)
            }
            try DatabaseFolders.sign(path, for: database, on: disk)
        }
        try disk.makeDirectory(bucket.map { path(ofBucket: $0) } ?? incoming)
        try disk.syncDirectory(path)
        _ = state.withLock { $0.folders.insert(bucket) }
    }

    /// Removes what of the folders holds nothing, as far as that can be done. Nobody uses the database's assets
    /// meanwhile.
    package func removeEmptyFolders() throws(DiskError) {
        defer {
            state.withLock { state in
                state.folders = []
                state.syncedBuckets = []
            }
        }
        for folder in try disk.listFolders(path) {
            // One that holds something is not removed.
            try? disk.removeDirectory(path + "/" + folder)
        }
        if try disk.listFolders(BlobFolder.root).contains(name), try disk.listFolders(path).isEmpty {
            try DatabaseFolders.remove(path, on: disk)
        }
    }

    // MARK: Blobs

    /// Opens a blob; nil when it is not there. Whoever opens it closes it.
    package func open(_ name: BlobName) throws(StoreError) -> BlobReader? {
        try BlobReader(name, at: path(of: name), on: disk)
    }

    /// Whether a blob is there, durably. Those to which an earlier process gave their names may be there to see and not
    /// be durable: now they are.
    package func isDurable(_ name: BlobName) throws(DiskError) -> Bool {
        guard try contentByteCount(of: name) != nil else { return false }
        // Looked up after the file was seen: it may have been given its name just before.
        if state.withLock({ $0.unsynced.contains(name) }) { return false }
        if state.withLock({ $0.syncedBuckets.contains(name.bucket) }) { return true }
        try makeFolder(name.bucket)
        try syncBucket(name.bucket)
        return true
    }

    func syncBucket(_ bucket: UInt8) throws(DiskError) {
        try disk.syncDirectory(path(ofBucket: bucket))
        _ = state.withLock { $0.syncedBuckets.insert(bucket) }
    }

    /// Bytes of a blob's content, as the length of its file tells, whatever is in it; nil when it is not there.
    package func contentByteCount(of name: BlobName) throws(DiskError) -> UInt64? {
        do throws(DiskError) {
            let file = try disk.openForReading(path(of: name))
            defer { disk.close(file) }
            let fileBytes = try disk.size(of: file)
            return BlobFormat.contentBytes(ofFile: fileBytes) ?? fileBytes
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// Blobs that are removed together: so many files are open at a time.
    private static let removedTogether = 64

    /// Removes blobs, durably, and returns those that could not be removed: that is to be tried again. It is no error
    /// when one is not there.
    package func remove(_ names: [BlobName]) throws(DiskError) -> [BlobName] {
        var failed: [BlobName] = []
        for start in stride(from: 0, to: names.count, by: BlobFolder.removedTogether) {
            failed += try removeTogether(names[start..<min(start + BlobFolder.removedTogether, names.count)])
        }
        return failed
    }

    private func removeTogether(_ names: ArraySlice<BlobName>) throws(DiskError) -> [BlobName] {
        var failed: [BlobName] = []
        var files: [DiskFile] = []
        var buckets = Set<UInt8>()
        for name in names {
            let file = try? disk.openForWriting(path(of: name))
            do throws(DiskError) {
                try disk.remove(path(of: name))
                buckets.insert(name.bucket)
                if let file { files.append(file) }
            } catch {
                if let file { disk.close(file) }
                if !error.isMissing { failed.append(name) }
            }
        }
        do throws(DiskError) {
            for bucket in buckets.sorted() { try disk.syncDirectory(path(ofBucket: bucket)) }
        } catch {
            for file in files { disk.close(file) }
            throw error
        }
        // Their room is freed only now that they can't come back: a power cut must not leave one that is cut off.
        for file in files { disk.giveBack(file) }
        return failed
    }

    /// Those of the 256 buckets that there are, sorted.
    package func buckets() throws(DiskError) -> [UInt8] {
        try disk.listFolders(path).compactMap { folder in
            guard let bytes = [UInt8](hexadecimal: folder), bytes.count == 1, bytes.hexadecimal == folder else {
                return nil
            }
            return bytes[0]
        }
    }

    /// The blobs in one of the 256 buckets, sorted by their files' names. Other files are left out, and blobs that are
    /// being stored.
    package func blobs(inBucket bucket: UInt8) throws(DiskError) -> [BlobName] {
        let names = try disk.list(path(ofBucket: bucket)).compactMap { BlobName(fileName: $0) }
        let unsynced = state.withLock { $0.unsynced }
        return names.filter { $0.bucket == bucket && !unsynced.contains($0) }
    }
}
