internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// Copies a data folder with a progress bar, to a folder or a file, and verifies the copy before it counts.
struct FolderCopier {
    private let copy: FolderCopy
    /// The path of what is copied.
    private let name: String

    /// - Parameter name: The path of what `disk` reads, for messages.
    init(of disk: any Disk, named name: String, _ source: FolderCopy.Source) throws(CommandError) {
        self.name = name
        do throws(StoreError) {
            copy = try FolderCopy(of: disk, source, others: DataFolder.backedUpFiles)
        } catch {
            throw Self.commandError(error, name)
        }
    }

    /// Makes the folder `target`: under a temporary name until it is verified.
    ///
    /// - Parameter reused: A backup whose assets it shares.
    func copy(to target: String, title: String, sharing reused: ReusedBackup? = nil) throws -> Verification {
        let partial = try Self.partial(of: target)
        do {
            let verification = try fill(partial, epoch: nil, title: title, sharing: reused)
            try Self.name(partial, target)
            return verification
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw error
        }
    }

    /// Makes the file `target`: under a temporary name until it has been read back and verified.
    func copy(toFile target: String, title: String) throws -> Verification {
        let partial = try Self.partial(of: target)
        let folder = FileSystem.directory(of: target)
        guard FileSystem.isDirectory(folder) else {
            throw CommandError(
                .notFound, "there is no folder \(folder)", hint: "make it first, or choose another one")
        }
        try checkRoom(on: folder, for: copy.byteCount)
        do {
            let reporter = ProgressReporter(title: title, total: Int(clamping: copy.byteCount), unit: "bytes")
            do throws(StoreError) {
                try copy.run(
                    toFile: BackupFile.name(of: partial), on: RealDisk(folder: folder),
                    salt: UInt64.random(in: 0 ... .max)
                ) { done in
                    reporter.advance(to: Int(clamping: done))
                }
            } catch {
                throw Self.commandError(error, folder)
            }
            reporter.finish()
            let verification = try Self.verify(partial, title: "verify").verification
            try Self.name(partial, target)
            return verification
        } catch {
            try? FileSystem.remove(partial)
            throw error
        }
    }

    /// Fills a folder that is empty or missing, for a server.
    ///
    /// - Parameter assetsPath: The folder that the assets are put into; nil for the data folder.
    func copy(into target: RestoreTarget, assetsAt assetsPath: String? = nil, title: String) throws -> Verification {
        let folder = target.folder
        var assets: AssetsFolder?
        defer { assets?.release() }
        do {
            if let assetsPath { assets = try AssetsFolder.make(for: folder, at: assetsPath) }
            return try fill(folder, assets, epoch: UInt32.random(in: 1 ... .max), title: title)
        } catch {
            assets?.removeMade()
            target.empty()
            throw error
        }
    }

    static func make(_ folder: String) throws(CommandError) {
        do throws(SystemError) {
            try FileSystem.makeDurableDirectory(folder)
        } catch {
            throw CommandError(
                .failed, "the folder can't be made: \(error)",
                hint: error.isForbidden
                    ? "choose one that this user may write to, or make it and give it to this user" : "")
        }
    }

    private func fill(
        _ target: String, _ assets: AssetsFolder? = nil, epoch: UInt32?, title: String,
        sharing reused: ReusedBackup? = nil
    ) throws -> Verification {
        try Self.make(target)
        let shared = reused.flatMap { $0.sharesFileSystem(with: target) ? $0 : nil }
        let expected = try shared?.byteCount(of: copy) ?? copy.byteCount
        if let path = assets?.path {
            try checkRoom(on: path, for: copy.assets.byteCount)
            try checkRoom(on: target, for: copy.byteCount - copy.assets.byteCount)
        } else {
            try checkRoom(on: target, for: expected)
        }
        var done: UInt64 = 0
        let reporter = ProgressReporter(title: title, total: Int(clamping: copy.byteCount), unit: "bytes")
        do throws(StoreError) {
            try copy.run(
                to: assets?.disk ?? RealDisk(folder: target), epoch: epoch, salt: UInt64.random(in: 0 ... .max),
                adopting: shared?.adoption(in: target) { (surplus) throws(DiskError) in
                    try checkRoom(on: target, for: surplus, of: shared!, expected: expected, done: done)
                }
            ) { count in
                done = count
                reporter.advance(to: Int(clamping: done))
            }
        } catch {
            throw Self.commandError(error, target)
        }
        reporter.finish()
        try FileSystem.syncDirectory(FileSystem.directory(of: target))
        // A backup that was copied to where it is may not be on the disk as a whole yet.
        if shared != nil { try FileSystem.syncFileSystem(of: target) }
        return try Self.verify(
            target, title: "verify", exceptContentOf: { path in shared?.shares(path, with: target) ?? false }
        ).verification
    }

    private func checkRoom(on target: String, for byteCount: UInt64) throws {
        let available = try FileSystem.availableBytes(target)
        guard byteCount < UInt64(available) else {
            throw CommandError(
                .failed,
                "\(byteCount) bytes are to be copied, and the disk of \(target) has room for \(available)",
                hint: "make room, or choose another disk")
        }
    }

