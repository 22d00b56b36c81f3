package import BrumeModel

/// The folders of databases' assets in a data folder, by their names: see ``BlobFolder``.
///
/// The name of a folder tells which database it is of, unless it is a digest, for a name that would be too long. Then a
/// file in it does, which nobody has to believe: its digest is the folder's name.
package enum DatabaseFolders {
    /// The file that tells the name of a folder's database where the folder's own name doesn't.
    static let signature = "database"

    /// The databases that have folders. A folder that does not tell is left out.
    package static func databases(on disk: any Disk) throws(DiskError) -> [DatabaseID] {
        try disk.listFolders(BlobFolder.root).compactMap { database(ofFolder: $0, on: disk) }
    }

    private static func database(ofFolder folder: String, on disk: any Disk) -> DatabaseID? {
        var name = folder
        if SnapshotFormat.isDigest(folder) {
            let path = BlobFolder.root + "/" + folder + "/" + signature
            // What the disk does not give is as good as not there.
            guard let bytes = try? disk.readFile(path, limit: UInt64(SnapshotFormat.identityLimit)),
                let text = String(validating: bytes, as: UTF8.self)
            else { return nil }
            name = text
        }
        guard let id = SnapshotFormat.database(named: name), SnapshotFormat.name(of: id, on: disk) == folder
        else { return nil }
        return id
    }

    /// Has a folder tell its database's name, durably, if it doesn't yet.
    static func sign(_ path: String, for database: DatabaseID, on disk: any Disk) throws(DiskError) {
        guard path.split(separator: "/").last.map({ SnapshotFormat.isDigest(String($0)) }) == true else { return }
        let identity = Array(SnapshotFormat.identity(of: database).utf8)
        let file = path + "/" + signature
        // One that can't be read is written anew.
        if let former = try? disk.readFile(file, limit: UInt64(SnapshotFormat.identityLimit)), former == identity {
            return
        }
        try disk.replaceFile(file, in: path, with: identity)
    }

    /// Removes a folder that holds no other one.
    static func remove(_ path: String, on disk: any Disk) throws(DiskError) {
        // Otherwise a power cut might bring back what was in it, and nobody would know whose it is.
        try disk.syncDirectory(path)
        for name in [signature, signature + temporaryFileSuffix] where try disk.list(path).contains(name) {
            try disk.remove(path + "/" + name)
        }
        // One that holds something of somebody else's stays.
        try? disk.removeDirectory(path)
    }
}
