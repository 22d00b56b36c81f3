internal import BrumeStore
internal import BrumeSystem

/// The steps that open another folder for assets (``AssetsFolder``), or make it the place where they are.
struct AssetsOpening {
    private let dataFolder: String
    /// The other folder.
    private let path: String
    private let log: Log
    private let acceptsLoss: Bool

    init(_ dataFolder: String, _ path: String, _ log: Log = .none, acceptingLoss acceptsLoss: Bool = false) {
        (self.dataFolder, self.path, self.log, self.acceptsLoss) = (dataFolder, path, log, acceptsLoss)
    }

    private var ownAssets: String { dataFolder + "/" + BlobFolder.root }
    private var otherAssets: String { path + "/" + BlobFolder.root }

    private func disk(_ folder: OpenFolder) -> RealDisk { RealDisk(folder: dataFolder, assetsFolder: folder) }

    /// Opens the folder where the assets are known to be, which may have been moved.
    func resume(_ place: AssetPlace) throws(ServerError) -> AssetsFolder {
        try AssetsFolder.check(path, is: place, of: dataFolder)
        let (folder, lock) = (try AssetsFolder.held(path), try lock())
        // What holds now holds as long as the lock.
        let holder = try AssetsFolder.check(path, is: place, of: dataFolder)
        if try holdsFiles(ownAssets) {
            throw ServerError(
                .assetsConflict,
                """
                \(ownAssets) has files, but the assets are in \(otherAssets), and nothing reads them in the data folder: \
                move them away, or if assets were moved back, start with --assets \(dataFolder) once
                """)
        }
        try checkTime(of: holder, for: place)
        try checkName(of: folder)
        if place.otherPath != path {
            try checkPresence(on: disk(folder), in: otherAssets)
            try syncMoved()
        }
        try renew(place, holder)
        return AssetsFolder(disk: disk(folder), path: path, lock: lock)
    }

    /// Gives both files another use, so that a copy of either, as it was until now, is not taken for it later.
    private func renew(_ place: AssetPlace, _ holder: AssetPlace) throws(ServerError) {
        let use = SecureRandom.bytes(AssetPlace.idBytes)
        let home = canonical(dataFolder)
        func write(_ kind: AssetPlace.Kind, former: [UInt8]? = nil, _ otherPath: String, to folder: String)
            throws(ServerError)
        {
            try self.write(
                AssetPlace(id: place.id, kind: kind, use: use, formerUse: former, otherPath: otherPath), to: folder)
        }
        do throws(ServerError) {
            try write(.holder, former: place.use, home, to: path)
            try write(.elsewhere, path, to: dataFolder)
            try write(.holder, home, to: path)
        } catch {
            // A server starts on a full disk, to be read from. Files that belong together still do.
            guard error.code == .diskFull, holder.isOfOneTime(with: place), place.otherPath == path else { throw error }
            log.warning(
                "an older copy of the data folder would not be told from it: there is no room to note this start",
                [("error", error.message)])
        }
        if place.otherPath != path {
            log.info("the folder of the assets has another path", [("was", place.otherPath), ("is", path)])
        }
        if holder.otherPath != home {
            log.warning(
                "the data folder has another path than when these assets were last used: is it no copy?",
                [("was", holder.otherPath), ("is", home)])
        }
    }

