internal import BrumeLock
package import BrumeModel
package import BrumeService
internal import BrumeStore

/// What is left in the folders of databases: uploads that broke, and folders that hold nothing any more.
extension FolderBlobStore {
    package func databases(then done: @escaping @Sendable (Result<[DatabaseID], BlobFailure>) -> Void) {
        threads.add(
            { [self] in
                do throws(DiskError) {
                    done(.success(try DatabaseFolders.databases(on: disk)))
                } catch {
                    done(.failure(failure(error)))
                }
            }, in: sweepLane, of: .operator)
    }

    package func recoverUploads(of database: DatabaseID, then done: @escaping @Sendable () -> Void) {
        threads.add(
            { [self] in
                if learnUploads(of: database, in: folder(of: database), then: { _ in done() }) != .waiting { done() }
            }, in: sweepLane, of: .operator)
    }

    // MARK: What was left before the start

    /// Whether it is known what earlier processes kept of uploads to a database.
    enum Learning {
        case known
        /// `then` will be called.
        case waiting
        /// Many wait already.
        case busy
    }

    /// So many wait for what is being learnt of a database. Others come back.
    private static let waitingMax = 64

    /// Learns once of the uploads that earlier processes kept, and removes what belongs to none, in a lane of its own.
    /// `then` is called when that is over, if it is not known yet.
    ///
    /// No upload is opened meanwhile: its file would be taken for one that was left, and removed.
    func learnUploads(
        of database: DatabaseID, in folder: BlobFolder, then: @escaping @Sendable (Result<Void, BlobFailure>) -> Void
    ) -> Learning {
        let (learning, begins) = folders.withLock { folders -> (Learning, Bool) in
            switch folders[database, default: Entry(folder: folder)].recovery {
            case .done: return (.known, false)
            case .running(let waiting) where waiting.count >= FolderBlobStore.waitingMax: return (.busy, false)
            case .running(let waiting):
                folders[database]!.recovery = .running(waiting: waiting + [then])
                return (.waiting, false)
            case .none:
                folders[database, default: Entry(folder: folder)].recovery = .running(waiting: [then])
                return (.waiting, true)
            }
        }
        if begins {
            let lane = threads.makeLane()
            threads.add({ [self] in learn(of: database, in: folder, lane) }, in: lane, of: .operator)
        }
        return learning
    }

    private func learn(of database: DatabaseID, in folder: BlobFolder, _ lane: DiskThreads.Lane) {
        do throws(DiskError) {
            goOn(RunningRecovery(try folder.makeRecovery()), of: database, in: folder, lane)
        } catch {
            ended(database, .none, .failure(failure(error)))
        }
    }

    /// `@unchecked Sendable`: used in one lane.
    private final class RunningRecovery: @unchecked Sendable {
        var recovery: UploadRecovery

        init(_ recovery: UploadRecovery) { self.recovery = recovery }
    }

    /// Learns some, and the rest when others have had their turns.
    private func goOn(
        _ running: RunningRecovery, of database: DatabaseID, in folder: BlobFolder, _ lane: DiskThreads.Lane
    ) {
        do throws(DiskError) {
            for upload in try running.recovery.step() {
                switch upload {
                case .begun(let identity, let byteCount): try keep(identity, byteCount, of: database, in: folder)
                case .complete(let identity, _): try keep(identity, 0, of: database, in: folder)
                }
            }
        } catch {
            return ended(database, .none, .failure(failure(error)))
        }
        if running.recovery.isDone { return ended(database, .done, .success(())) }
        if threads.isStopping { return ended(database, .none, .failure(.failed("the server stops"))) }
        threads.add({ [self] in goOn(running, of: database, in: folder, lane) }, in: lane, of: .operator)
    }