    /// Checks that there is room for what an earlier backup does not share after all, and for what is left to be copied
    /// besides.
    private func checkRoom(
        on target: String, for surplus: ReusedBackup.Surplus, of shared: ReusedBackup, expected: UInt64, done: UInt64
    ) throws(DiskError) {
        func less(_ count: UInt64, _ other: UInt64) -> UInt64 { count - min(count, other) }
        let left =
            switch surplus {
            case .one(let byteCount):
                byteCount + less(expected + shared.damagedFileBytes, less(done, shared.sharedFileBytes))
            case .rest: less(copy.byteCount, done)
            }
        // Where the room is not known, the disk tells when there is none.
        guard let available = try? FileSystem.availableBytes(target), left >= UInt64(available) else { return }
        throw DiskError(
            call: "copy", path: target,
            message: """
                \(left) bytes are left to be copied, because not all assets can be shared with \(shared.path), and the \
                disk has room for \(available)
                """,
            isFull: true)
    }

    /// Says what the copy holds, and which assets are missing or damaged in it, as they are where it comes from.
    func report(
        _ verification: Verification, at target: String, isFile: Bool = false, sharing reused: ReusedBackup? = nil,
        _ invocation: Invocation
    ) -> ExitCode {
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object(
                    [
                        (isFile ? "file" : "folder", .string(target)),
                        ("databases", .integer(Int64(verification.databases))),
                        ("records", .integer(Int64(verification.records))),
                        ("bytes", .integer(Int64(clamping: copy.byteCount))),
                    ] + verification.assets.members + (reused?.members ?? [])
                ).line)
        } else {
            for line in verification.assets.problemLines { Terminal.print(line) }
            Terminal.print(
                "\(target) is verified: \(CountText.text(verification.databases, "database")), "
                    + CountText.text(verification.records, "record") + verification.assets.countText)
            for line in reused?.lines(for: target) ?? [] { Terminal.print(line) }
            if !verification.isSound {
                Terminal.print(
                    """
                    the assets named above are missing or damaged in \(name), and so in the copy; all else is \
                    there. An earlier backup may have them
                    """)
            }
        }
        return verification.isSound ? .done : .damaged
    }

    // MARK: Paths

    /// A folder's path without a slash at its end.
    static func path(_ text: String) -> String {
        var text = text
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return text
    }

    private static func partial(of target: String) throws(CommandError) -> String {
        let partial = target + ".partial"
        if FileSystem.exists(partial) {
            throw CommandError(
                .conflict, "\(partial) is what an interrupted backup left, or another one makes it now",
                hint: "remove it if none does")
        }
        return partial
    }

    private static func name(_ partial: String, _ target: String) throws {
        try FileSystem.rename(partial, to: target)
        try FileSystem.syncDirectory(FileSystem.directory(of: target))
    }

    /// Locks servers out while the folder is read. Returns nil for a folder that can't be written, on which no server
    /// runs.
    static func lock(_ folder: String) throws(CommandError) -> DirectoryLock? {
        do throws(SystemError) {
            return try DirectoryLock(directory: folder)
        } catch {
            if error.isExisting { throw CommandError(.conflict, "another process uses \(folder)") }
            return nil
        }
    }

    /// Verifies a folder that no process uses, or a backup file, and returns its content for copying. Assets that are
    /// missing or damaged are no error.
    ///
    /// - Parameter isKnown: Whether the content of an asset's file need not be read.
    static func verify(
        _ path: String, title: String, exceptContentOf isKnown: Verification.KnownAssets = { _ in false }
    ) throws(CommandError) -> (disk: any Disk, verification: Verification) {
        let folder: AssetsFolder?
        do throws(ServerError) {
            folder = FileSystem.isDirectory(path) ? try AssetsFolder.known(to: path) : nil
        } catch {
            throw CommandError(describing: error)
        }
        let disk: any Disk
        let verification: Verification
        do throws(StoreError) {
            if let folder { disk = folder.disk } else { disk = try BackupFile.open(path) }
            do throws(DiskError) {
                verification = try Verification(
                    of: disk, others: DataFolder.filesAlwaysThere, title: title, exceptContentOf: isKnown)
            } catch {
                throw .disk(error)
            }
        } catch {
            throw commandError(error, FileSystem.isDirectory(path) ? path : FileSystem.directory(of: path))
        }
        if let problem = verification.problems.first {
            // Within a folder, a file has its own name; a backup file has the names of those in it.
            let file = FileSystem.isDirectory(path) ? "\(path)/\(problem.file)" : "\(path): \(problem.file)"
            throw CommandError(
                .damaged, "\(file) at byte \(problem.offset): \(problem.problem)",
                hint: "brume verify \(path) tells everything that is damaged")
        }
        return (disk, verification)
    }

    private static func commandError(_ error: StoreError, _ folder: String) -> CommandError {
        switch error {
        case .disk(let error): CommandError(isForbidden: error.isForbidden, "\(folder): \(error)")
        case .damaged, .unknownVersion:
            // The error begins with the file's name.
            CommandError(
                .damaged, folder == "." ? "\(error)" : "\(path(folder))/\(error)",
                hint: "it is damaged, or no backup: use another one")
        }
    }
}
