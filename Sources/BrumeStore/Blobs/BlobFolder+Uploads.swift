internal import BrumeLock
internal import BrumeModel

/// Uploads, from their beginning to the blob that they become.
extension BlobFolder {
    /// What there is of an upload that somebody opens.
    package enum Opening {
        /// A new one, or what is durable of it: then it has to catch up first.
        case open(BlobUpload)
        /// It has become this blob.
        case complete(BlobName)
        /// It is open: a client may have come back before the end of its former connection was noticed.
        case busy
    }

    /// What is kept of an upload while nobody has it open.
    package enum KeptUpload: Equatable, Sendable {
        /// So much of it is durable.
        case begun(BlobUpload.Identity, durableByteCount: UInt64)
        case complete(BlobUpload.Identity, BlobName)
    }

    /// Begins an upload, or goes on with what is kept of it. What is kept of another one of the same user and id, of
    /// another zone or length, is replaced.
    package func open(_ upload: BlobUpload.Identity) throws(DiskError) -> Opening {
        precondition(upload.byteCount <= StoreLimits.assetBytes, "an asset is larger than the store takes")
        let name = upload.fileName(on: disk)
        guard state.withLock({ $0.open.insert(name).inserted }) else { return .busy }
        let closed: @Sendable () -> Void = { [self] in _ = state.withLock { $0.open.remove(name) } }
        let isAbandoned: @Sendable () -> Bool = { [self] in state.withLock { $0.isAbandoned } }
        do throws(DiskError) {
            try makeFolder(nil)
            let note = try note(name + BlobUpload.noteSuffix)
            if let note, note.upload == upload {
                if let blob = note.blob {
                    // It gets its name at this moment.
                    let isUnsynced = state.withLock { $0.unsynced.contains(blob) }
                    let isThere = isUnsynced ? true : try isWhole(blob, upload)
                    if isThere {
                        closed()
                        return isUnsynced ? .busy : .complete(blob)
                    }
                }
                if let file = try openContent(name) {
                    return .open(
                        BlobUpload(
                            upload, name: name, in: incoming, file: file, note: note, on: disk, closed: closed,
                            isAbandoned: isAbandoned))
                }
            }
            let file = try createContent(name)
            return .open(
                BlobUpload(
                    upload, name: name, in: incoming, file: file, note: nil, on: disk, closed: closed,
                    isAbandoned: isAbandoned))
        } catch {
            closed()
            throw error
        }
    }

    /// Whether the blob of an upload is there, durably, and as long as the upload was.
    private func isWhole(_ name: BlobName, _ upload: BlobUpload.Identity) throws(DiskError) -> Bool {
        guard try isDurable(name) else { return false }
        return try contentByteCount(of: name) == upload.byteCount
    }