    /// What nobody else may do meanwhile is over.
    private func ended(_ database: DatabaseID, _ recovery: Recovery, _ result: Result<Void, BlobFailure>) {
        let former = folders.withLock { folders in
            let former = folders[database]?.recovery
            folders[database]?.recovery = recovery
            return former
        }
        if case .running(let waiting)? = former { for then in waiting { then(result) } }
    }

    // MARK: What goes

    /// Databases that are looked at, and uploads that are forgotten, in one piece of work.
    private static let databasesLookedAt = 256
    private static let uploadsForgotten = 16

    package func forgetOldUploads(then done: @escaping @Sendable () -> Void) {
        threads.add(
            { [self] in
                // In an order that is always the same.
                let databases = folders.withLock { Array($0.keys) }.sorted { $0.isBefore($1) }
                forgetOldUploads(of: databases[...], then: done)
            }, in: sweepLane, of: .operator)
    }

    private func forgetOldUploads(of databases: ArraySlice<DatabaseID>, then done: @escaping @Sendable () -> Void) {
        var rest = databases
        var left = FolderBlobStore.uploadsForgotten
        while let id = rest.first, left > 0, databases.count - rest.count < FolderBlobStore.databasesLookedAt {
            left -= forgetOldUploads(of: id, limit: left)
            // There may be more of it.
            if left > 0 {
                letGo(id)
                rest = rest.dropFirst()
            }
        }
        if rest.isEmpty || threads.isStopping { return done() }
        threads.add({ [self, rest] in forgetOldUploads(of: rest, then: done) }, in: sweepLane, of: .operator)
    }

    /// Forgets some of a database's uploads, and returns how many.
    private func forgetOldUploads(of database: DatabaseID, limit: Int) -> Int {
        let now = nowSeconds
        guard now >= keptUploadSeconds else { return 0 }
        let taken = folders.withLock { folders -> (old: [KeptUploads.Kept], folder: BlobFolder)? in
            guard let old = folders[database]?.kept.take(limit, leftUpTo: now - keptUploadSeconds), !old.isEmpty
            else { return nil }
            return (old, folders[database]!.folder)
        }
        guard let (old, folder) = taken else { return 0 }
        do throws(DiskError) {
            // Those that somebody has open are kept again when they are left.
            try folder.forget(old.map(\.upload))
            return old.count
        } catch {
            _ = failure(error)
            // They are tried again when as much time has passed.
            for kept in old {
                do throws(DiskError) {
                    try keep(kept.upload, kept.byteCount, of: database, in: folder)
                } catch {
                    _ = failure(error)
                }
            }
            return 0
        }
    }

    /// Forgets a database that nobody uses, and of which no upload is kept.
    private func letGo(_ database: DatabaseID) {
        folders.withLock { if FolderBlobStore.isUnused(database, in: &$0) { $0[database] = nil } }
    }

    package func tidy(_ database: DatabaseID, then done: @escaping @Sendable () -> Void) {
        threads.add(
            { [self] in
                if let folder = claim(database) {
                    do throws(DiskError) { try folder.removeEmptyFolders() } catch { _ = failure(error) }
                    ended(database, .none, .success(()))
                }
                done()
            }, in: sweepLane, of: .operator)
    }

    /// Keeps all uploads from a database's folder for a while; nil when somebody uses it, or uploads are kept.
    private func claim(_ database: DatabaseID) -> BlobFolder? {
        _ = folder(of: database)
        return folders.withLock { folders in
            guard FolderBlobStore.isUnused(database, in: &folders) else { return nil }
            folders[database]!.recovery = .running(waiting: [])
            return folders[database]!.folder
        }
    }

    /// Whether a database is known of which no upload is kept, and nobody but the table has its folder.
    private static func isUnused(_ database: DatabaseID, in folders: inout [DatabaseID: Entry]) -> Bool {
        guard folders[database]?.kept.isEmpty == true, folders[database]?.recovery.isRunning == false else {
            return false
        }
        return isKnownUniquelyReferenced(&folders[database]!.folder)
    }
}
