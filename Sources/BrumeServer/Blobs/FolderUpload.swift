internal import BrumeModel
internal import BrumeService
internal import BrumeStore

/// An upload into a folder, whose pieces are done on the store's threads, one after the other.
///
/// What was asked for behind a piece that failed fails too: it would follow on what is not there.
///
/// `@unchecked Sendable`: what changes is used in the upload's lane alone.
final class FolderUpload: StoredUpload, @unchecked Sendable {
    private let upload: BlobUpload
    /// Why a piece was not done.
    private var failure: BlobFailure?
    private let database: DatabaseID
    private let folder: BlobFolder
    private let store: FolderBlobStore
    private let lane: DiskThreads.Lane
    private let account: ClientShare.Key

    init(
        _ upload: BlobUpload, to database: DatabaseID, in folder: BlobFolder, of store: FolderBlobStore,
        lane: DiskThreads.Lane, account: ClientShare.Key
    ) {
        (self.upload, self.database, self.folder) = (upload, database, folder)
        (self.store, self.lane, self.account) = (store, lane, account)
    }

    private func add(_ work: @escaping DiskThreads.Work) { store.threads.add(work, in: lane, of: account) }

    /// Calls `done` with nil when the disk has done it, or else with why not.
    private func perform(
        _ done: @escaping @Sendable (BlobFailure?) -> Void, _ work: @escaping @Sendable () throws(DiskError) -> Void
    ) {
        add { [self] in
            if let failure { return done(failure) }
            do throws(DiskError) {
                try work()
                done(nil)
            } catch {
                failure = store.failure(error)
                done(failure)
            }
        }
    }

    /// Reads again what is durable of it, a MiB at a time, so that others have their turns in between. What is not
    /// there as it was is of no use: the upload begins anew.
    func catchUp(then done: @escaping @Sendable (Result<UploadBeginning, BlobFailure>) -> Void) {
        if upload.isCaughtUp { return done(.success(.open(self, byteCount: upload.byteCount))) }
        add { [self] in
            do throws(DiskError) {
                if try upload.catchUp() { return catchUp(then: done) }
                try upload.discard()
                guard case .open(let anew) = try folder.open(upload.identity) else { return done(.success(.busy)) }
                FolderUpload(anew, to: database, in: folder, of: store, lane: lane, account: account)
                    .catchUp(then: done)
            } catch {
                upload.close()
                // What is durable of it is there still, and goes in the end.
                do throws(DiskError) { try keepNote(upload.durableByteCount) } catch { _ = store.failure(error) }
                done(.failure(store.failure(error)))
            }
        }
    }

    func append(_ bytes: [UInt8], then done: @escaping @Sendable (BlobFailure?) -> Void) {
        perform(done) { [upload, store] () throws(DiskError) in
            try store.space.check()
            try upload.append(bytes)
            if upload.isCheckpointDue { try upload.checkpoint() }
        }
    }

    func finish(then done: @escaping @Sendable (Result<AssetChecksum, BlobFailure>) -> Void) {
        add { [self] in done(failure.map { .failure($0) } ?? .success(upload.finishChecksum())) }
    }

    func become(_ name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void) {
        perform(done) { [self] () throws(DiskError) in
            try folder.seal(upload, as: name)
            try folder.syncNames(of: [name])
            try keepNote(0)
        }
    }

    func end(as name: BlobName, then done: @escaping @Sendable (BlobFailure?) -> Void) {
        add { [self] in
            if let failure { return done(failure) }
            do throws(DiskError) {
                guard try folder.isDurable(name), try folder.contentByteCount(of: name) == upload.identity.byteCount
                else { return done(.missing) }
                try upload.end(as: name)
                try keepNote(0)
                done(nil)
            } catch {
                failure = store.failure(error)
                done(failure)
            }
        }
    }

    func discard() {
        add { [upload, store] in
            do throws(DiskError) {
                try upload.discard()
            } catch {
                _ = store.failure(error)
            }
        }
    }

    func close() {
        add { [self] in
            // A phone that lost its network goes on where it was, also with a photo of a few MiB.
            if failure == nil {
                do throws(DiskError) { try upload.checkpoint() } catch { _ = store.failure(error) }
            }
            upload.close()
            do throws(DiskError) { try keepNote(upload.durableByteCount) } catch { _ = store.failure(error) }
        }
    }

    /// What is noted of an upload is there when it is closed.
    private func keepNote(_ byteCount: UInt64) throws(DiskError) {
        if upload.durableByteCount > 0 { try store.keep(upload.identity, byteCount, of: database, in: folder) }
    }
}
