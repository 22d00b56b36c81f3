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
    /// What is done for no transfer, one piece after the other.
    let sweepLane: DiskThreads.Lane
    let folders = Lock<[DatabaseID: Entry]>([:])
    /// Seconds that uploads are kept which were left.
    let keptUploadSeconds: UInt32
    private let nowNanoseconds: @Sendable () -> UInt64

    /// What is known of a database, until nobody uses it any more.
    struct Entry {
        var folder: BlobFolder
        var kept = KeptUploads()
        var recovery = Recovery.none
    }

    /// Whether what earlier processes kept is known.
    enum Recovery {
        case none, done
        /// It is being learnt of, or the folders are being removed: what waits for the end of that.
        case running(waiting: [@Sendable (Result<Void, BlobFailure>) -> Void])

        var isRunning: Bool { if case .running = self { true } else { false } }
    }

    /// - Parameters:
    ///   - threads: What waits for the disk.
    ///   - space: Whether it has room for uploads.
    ///   - keptUploadSeconds: How long uploads are kept that were left.
    ///   - nowNanoseconds: A clock that never goes back.
    ///   - failStop: Ends the server when the disk can't be relied on any more.
    package init(
        on disk: any Disk, threads: DiskThreads, space: SpaceWatch,
        keptUploadSeconds: UInt32 = ServerLimits.keptUploadSeconds,
        nowNanoseconds: @escaping @Sendable () -> UInt64, failStop: @escaping FailStop
    ) {
        self.space = space
        (self.disk, self.threads, self.failStop) = (disk, threads, failStop)
        (self.keptUploadSeconds, self.nowNanoseconds) = (keptUploadSeconds, nowNanoseconds)
        sweepLane = threads.makeLane()
    }

    var nowSeconds: UInt32 { UInt32(clamping: nowNanoseconds() / 1_000_000_000) }

    /// There is one of a database as long as anybody uses it: it knows what is open.
    func folder(of database: DatabaseID) -> BlobFolder {
        folders.withLock { folders in
            if let known = folders[database] { return known.folder }
            let folder = BlobFolder(of: database, on: disk)
            folders[database] = Entry(folder: folder)
            return folder
        }
    }

    /// What a failure means for who asked. A failed sync ends the server: what was told durable may not be. So does a
    /// folder that is not the one any more that it was: what is not found in it is not missing.
    func failure(_ error: DiskError) -> BlobFailure {
        if error.isFailedSync || error.isLost { failStop("the files of assets can't be relied on: \(error)") }
        return error.isFull ? .full : error.isMissing ? .missing : .failed("\(error)")
    }

    func failure(_ error: StoreError) -> BlobFailure {
        switch error {
        case .disk(let error): failure(error)
        case .damaged, .unknownVersion: .damaged("\(error)")
        }
    }

    package func abandon() {
        // What waits for something to be learnt refers to what refers to this.
        let entries = folders.withLock { folders in
            let entries = Array(folders.values)
            for id in folders.keys { folders[id]!.recovery = .none }
            return entries
        }
        for entry in entries { entry.folder.abandon() }
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
                begin(upload, to: database, lane, account, then: done)
            }, in: lane, of: account)
    }

    private func begin(
        _ upload: BlobUpload.Identity, to database: DatabaseID, _ lane: DiskThreads.Lane, _ account: ClientShare.Key,
        then done: @escaping @Sendable (Result<UploadBeginning, BlobFailure>) -> Void
    ) {
        let folder = folder(of: database)
        switch learnUploads(
            of: database, in: folder,
            then: { [self] result in
                if case .failure(let failure) = result { return done(.failure(failure)) }
                threads.add(
                    { [self] in begin(upload, to: database, lane, account, then: done) }, in: lane, of: account)
            })
        {
        case .known: break
        case .waiting: return
        case .busy: return done(.success(.busy))
        }
        do throws(DiskError) {
            try space.check()
            switch try folder.open(upload) {
            case .busy: done(.success(.busy))
            case .complete(let name):
                try keep(upload, 0, of: database, in: folder)
                done(.success(.complete(name)))
            case .open(let opened):
                folders.withLock { $0[database]?.kept.remove(upload) }
                FolderUpload(opened, to: database, in: folder, of: self, lane: lane, account: account)
                    .catchUp(then: done)
            }
        } catch {
            done(.failure(failure(error)))
        }
    }

    /// Something is kept of an upload that was left, and nothing more of those that have to go for it.
    ///
    /// - Parameter byteCount: Bytes of it that are kept: none when it has become a blob.
    func keep(
        _ upload: BlobUpload.Identity, _ byteCount: UInt64, of database: DatabaseID, in folder: BlobFolder
    ) throws(DiskError) {
        let now = nowSeconds
        let surplus = folders.withLock {
            $0[database, default: Entry(folder: folder)].kept.add(upload, byteCount: byteCount, now: now)
        }
        if !surplus.isEmpty { try folder.forget(surplus) }
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

    package func buckets(
        of database: DatabaseID, then done: @escaping @Sendable (Result<[UInt8], BlobFailure>) -> Void
    ) {
        threads.add(
            { [self] in
                do throws(DiskError) {
                    done(.success(try folder(of: database).buckets()))
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: sweepLane, of: .operator)
    }

    package func list(
        _ bucket: UInt8, of database: DatabaseID,
        then done: @escaping @Sendable (Result<[(name: BlobName, byteCount: UInt64)], BlobFailure>) -> Void
    ) {
        threads.add(
            { [self] in
                let names: [BlobName]
                do throws(DiskError) {
                    names = try folder(of: database).blobs(inBucket: bucket)
                } catch {
                    return done(.failure(failure(error)))
                }
                if names.isEmpty { return done(.success([])) }
                find(names[...], Found(), of: database, for: .operator, in: threads.makeLane()) { result in
                    done(result.map { found in names.compactMap { name in found[name].map { (name, $0) } } })
                }
            }, in: sweepLane, of: .operator)
    }

    /// Blobs that are removed in one piece of work.
    private static let removedTogether = 16
}