    /// Reads a note; nil for one that is missing or damaged, or whose file has another one's name.
    private func note(_ fileName: String) throws(DiskError) -> UploadNote? {
        let file: DiskFile
        do throws(DiskError) {
            file = try disk.openForReading(incoming + "/" + fileName)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
        defer { disk.close(file) }
        let bytes = try disk.read(file, at: 0, length: UploadNote.byteLimit + 1)
        guard let note = UploadNote(decoding: bytes),
            note.upload.fileName(on: disk) + BlobUpload.noteSuffix == fileName
        else { return nil }
        return note
    }

    /// Opens a content for writing; nil when it is missing.
    private func openContent(_ name: String) throws(DiskError) -> DiskFile? {
        do throws(DiskError) {
            return try disk.openForWriting(incoming + "/" + name + BlobUpload.contentSuffix)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    private func createContent(_ name: String) throws(DiskError) -> DiskFile {
        if try remove(incoming + "/" + name + BlobUpload.noteSuffix) {
            // Otherwise a power cut might bring it back, for another content under its name.
            try disk.syncDirectory(incoming)
        }
        try remove(incoming + "/" + name + BlobUpload.contentSuffix)
        return try disk.create(incoming + "/" + name + BlobUpload.contentSuffix)
    }

    /// Begins to learn what earlier processes kept of uploads.
    package func makeRecovery() throws(DiskError) -> UploadRecovery { try UploadRecovery(of: self) }

    func isOpen(_ name: String) -> Bool { state.withLock { $0.open.contains(name) } }

    /// What a note says of its upload; nil for a damaged one, and when what it says is not there.
    func keptUpload(_ name: String, hasContent: Bool) throws(DiskError) -> KeptUpload? {
        guard let note = try note(name + BlobUpload.noteSuffix) else { return nil }
        if let blob = note.blob, try isDurable(blob) {
            // The blob may have this name too, after a power cut.
            if hasContent { _ = try? remove(incoming + "/" + name + BlobUpload.contentSuffix) }
            return .complete(note.upload, blob)
        }
        return hasContent ? .begun(note.upload, durableByteCount: note.durableByteCount) : nil
    }

    /// Whether a file is one that uploads have, or a note that was being replaced.
    static func isUploads(_ fileName: String) -> Bool {
        [BlobUpload.contentSuffix, BlobUpload.noteSuffix, BlobUpload.noteSuffix + temporaryFileSuffix]
            .contains { fileName.hasSuffix($0) }
    }

    /// Forgets what is kept of uploads. Those that are open stay.
    package func forget(_ uploads: [BlobUpload.Identity]) throws(DiskError) {
        var names: [String] = []
        defer { state.withLock { $0.open.subtract(names) } }
        for upload in uploads {
            let name = upload.fileName(on: disk)
            if state.withLock({ $0.open.insert(name).inserted }) { names.append(name) }
        }
        var isRemoved = false
        for name in names where try remove(incoming + "/" + name + BlobUpload.noteSuffix) { isRemoved = true }
        // Otherwise a power cut might bring a note back, for another content under its name.
        if isRemoved { try disk.syncDirectory(incoming) }
        for name in names { try remove(incoming + "/" + name + BlobUpload.contentSuffix) }
    }

    /// Gives an upload that is whole its name as a blob, and closes it. The blob is durable there only when
    /// ``syncNames(of:)`` has returned, which has to follow, whoever is still interested: until then nobody is told of
    /// the blob.
    package func seal(_ upload: BlobUpload, as name: BlobName) throws(DiskError) {
        try makeFolder(name.bucket)
        _ = state.withLock { $0.unsynced.insert(name) }
        do throws(DiskError) {
            try upload.seal(as: name, at: path(of: name))
        } catch {
            // A rename that failed may have been done: then the blob is there, and is not durable.
            state.withLock { state in
                state.unsynced.remove(name)
                state.syncedBuckets.remove(name.bucket)
            }
            throw error
        }
    }

    /// Makes the names of blobs durable that uploads were given: many at a time, since each folder is synced once.
    package func syncNames(of blobs: [BlobName]) throws(DiskError) {
        if blobs.isEmpty { return }
        let buckets = Set(blobs.map(\.bucket))
        do throws(DiskError) {
            for bucket in buckets.sorted() { try syncBucket(bucket) }
            try disk.syncDirectory(incoming)
        } catch {
            // Whoever asks for one of them next makes it durable first.
            state.withLock { state in
                state.unsynced.subtract(blobs)
                state.syncedBuckets.subtract(buckets)
            }
            throw error
        }
        state.withLock { $0.unsynced.subtract(blobs) }
    }

    /// Removes a file, and frees its room bit by bit; false when it was not there.
    @discardableResult
    func remove(_ path: String) throws(DiskError) -> Bool {
        let file = try? disk.openForWriting(path)
        do throws(DiskError) {
            try disk.remove(path)
        } catch {
            if let file { disk.close(file) }
            if error.isMissing { return false }
            throw error
        }
        if let file { disk.giveBack(file) }
        return true
    }
}
