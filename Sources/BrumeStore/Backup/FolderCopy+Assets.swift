/// The contents of assets, which are copied behind the records.
///
/// They never change, and a server removes none that a record named a day ago (``StoreLimits/assetGraceSeconds``). So
/// all that the copied snapshots name is there still, whatever the server does meanwhile, unless the copy takes longer:
/// then what is missing is found when the copy is verified. Those that are there and that no record of the copy names
/// are copied too; a server that opens the copy removes them in time.
extension FolderCopy {
    /// Puts the content of an earlier copy in the place of one that is to be made, of a file with so many bytes: true
    /// when it has; see ``EarlierCopy``.
    package typealias Adoption = (_ path: String, _ byteCount: UInt64) throws(DiskError) -> Bool

    /// The bytes that are copied of what an earlier copy has no file for; of the folder as it is now.
    package func byteCount(beside earlier: EarlierCopy) throws(DiskError) -> UInt64 {
        let files = BlobFiles(on: disk)
        var count = items.reduce(0) { $0 + $1.byteCount }
        try files.forEachBucket { (bucket) throws(DiskError) in
            let present = Set(try earlier.disk.list(bucket.path))
            for name in bucket.names where !present.contains(name.fileName) {
                guard let file = try files.open(bucket.path(of: name)) else { continue }
                defer { disk.close(file) }
                count += try disk.size(of: file)
            }
        }
        return count
    }

    /// Copies them to a folder.
    ///
    /// - Parameter adopt: Asked for each first; nil copies all.
    func copyAssets(
        to target: any Disk, adopting adopt: Adoption?, progress: (UInt64) -> Void
    ) throws(DiskError) {
        var madeFolders = Set<String>()
        func makeFolder(_ path: String, in parent: String) throws(DiskError) {
            guard madeFolders.insert(path).inserted else { return }
            try target.makeDirectory(path)
            try target.syncDirectory(parent)
        }
        let files = BlobFiles(on: disk)
        try files.forEachBucket { (bucket) throws(DiskError) in
            try makeFolder(BlobFolder.root, in: "")
            try makeFolder(bucket.databasePath, in: BlobFolder.root)
            // Before the first bucket, whose name is made durable with it.
            if let path = bucket.signaturePath, let input = try files.open(path) {
                defer { disk.close(input) }
                try copy(input, to: path, on: target, reading: readAsset, progress: progress)
            }
            try makeFolder(bucket.path, in: bucket.databasePath)
            for name in bucket.names {
                let path = bucket.path(of: name)
                guard let input = try files.open(path) else { continue }
                defer { disk.close(input) }
                let byteCount = try disk.size(of: input)
                if let adopt, try adopt(path, byteCount) {
                    progress(byteCount)
                } else {
                    try copy(input, to: path, on: target, reading: readAsset, progress: progress)
                }
            }
            try target.syncDirectory(bucket.path)
        }
    }

    /// Copies them to a backup file.
    func addAssets(to writer: inout BackupFileWriter, progress: (UInt64) -> Void) throws(DiskError) {
        let files = BlobFiles(on: disk)
        try files.forEachBucket { (bucket) throws(DiskError) in
            if let path = bucket.signaturePath, let input = try files.open(path) {
                defer { disk.close(input) }
                try add(input, named: path, to: &writer, reading: readAsset, progress: progress)
            }
            for name in bucket.names {
                let path = bucket.path(of: name)
                guard let input = try files.open(path) else { continue }
                defer { disk.close(input) }
                try add(input, named: path, to: &writer, reading: readAsset, progress: progress)
            }
        }
    }

    /// Reads a part of an asset's file. What the disk does not give is zeros in the copy: one photo that can't be read
    /// must not keep all else from being backed up, and whoever verifies the copy finds it.
    private func readAsset(_ input: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        do throws(DiskError) {
            return try disk.read(input, at: offset, length: length)
        } catch {
            let size = try disk.size(of: input)
            return [UInt8](repeating: 0, count: Int(min(UInt64(length), size - min(offset, size))))
        }
    }
}
