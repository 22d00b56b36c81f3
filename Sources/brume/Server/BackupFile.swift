internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// A backup in one file, by its path.
enum BackupFile {
    private static let suffix = ".brume"

    /// Whether a backup to this path is made as a file: its name ends in `.brume`. Any other path, also one that ends
    /// in a slash, means a folder.
    static func isNamed(_ path: String) -> Bool { path.hasSuffix(suffix) }

    /// Checks that this user may read the file, so that an error names it as the user did.
    static func checkReadable(_ path: String) throws(SystemError) {
        try File(path: path, mode: .read).close()
    }

    /// Reads the whole file, checking every byte, with a progress bar.
    static func open(_ path: String) throws(StoreError) -> BackupFileDisk {
        let size = (try? FileSystem.size(path)) ?? 0
        let reporter = ProgressReporter(title: "check", total: size, unit: "bytes")
        let disk = try BackupFileDisk(
            reading: name(of: path), on: RealDisk(folder: FileSystem.directory(of: path)),
            others: DataFolder.backedUpFiles
        ) { done in
            reporter.advance(to: Int(clamping: done))
        }
        reporter.finish()
        return disk
    }

    /// The last part of a path.
    static func name(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }
}
