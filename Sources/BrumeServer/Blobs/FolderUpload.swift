internal import BrumeModel
internal import BrumeService
internal import BrumeStore

/// An upload into a folder, whose pieces are done on the store's threads, one after the other.
struct FolderUpload: StoredUpload {
    private let upload: BlobUpload
    private let folder: BlobFolder
    private let store: FolderBlobStore
    private let lane: DiskThreads.Lane
    private let account: ClientShare.Key

    init(
        _ upload: BlobUpload, in folder: BlobFolder, of store: FolderBlobStore, lane: DiskThreads.Lane,
        account: ClientShare.Key
    ) {
        (self.upload, self.folder, self.store, self.lane, self.account) = (upload, folder, store, lane, account)
    }

    private func add(_ work: @escaping DiskThreads.Work) { store.threads.add(work, in: lane, of: account) }

    /// Calls `done` with nil when the disk has done it, or else with why not.
    private func perform(
        _ done: @escaping @Sendable (BlobFailure?) -> Void, _ work: @escaping @Sendable () throws(DiskError) -> Void
    ) {
        add {
            do throws(DiskError) {
                try work()
                done(nil)
            } catch {
                done(store.failure(error))
            }
        }
    }

    /// Reads again what is durable of it, a MiB at a time, so that others have their turns in between. What is not
    /// there as it was is of no use: the upload begins anew.
    func catchUp(then done: @escaping @Sendable (Result<UploadBeginning, BlobFailure>) -> Void) {
        if upload.isCaughtUp { return done(.success(.open(self, byteCount: upload.byteCount))) }
        add {
            do throws(DiskError) {
                if try upload.catchUp() { return catchUp(then: done) }
                let (identity, database) = (upload.identity, folder)
                try upload.discard()
                guard case .open(let anew) = try database.open(identity) else { return done(.success(.busy)) }
                FolderUpload(anew, in: database, of: store, lane: lane, account: account).catchUp(then: done)
            } catch {
                upload.close()
                done(.failure(store.failure(error)))
            }
        }
    }

    func append(_ bytes: [UInt8], then done: @escaping @Sendable (BlobFailure?) -> Void) {
        perform(done) { () throws(DiskError) in
            try upload.append(bytes)
            if upload.isCheckpointDue { try upload.checkpoint() }
        }
    }

    func finish(then done: @escaping @Sendable (Result<AssetChecksum, BlobFailure>) -> Void) {
        add { done(.success(upload.finishChecksum())) }
    }

    func become(_ name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void) {
        perform(done) { () throws(DiskError) in
            try folder.seal(upload, as: name)
            try folder.syncNames(of: [name])
        }
    }

    func end(as name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void) {
        add {
            do throws(DiskError) {
                guard try folder.isDurable(name), try folder.contentByteCount(of: name) == upload.identity.byteCount
                else { return done(.missing) }
                try upload.end(as: name)
                done(nil)
            } catch {
                done(store.failure(error))
            }
        }
    }

    func discard() {
        add {
            do throws(DiskError) {
                try upload.discard()
            } catch {
                _ = store.failure(error)
            }
        }
    }

    func close() {
        add { upload.close() }
    }
}