    /// Makes the folder the place of the assets: a new one, or one into which they were moved.
    ///
    /// - Parameters:
    ///   - former: What the data folder knows of an attempt that was interrupted, or of an earlier place.
    ///   - isReplacement: Whether that place is given up, with the assets in it.
    func settle(in former: AssetPlace?, isReplacement: Bool = false) throws(ServerError) -> AssetsFolder {
        if try holdsFiles(ownAssets) {
            throw ServerError(
                .assetsConflict,
                """
                the assets of \(dataFolder) are in \(ownAssets). To have them in \(path), move the folder while no server \
                runs (mv \(ownAssets) \(path)/), and start with --assets again: it looks for every asset there first
                """)
        }
        try checkOwnership(former)
        let (folder, lock) = (try AssetsFolder.held(path), try lock())
        let holder = try checkOwnership(former)
        let named = try checkPresence(on: disk(folder), in: otherAssets)
        if named == 0, !acceptsLoss, try holdsFiles(otherAssets) {
            throw ServerError(
                .assetsConflict,
                """
                \(otherAssets) has files, and no record of \(dataFolder) names an asset: is it another server's? If not, \
                remove that folder
                """)
        }
        // A disk that is given up and comes back is not the one with the assets.
        let known = isReplacement ? nil : former?.id
        let id = known ?? SecureRandom.bytes(AssetPlace.idBytes)
        let use = SecureRandom.bytes(AssetPlace.idBytes)
        try checkName(of: folder)
        do throws(SystemError) {
            try FileSystem.makeDurableDirectory(otherAssets)
        } catch {
            throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(path): \(error)")
        }
        try syncMoved()
        try write(AssetPlace(id: id, kind: .moving, use: use, formerUse: holder?.use, otherPath: path), to: dataFolder)
        try write(AssetPlace(id: id, kind: .holder, use: use, otherPath: canonical(dataFolder)), to: path)
        try write(AssetPlace(id: id, kind: .elsewhere, use: use, otherPath: path), to: dataFolder)
        log.info("assets are in a folder of their own from now on", [("folder", path), ("assets", String(named))])
        if let one = try? FileSystem.status(path).version, let other = try? FileSystem.status(dataFolder).version,
            one.device == other.device
        {
            log.warning("the folder of the assets is on the data folder's disk: is another one not mounted?")
        }
        return AssetsFolder(disk: disk(folder), path: path, lock: lock)
    }

    /// Makes the data folder the place of the assets again, into which they were moved.
    func takeBack(_ place: AssetPlace) throws(ServerError) -> AssetsFolder {
        // Where they come from need not be there any more.
        if let holder = try? AssetsFolder.place(of: path), holder.kind == .holder, holder.id == place.id {
            try checkTime(of: holder, for: place)
        }
        let disk = RealDisk(folder: dataFolder)
        let named = try checkPresence(on: disk, in: ownAssets)
        do throws(SystemError) {
            try FileSystem.makeDurableDirectory(ownAssets)
            try FileSystem.syncFileSystem(of: dataFolder)
        } catch {
            throw ServerError(.folder, "\(dataFolder): \(error)")
        }
        try write(
            AssetPlace(id: place.id, kind: .here, use: place.use, otherPath: place.otherPath), to: dataFolder)
        log.info("assets are in the data folder again", [("was", place.otherPath), ("assets", String(named))])
        return AssetsFolder(disk: disk, path: nil, lock: nil)
    }

    /// Makes assets durable that were moved here: who moved them may not have, and where they were they are no more.
    private func syncMoved() throws(ServerError) {
        do throws(SystemError) {
            try FileSystem.syncFileSystem(of: path)
        } catch {
            throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(path): \(error)")
        }
    }

    // MARK: Checks

    /// Checks that the folder that is held is the one that was looked at by its path.
    private func checkName(of folder: OpenFolder) throws(ServerError) {
        if folder.isNamed { return }
        throw ServerError(.assetsMissing, "\(path) was exchanged while it was opened: is its disk mounted?")
    }

    /// Checks that both folders were last used by one start: none of the two is a copy from before.
    private func checkTime(of holder: AssetPlace, for place: AssetPlace) throws(ServerError) {
        if acceptsLoss || holder.isOfOneTime(with: place) { return }
        throw ServerError(
            .assetsConflict,
            """
            \(path) was last used with another state of \(dataFolder), as \(holder.otherPath): one of the two is an \
            older copy, or a copy was started. Nothing was changed. Bring back the one that belongs to the other: a server \
            on these two would remove every asset that this data folder does not know. To go on with them nonetheless, \
            brume verify \(dataFolder) --assets \(path) tells what is missing, and with --accept-loss makes them a pair
            """)
    }

