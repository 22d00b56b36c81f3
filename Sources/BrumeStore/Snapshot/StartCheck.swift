/// Which snapshots a start reads whole before it serves: all of them, as long as they are few enough, so that damage
/// anywhere in the folder stops it; none of them otherwise. What is not read then is read after the start, by a
/// ``SnapshotSweep``.
package struct StartCheck: Equatable, Sendable {
    /// At most so many files …
    package let files: Int
    /// … of so many bytes together.
    package let bytes: UInt64

    package init(files: Int, bytes: UInt64) {
        self.files = files
        self.bytes = bytes
    }

    /// As much as a start can read without keeping anybody waiting.
    package static let automatic = StartCheck(
        files: StoreLimits.startCheckFiles, bytes: StoreLimits.startCheckBytes)
    /// Every snapshot, however long it takes.
    package static let all = StartCheck(files: .max, bytes: .max)
    /// Only the snapshots of the databases that are in the journal.
    package static let none = StartCheck(files: 0, bytes: 0)

    /// Checks the snapshots in a folder.
    ///
    /// - Parameter known: Files that have been read whole already.
    /// - Returns: How many were read; nil when they are more than that, and none was checked.
    func run(
        on disk: any Disk, except known: Set<String>, _ manifest: FolderManifest
    ) throws(StoreError) -> Int? {
        let paths = try SnapshotFormat.paths(on: disk)
        guard paths.count <= files else { return nil }
        if bytes < .max {
            var total: UInt64 = 0
            for path in paths where !known.contains(path) {
                total += try size(of: path, on: disk)
                if total > bytes { return nil }
            }
        }
        var count = 0
        for path in paths where !known.contains(path) {
            let sequence = try SnapshotCheck.run(path, on: disk)
            try ManifestFile.check(path, holds: sequence, atLeast: manifest.leastSequence(of: path))
            if sequence != nil { count += 1 }
        }
        return count
    }

    private func size(of path: String, on disk: any Disk) throws(StoreError) -> UInt64 {
        do throws(DiskError) {
            let file = try disk.openForReading(path)
            defer { disk.close(file) }
            return try disk.size(of: file)
        } catch {
            throw .disk(error)
        }
    }
}

extension SnapshotFormat {
    /// The snapshots' files, sorted.
    static func paths(on disk: any Disk) throws(StoreError) -> [String] {
        do throws(DiskError) {
            return try disk.list(folder).filter { $0.hasSuffix(suffix) }.map { folder + "/" + $0 }
        } catch {
            throw .disk(error)
        }
    }
}
