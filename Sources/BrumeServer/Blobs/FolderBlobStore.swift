internal import BrumeLock
package import BrumeModel
package import BrumeService
package import BrumeStore

/// Contents of assets as files of a data folder: see ``BlobFolder``. Threads of its own wait for the disk.
package final class FolderBlobStore: BlobStore {
    let disk: any Disk
    let threads: DiskThreads
    private let failStop: FailStop
    private let folders = Lock<[DatabaseID: BlobFolder]>([:])

    /// - Parameters:
    ///   - threads: What waits for the disk.
    ///   - failStop: Ends the server when the disk can't be relied on any more.
    package init(on disk: any Disk, threads: DiskThreads, failStop: @escaping FailStop) {
        (self.disk, self.threads, self.failStop) = (disk, threads, failStop)
    }

    /// There is one of a database as long as the process lives: it knows what is open.
    private func folder(of database: DatabaseID) -> BlobFolder {
        folders.withLock { folders in
            if let known = folders[database] { return known }
            let folder = BlobFolder(of: database, on: disk)
            folders[database] = folder
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
                    switch try folder.open(upload) {
                    case .busy: done(.success(.busy))
                    case .complete(let name): done(.success(.complete(name)))
                    case .open(let opened):
                        FolderUpload(opened, in: folder, of: self, lane: lane, account: account).catchUp(then: done)
                    }
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: lane, of: account)
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
        find(names[...], [:], of: database, for: account, in: threads.makeLane(), then: done)
    }

    /// Looks for some, and for the others when everybody else has had their turns.
    private func find(
        _ names: ArraySlice<BlobName>, _ before: [BlobName: UInt64], of database: DatabaseID,
        for account: ClientShare.Key, in lane: DiskThreads.Lane,
        then done: @escaping @Sendable (Result<[BlobName: UInt64], BlobFailure>) -> Void
    ) {
        threads.add(
            { [self] in
                let folder = folder(of: database)
                var found = before
                do throws(DiskError) {
                    for name in names.prefix(FolderBlobStore.foundTogether) where try folder.isDurable(name) {
                        found[name] = try folder.contentByteCount(of: name)
                    }
                } catch {
                    return done(.failure(failure(error)))
                }
                let rest = names.dropFirst(FolderBlobStore.foundTogether)
                if rest.isEmpty { return done(.success(found)) }
                find(rest, found, of: database, for: account, in: lane, then: done)
            }, in: lane, of: account)
    }

    /// Blobs that are looked for in one piece of work.
    private static let foundTogether = 64

    package func remove(
        _ names: [BlobName], of database: DatabaseID, then done: @escaping @Sendable (_ failed: [BlobName]) -> Void
    ) {
        threads.add(
            { [self] in
                do throws(DiskError) {
                    done(try folder(of: database).remove(names))
                } catch {
                    _ = failure(error)
                    done(names)
                }
            }, in: threads.makeLane(), of: .operator)
    }
}