    /// Checks that the folder is no other data folder's, nor one of something else. Returns what it says of itself.
    @discardableResult
    private func checkOwnership(_ former: AssetPlace?) throws(ServerError) -> AssetPlace? {
        if let own = try AssetsFolder.place(of: path) {
            guard own.kind == .holder, own.id == former?.id else {
                throw ServerError(
                    .assetsConflict,
                    """
                    \(path) has the assets of another data folder, \(own.otherPath), and not those of \(dataFolder): \
                    name a folder that is empty
                    """)
            }
            if let former { try checkTime(of: own, for: former) }
            return own
        }
        let names: [String]
        do throws(SystemError) {
            names = try FileSystem.list(path)
        } catch {
            throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(path): \(error)")
        }
        let foreign = names.first { name in
            !name.hasPrefix(".")
                && ![BlobFolder.root, "lock", "lost+found", AssetPlace.path + ".tmp"].contains(name)
        }
        if let foreign {
            throw ServerError(
                .assetsConflict,
                "\(path) has other files, such as \(foreign): name a folder that is empty, or has nothing but assets")
        }
        return nil
    }

    /// Checks that every asset that a record names is there, as far as the ends of the files tell, unless a loss is
    /// accepted. Returns how many there are.
    @discardableResult
    private func checkPresence(on disk: RealDisk, in folder: String) throws(ServerError) -> Int {
        let verification: Verification
        if acceptsLoss { return 0 }
        do throws(StoreError) {
            guard try MetaFile.isOpened(disk) else { return 0 }
            log.info("looking for every asset that a record names", [("folder", folder)])
            do throws(DiskError) {
                verification = try Verification(of: disk, exceptContentOf: { _ in true })
            } catch {
                throw .disk(error)
            }
        } catch {
            if case .disk = error { throw ServerError(.folder, "\(dataFolder): \(error)") }
            throw ServerError(damaged: dataFolder, error)
        }
        // Where the whole folder is missing, each of its assets is, and these are counted below.
        if let problem = verification.problems.first(where: { $0.file != BlobFolder.root }) {
            throw ServerError(
                .damaged,
                """
                \(dataFolder)/\(problem.file) at byte \(problem.offset): \(problem.problem). The place of the assets is \
                not changed in a damaged folder: brume help verify tells what to do
                """)
        }
        let assets = verification.assets
        if let problem = assets.problems.first {
            let count = assets.problems.count + assets.furtherProblemCount
            throw ServerError(
                .damaged,
                """
                \(folder) lacks \(count) of the \(count + assets.wholeCount) assets that records name, such as \
                \(problem.file): \(problem.problem) (affects \(problem.affects)). Nothing was changed: move all of the \
                folder \(BlobFolder.root) there first. What is lost for good is given up with brume verify --assets DIR \
                --accept-loss
                """)
        }
        return assets.wholeCount
    }

    /// Whether there is any file in a folder, which may be missing, or in those inside of it. A link is a file.
    private func holdsFiles(_ folder: String) throws(ServerError) -> Bool {
        guard FileSystem.exists(folder) else { return false }
        guard FileSystem.isDirectory(folder), !FileSystem.isLink(folder) else { return true }
        let names: [String]
        do throws(SystemError) {
            names = try FileSystem.list(folder)
        } catch {
            throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(folder): \(error)")
        }
        for name in names where try holdsFiles(folder + "/" + name) { return true }
        return false
    }

    private func lock() throws(ServerError) -> DirectoryLock {
        do throws(SystemError) {
            return try DirectoryLock(directory: path)
        } catch {
            throw ServerError(folderNotLocked: path, error)
        }
    }

    private func write(_ place: AssetPlace, to folder: String) throws(ServerError) {
        do throws(DiskError) {
            try place.write(to: RealDisk(folder: folder))
        } catch {
            throw ServerError(
                error.isFull ? .diskFull : error.isForbidden ? .notPermitted : .folder, "\(folder): \(error)")
        }
    }

    private func canonical(_ path: String) -> String { (try? FileSystem.canonicalPath(path)) ?? path }
}
