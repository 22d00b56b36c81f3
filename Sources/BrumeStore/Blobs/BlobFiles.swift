internal import BrumeModel

/// The files of all stored assets in a data folder, for those who copy or count them; see ``BlobFolder``.
///
/// They are listed a bucket at a time: of so many is the memory that it takes. Other files are left out, uploads too.
struct BlobFiles {
    /// One of the 256 folders of a database.
    struct Bucket {
        /// The name of the database among others.
        let database: String
        /// `assets/DATABASE/XX`.
        let path: String
        let names: [BlobName]
        /// The file that tells the database's name, before the first bucket of a database whose folder's name doesn't.
        let signaturePath: String?

        /// The folder of the database.
        var databasePath: String { BlobFolder.root + "/" + database }

        func path(of name: BlobName) -> String { path + "/" + name.fileName }
    }

    let disk: any Disk

    init(on disk: any Disk) { self.disk = disk }

    /// Visits the buckets that are not empty: those of a database together, databases and buckets in the order of their
    /// names.
    func forEachBucket(_ visit: (Bucket) throws(DiskError) -> Void) throws(DiskError) {
        for database in try disk.listFolders(BlobFolder.root) where SnapshotFormat.isName(database) {
            let folder = BlobFolder.root + "/" + database
            var signature = SnapshotFormat.isDigest(database) ? folder + "/" + DatabaseFolders.signature : nil
            for bucket in try disk.listFolders(folder) where [UInt8](hexadecimal: bucket)?.count == 1 {
                let path = folder + "/" + bucket
                let names = try disk.list(path).compactMap { BlobName(fileName: $0) }
                    .filter { [$0.bucket].hexadecimal == bucket }
                if names.isEmpty { continue }
                try visit(Bucket(database: database, path: path, names: names, signaturePath: signature))
                signature = nil
            }
        }
    }

    /// How many there are, and the bytes of their files. Those that are removed meanwhile are left out.
    func count() throws(DiskError) -> (files: Int, byteCount: UInt64) {
        var (files, byteCount) = (0, UInt64(0))
        try forEachBucket { (bucket) throws(DiskError) in
            for name in bucket.names {
                guard let file = try open(bucket.path(of: name)) else { continue }
                defer { disk.close(file) }
                byteCount += try disk.size(of: file)
                files += 1
            }
        }
        return (files, byteCount)
    }

    /// Opens a file; nil when it is gone by now.
    func open(_ path: String) throws(DiskError) -> DiskFile? {
        do throws(DiskError) {
            return try disk.openForReading(path)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// Whether a data folder may have an asset's file at a path, or one that tells the name of a folder's database.
    static func isPath(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.count == 3, parts[0] == BlobFolder.root, parts[2] == DatabaseFolders.signature {
            return SnapshotFormat.isName(parts[1]) && SnapshotFormat.isDigest(parts[1])
        }
        guard parts.count == 4, parts[0] == BlobFolder.root, SnapshotFormat.isName(parts[1]),
            let name = BlobName(fileName: parts[3]), name.fileName == parts[3]
        else { return false }
        return parts[2] == [name.bucket].hexadecimal
    }
}
