internal import BrumeLock
package import BrumeModel
package import BrumeService
package import BrumeStore

/// Contents of assets as files of a data folder: see ``BlobFolder``. Threads of its own wait for the disk.
package final class FolderBlobStore: BlobStore {
    let disk: any Disk
    let threads: DiskThreads
    let space: SpaceWatch
    private let failStop: FailStop
    private let sweepLane: DiskThreads.Lane
    private let folders = Lock<[DatabaseID: Entry]>([:])

    /// What is known of a database.
    private struct Entry {
        let folder: BlobFolder
        var kept = KeptUploads()
        var recovery = Recovery.none
    }

    /// Whether what earlier processes kept is known.
    private enum Recovery {
        case none, running, done
    }

    /// - Parameters:
    ///   - threads: What waits for the disk.
    ///   - space: Whether it has room for uploads.
    ///   - failStop: Ends the server when the disk can't be relied on any more.
    package init(on disk: any Disk, threads: DiskThreads, space: SpaceWatch, failStop: @escaping FailStop) {
        self.space = space
        (self.disk, self.threads, self.failStop) = (disk, threads, failStop)
        sweepLane = threads.makeLane()
    }

    /// There is one of a database as long as the process lives: it knows what is open.
    private func folder(of database: DatabaseID) -> BlobFolder {
        folders.withLock { folders in
            if let known = folders[database] { return known.folder }
            let folder = BlobFolder(of: database, on: disk)
            folders[database] = Entry(folder: folder)
            return folder
        }
    }

    /// What a failure means for who asked. A failed sync ends the server: what was told durable may not be.
    func failure(_ error: DiskError) -> BlobFailure {
        if error.isFailedSync { failStop("the files of assets can't be relied on: \(error)") }
        return error.isFull ? .full : error.isMissing ? .missing : .failed("\(error)")
    }

    func failure(_ error: StoreError) -> BlobFailure {
        switch error {
        case .disk(let error): failure(error)
        case .damaged, .unknownVersion: .damaged("\(error)")
        }
    }

    package func abandon() {
        for entry in folders.withLock({ Array($0.values) }) { entry.folder.abandon() }
        threads.abandon()
    }

    // MARK: Uploads

    package func beginUpload(
        _ upload: BlobUpload.Identity, to database: DatabaseID, of account: ClientShare.Key,
        then done: @escaping @Sendable (Result<UploadBeginning, BlobFailure>) -> Void
    ) {
        let lane = threads.makeLane()
        threads.add(
            { [self] in
                let folder = folder(of: database)
                do throws(DiskError) {
                    try space.check()
                    guard try recoverUploads(of: database, in: folder) else { return done(.success(.busy)) }
                    folders.withLock { $0[database]!.kept.remove(upload) }
                    switch try folder.open(upload) {
                    case .busy: done(.success(.busy))
                    case .complete(let name):
                        try keep(upload, 0, of: database, in: folder)
                        done(.success(.complete(name)))
                    case .open(let opened):
                        FolderUpload(opened, to: database, in: folder, of: self, lane: lane, account: account)
                            .catchUp(then: done)
                    }
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: lane, of: account)
    }

    /// Learns once of the uploads that earlier processes kept, and removes what belongs to none. False while another
    /// thread does: the file of an upload that were opened meanwhile would be taken for one that was left, and removed.
    private func recoverUploads(of database: DatabaseID, in folder: BlobFolder) throws(DiskError) -> Bool {
        let former = folders.withLock { folders in
            let former = folders[database]!.recovery
            if former == .none { folders[database]!.recovery = .running }
            return former
        }
        if former != .none { return former == .done }
        do throws(DiskError) {
            for upload in try folder.recoverUploads() {
                switch upload {
                case .begun(let identity, let byteCount): try keep(identity, byteCount, of: database, in: folder)
                case .complete(let identity, _): try keep(identity, 0, of: database, in: folder)
                }
            }
        } catch {
            folders.withLock { $0[database]!.recovery = .none }
            throw error
        }
        folders.withLock { $0[database]!.recovery = .done }
        return true
    }

    /// Something is kept of an upload that was left, and nothing more of those that have to go for it.
    ///
    /// - Parameter byteCount: Bytes of it that are kept: none when it has become a blob.
    func keep(
        _ upload: BlobUpload.Identity, _ byteCount: UInt64, of database: DatabaseID, in folder: BlobFolder
    ) throws(DiskError) {
        let surplus = folders.withLock { $0[database]!.kept.add(upload, byteCount: byteCount) }
        for old in surplus { _ = try folder.forget(old) }
    }

    // MARK: Blobs

    package func open(
        _ name: BlobName, of database: DatabaseID, for account: ClientShare.Key,
        then done: @escaping @Sendable (Result<any StoredBlob, BlobFailure>) -> Void
    ) {
        let lane = threads.makeLane()
        threads.add(
            { [self] in
                do throws(StoreError) {
                    guard let reader = try folder(of: database).open(name) else { return done(.failure(.missing)) }
                    done(.success(FolderBlob(reader, of: self, lane: lane, account: account)))
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: lane, of: account)
    }

    package func find(
        _ names: [BlobName], of database: DatabaseID, for account: ClientShare.Key,
        then done: @escaping @Sendable (Result<[BlobName: UInt64], BlobFailure>) -> Void
    ) {
        find(names[...], Found(), of: database, for: account, in: threads.makeLane(), then: done)
    }

    /// What a search has found so far.
    ///
    /// `@unchecked Sendable`: used in the search's lane alone.
    private final class Found: @unchecked Sendable {
        var byteCounts: [BlobName: UInt64] = [:]
    }

    /// Looks for some, and for the others when everybody else has had their turns.
    private func find(
        _ names: ArraySlice<BlobName>, _ found: Found, of database: DatabaseID, for account: ClientShare.Key,
        in lane: DiskThreads.Lane, then done: @escaping @Sendable (Result<[BlobName: UInt64], BlobFailure>) -> Void
    ) {
        threads.add(
            { [self] in
                let folder = folder(of: database)
                do throws(DiskError) {
                    for name in names.prefix(FolderBlobStore.foundTogether) where try folder.isDurable(name) {
                        found.byteCounts[name] = try folder.contentByteCount(of: name)
                    }
                } catch {
                    return done(.failure(failure(error)))
                }
                let rest = names.dropFirst(FolderBlobStore.foundTogether)
                if rest.isEmpty { return done(.success(found.byteCounts)) }
                find(rest, found, of: database, for: account, in: lane, then: done)
            }, in: lane, of: account)
    }

    /// Blobs that are looked for in one piece of work.
    private static let foundTogether = 64

    package func remove(
        _ names: [BlobName], of database: DatabaseID, then done: @escaping @Sendable (_ failed: [BlobName]) -> Void
    ) {
        remove(names[...], [], of: database, then: done)
    }

    /// Removes some, and the others when everybody else has had their turns. All removals are in one lane: to free the
    /// room of large files takes long, and transfers need the other threads.
    private func remove(
        _ names: ArraySlice<BlobName>, _ failed: [BlobName], of database: DatabaseID,
        then done: @escaping @Sendable (_ failed: [BlobName]) -> Void
    ) {
        threads.add(
            { [self] in
                let some = Array(names.prefix(FolderBlobStore.removedTogether))
                var failed = failed
                do throws(DiskError) {
                    failed += try folder(of: database).remove(some)
                } catch {
                    _ = failure(error)
                    failed += some
                }
                let rest = names.dropFirst(FolderBlobStore.removedTogether)
                if rest.isEmpty { return done(failed) }
                remove(rest, failed, of: database, then: done)
            }, in: sweepLane, of: .operator)
    }

    package func list(
        _ bucket: UInt8, of database: DatabaseID,
        then done: @escaping @Sendable (Result<[BlobName: UInt64], BlobFailure>) -> Void
    ) {
        threads.add(
            { [self] in
                do throws(DiskError) {
                    let names = try folder(of: database).blobs(inBucket: bucket)
                    if names.isEmpty { return done(.success([:])) }
                    find(names[...], Found(), of: database, for: .operator, in: threads.makeLane(), then: done)
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: sweepLane, of: .operator)
    }

    /// Blobs that are removed in one piece of work.
    private static let removedTogether = 16

}
