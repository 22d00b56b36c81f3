internal import BrumeStore
internal import BrumeSystem
internal import Glibc

/// What a path has to be that is named for assets.
extension AssetsFolder {
    /// The path of a folder for assets, without links, which exists.
    static func existing(_ path: String, for dataFolder: String) throws(ServerError) -> String {
        guard FileSystem.isDirectory(path) else {
            throw ServerError(
                .assetsMissing, "there is no folder \(path) with the assets of \(dataFolder): is its disk mounted?")
        }
        guard !FileSystem.stands(path, in: dataFolder), !FileSystem.stands(dataFolder, in: path) else {
            throw ServerError(
                .assetsNotNamed, "\(path) and the data folder \(dataFolder) are not two folders side by side")
        }
        let canonical: String
        do throws(SystemError) {
            canonical = try FileSystem.canonicalPath(path)
        } catch {
            throw ServerError(.folder, "\(error)")
        }
        let assets = canonical + "/" + BlobFolder.root
        try checkOwner(of: canonical, for: dataFolder)
        if FileSystem.exists(assets) {
            try checkOwner(of: assets, for: dataFolder)
            try checkDisk(of: assets, in: canonical)
        }
        return canonical
    }

    /// Checks that the folder of assets is on the disk on which its folder has the file that tells whose it is: a disk
    /// of its own, or one that a link leads to, may not be there when the file is.
    private static func checkDisk(of assets: String, in folder: String) throws(ServerError) {
        func device(_ path: String) -> UInt64? { try? FileSystem.status(path).version.device }
        if FileSystem.isLink(assets) || !FileSystem.isDirectory(assets) {
            throw ServerError(
                .assetsConflict,
                "\(assets) is a symbolic link, or no folder: name the folder with --assets in which assets are one")
        }
        guard let own = device(assets), own == device(folder) else {
            throw ServerError(
                .assetsConflict,
                """
                \(assets) is another disk than \(folder): have that disk mounted on \(folder), or name a folder on it, \
                with the assets in its folder \(BlobFolder.root)
                """)
        }
    }

    /// Checks that only the server's user, or root, can exchange what is in a folder.
    private static func checkOwner(of folder: String, for dataFolder: String) throws(ServerError) {
        let isOwn: Bool
        do throws(SystemError) {
            // Root runs commands on folders of the server's user.
            let users = [0, geteuid(), try FileSystem.owner(dataFolder)]
            let (owner, permissions) = (try FileSystem.owner(folder), try FileSystem.permissions(folder))
            isOwn = users.contains(owner) && permissions & 0o022 == 0
        } catch {
            throw ServerError(.folder, "\(error)")
        }
        guard isOwn else {
            throw ServerError(
                .notPermitted,
                """
                \(folder) can be changed by others than the server's user: make it that user's (chown), and let nobody \
                else write to it (chmod go-w)
                """)
        }
    }
}
