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
        if FileSystem.exists(assets) { try checkOwner(of: assets, for: dataFolder) }
        return canonical
    }

    /// Checks that only the server's user, or root, can exchange what is in a folder.
    private static func checkOwner(of folder: String, for dataFolder: String) throws(ServerError) {
        let isOwn: Bool
        do throws(SystemError) {
            // Root runs commands on folders of the server's user.
            let users = [0, geteuid(), try FileSystem.owner(dataFolder)]
            isOwn = users.contains(try FileSystem.owner(folder)) && (try FileSystem.permissions(folder)) & 0o022 == 0
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
