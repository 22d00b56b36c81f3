internal import BrumeStore
package import BrumeSystem

/// The contents of a data folder's assets in another folder, on another disk: `DIR/assets` in place of `assets` in the
/// data folder.
///
/// A disk that is not mounted must not pass for a server without assets. So both folders know each other
/// (``AssetPlace``), and whoever uses the data folder finds the right one, or is told what to do.
///
/// Assets are moved by moving the folder `assets`, while no server runs, and by naming its new place at the next start:
/// that start looks for every asset that a record names there, before the new place counts.
package struct AssetsFolder: Sendable {
    /// The data folder with its assets, wherever they are.
    package let disk: RealDisk
    /// The other folder; nil where the data folder has its assets itself.
    package let path: String?
    /// Keeps other servers out of the other folder.
    let lock: DirectoryLock?

    // MARK: For commands

    /// Finds the assets of a data folder, or of a backup, for a command that reads them.
    ///
    /// - Parameters:
    ///   - path: The other folder; nil for where the data folder knows it to be.
    ///   - isRequired: Whether it is an error that a path is named and that the folder has its assets in itself.
    package static func known(
        to dataFolder: String, at path: String? = nil, isRequired: Bool = false
    ) throws(ServerError) -> AssetsFolder {
        guard let place = try place(of: dataFolder), place.kind != .here else {
            if isRequired, let path, !FileSystem.isSame(path, dataFolder) {
                throw ServerError(
                    .assetsNotNamed, "the assets of \(dataFolder) are in that folder itself: leave out --assets")
            }
            return AssetsFolder(disk: RealDisk(folder: dataFolder), path: nil, lock: nil)
        }
        guard place.kind == .elsewhere else { throw notNamed(place, of: dataFolder) }
        let other = try existing(path ?? place.otherPath, for: dataFolder)
        let folder = try held(other)
        try check(other, is: place, of: dataFolder)
        return AssetsFolder(disk: RealDisk(folder: dataFolder, assetsFolder: folder), path: other, lock: nil)
    }

    /// Gives a data folder that is being made, and holds nothing yet, another folder for its assets.
    package static func make(for dataFolder: String, at path: String) throws(ServerError) -> AssetsFolder {
        let opening = AssetsOpening(dataFolder, try existing(path, for: dataFolder))
        return try opening.settle(in: nil)
    }

    /// Undoes ``make(for:at:)``, when what was to be made could not be.
    package func removeMade() {
        guard let path else { return }
        try? FileSystem.removeTree(path + "/" + BlobFolder.root)
        try? FileSystem.remove(path + "/" + AssetPlace.path)
    }

    /// Lets others use the folder.
    package func release() { lock?.release() }

    // MARK: For servers

    /// Opens the assets for a server that has locked the data folder, and moves their place to where the server is told
    /// that they are now.
    ///
    /// - Parameters:
    ///   - path: What `--assets` names.
    ///   - acceptsLoss: Whether the place is changed though assets are missing there, or the folder where they were.
    package static func open(
        for dataFolder: String, at path: String?, log: Log = .none, acceptingLoss acceptsLoss: Bool = false
    ) throws(ServerError) -> AssetsFolder {
        let place = try place(of: dataFolder)
        do throws(SystemError) {
            // A process that ended may have left names that are not durable yet.
            if place != nil { try FileSystem.syncDirectory(dataFolder) }
        } catch {
            throw ServerError(.folder, "\(dataFolder): \(error)")
        }
        let isElsewhere = place?.kind == .elsewhere
        guard let path, !FileSystem.isSame(path, dataFolder) else {
            if let place, place.kind != .here {
                guard path != nil else { throw notNamed(place, of: dataFolder) }
                return try AssetsOpening(dataFolder, place.otherPath, log, acceptingLoss: acceptsLoss).takeBack(place)
            }
            return AssetsFolder(disk: RealDisk(folder: dataFolder), path: nil, lock: nil)
        }
        let other = try existing(path, for: dataFolder)
        let opening = AssetsOpening(dataFolder, other, log, acceptingLoss: acceptsLoss)
        // A disk that is lost for good is followed by an empty one, where that is accepted.
        let isNew = try self.place(of: other) == nil
        let isReplaced = isElsewhere && acceptsLoss && isNew
        return try isElsewhere && !isReplaced
            ? opening.resume(place!) : opening.settle(in: place, isReplacement: isReplaced)
    }

    /// Whether ``open(for:at:log:acceptingLoss:)``, with an accepted loss, has a folder take the place of one that is
    /// lost, though it may be the one on which that one's disk is mounted at other times: nothing tells it from the
    /// folder of a new disk, unless it is on another disk than the data folder and than the folder around it.
    package static func mayBeUnmounted(_ path: String, of dataFolder: String) throws(ServerError) -> Bool {
        guard try place(of: dataFolder)?.kind == .elsewhere, FileSystem.isDirectory(path), try place(of: path) == nil
        else { return false }
        func device(_ path: String) -> UInt64? { try? FileSystem.status(path).version.device }
        return [dataFolder, path + "/.."].contains { device($0) == device(path) }
    }

    // MARK: Parts

    /// A start, or a command, does not say where the assets are, and has to.
    private static func notNamed(_ place: AssetPlace, of dataFolder: String) -> ServerError {
        ServerError(
            .assetsNotNamed,
            """
            the assets of \(dataFolder) \(place.kind == .moving ? "were being moved to" : "are in") \(place.otherPath): \
            start the server with brume serve --assets \(place.otherPath). If its folder \(BlobFolder.root) was moved \
            back, start with --assets \(dataFolder) once
            """)
    }

    /// What a folder says of where assets are.
    static func place(of folder: String) throws(ServerError) -> AssetPlace? {
        guard !FileSystem.isLink(folder + "/" + AssetPlace.path) else {
            throw ServerError(.folder, "\(folder)/\(AssetPlace.path) is a symbolic link, and no file of its own")
        }
        do throws(StoreError) {
            return try AssetPlace.read(from: RealDisk(folder: folder))
        } catch {
            switch error {
            case .disk(let error):
                throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(folder): \(error)")
            case .damaged, .unknownVersion:
                throw ServerError(
                    .damaged,
                    """
                    \(folder)/\(error). If it is damaged: move the folder \(BlobFolder.root) into the data folder, remove \
                    the file there, and run brume verify --accept-loss, which checks that all is there
                    """)
            }
        }
    }

    /// Holds a folder for assets open, so that it stays the one that it is.
    static func held(_ path: String) throws(ServerError) -> OpenFolder {
        do throws(SystemError) {
            return try OpenFolder(path)
        } catch {
            throw ServerError(error.isForbidden ? .notPermitted : .folder, "\(error)")
        }
    }

    /// Checks that a folder is the one that the data folder means, and returns what it says of itself.
    @discardableResult
    static func check(_ path: String, is place: AssetPlace, of dataFolder: String) throws(ServerError) -> AssetPlace {
        guard let own = try self.place(of: path), own.kind == .holder else {
            throw ServerError(
                .assetsMissing,
                """
                \(path) is not the folder with the assets of \(dataFolder): it has no \(AssetPlace.path). Is its disk \
                mounted? The assets were in \(place.otherPath)
                """)
        }
        guard own.id == place.id else {
            throw ServerError(
                .assetsConflict,
                """
                \(path) has the assets of another data folder, \(own.otherPath), and not those of \(dataFolder), which \
                are in \(place.otherPath)\(FileSystem.isSame(own.otherPath, dataFolder) ? ": it was given up" : "")
                """)
        }
        guard FileSystem.isDirectory(path + "/" + BlobFolder.root) else {
            throw ServerError(
                .damaged, "\(path)/\(BlobFolder.root) is missing: it had the assets of \(dataFolder)")
        }
        return own
    }
}
