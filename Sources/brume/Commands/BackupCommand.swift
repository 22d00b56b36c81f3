internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume backup`: copies a data folder, whether or not a server uses it.
enum BackupCommand {
    /// The number of attempts. Writing the snapshots of many changes may take longer than a call may: the call is
    /// repeated, and each time less is left to write.
    private static let snapshotAttempts = 30

    static let definition = CommandDefinition(
        ["backup"], "copy a data folder to a backup, while its server runs or not",
        arguments: [
            ArgumentDefinition("TARGET", "what to make: a file if the name ends in .brume, a folder otherwise")
        ],
        options: [
            CommandOptions.data, CommandOptions.assetsPlace,
            OptionDefinition(
                "reuse", "BACKUP", "an earlier backup, a folder: assets that it has are shared with it, not copied"),
            OptionDefinition(
                "read-reused", nil, "read assets before they are shared, and copy those that are damaged there"),
            CommandOptions.json,
        ],
        notes: [
            """
            Everything that was acknowledged before the backup began is in it, each database as it was at one commit. The \
            accounts and the secrets that their tokens derive from are part of it: keep it as safe as the data folder. \
            Certificates are not.
            """,
            """
            Assets are copied with their contents, those of uploads that are not finished left out. An asset that the \
            disk does not give, or not as it was, does not keep the rest from being backed up: the command names it, \
            and its exit code is 7.
            """,
            """
            A file is compressed and can be read by its owner only (mode 0600). A target that ends in a slash is a folder, \
            whatever its name. Nothing is overwritten: the target must not exist.
            """,
            """
            With --reuse, only assets are copied that are new since that backup; everything else of the new one is \
            complete. What both have is one file with two names (a hard link), for which both are folders on one file \
            system: from another one, everything is copied. Either may be removed, the other one stays whole. Damage to \
            a shared file is damage to both; so copy a backup to another disk now and then. Before an asset is shared \
            its length and its table of checksums are checked, after which it is not read unless --read-reused is given: \
            brume verify reads everything.
            """,
            """
            It is read back and verified before the command says that it is done, and has its name only then. What is left of one that was \
            interrupted ends in .partial.
            """,
        ],
        examples: [
            "brume backup /backups/2026-01-31.brume --data ./brume-data",
            "brume backup /backups/2026-01-31 --data ./brume-data",
            "brume backup /backups/2026-02-01 --reuse /backups/2026-01-31 --data ./brume-data",
        ], body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let folder = try invocation.required("data")
        if invocation.arguments[0] == "-" {
            throw UsageError(
                "a backup does not go to standard output: it is read back to be verified. Name a file that ends in .brume",
                command: invocation.command)
        }
        let isFile = BackupFile.isNamed(invocation.arguments[0])
        let target = FolderCopier.path(invocation.arguments[0])
        try DataFolder.require(folder)
        // Accounts may be added before the first start. A folder that has lost its brume.meta is damaged: the copy
        // finds that out.
        guard FileSystem.exists(folder + "/brume.meta") || FileSystem.exists(folder + "/journal") else {
            throw CommandError(
                .notFound, "\(folder) has no brume.meta: it is a data folder that no server has used",
                hint: "start a server on it first: brume serve --data \(folder)")
        }
        let parent = URL(fileURLWithPath: FileSystem.directory(of: target)).resolvingSymlinksInPath().path
        let data = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        guard parent != data, !parent.hasPrefix(data + "/") else {
            throw CommandError(
                .usage, "\(target) would stand inside \(folder), the folder that is backed up",
                hint: "choose a place outside of it, best on another disk")
        }
        let assets = try CommandOptions.assets(of: folder, invocation)
        if let path = assets.path, FileSystem.stands(target, in: path) {
            throw CommandError(
                .usage, "\(target) would stand inside \(path), the folder of the assets that are backed up",
                hint: "choose a place outside of it, best on another disk")
        }
        let reused = try reused(invocation, isFile: isFile, for: folder, to: target)
        defer { reused?.release() }
        if FileSystem.exists(target) {
            throw CommandError(.conflict, "\(target) exists", hint: "choose another name: nothing is overwritten")
        }
        let copier: FolderCopier
        let lock: DirectoryLock?
        if let session = try Operator.session(invocation) {
            lock = nil
            try await writeSnapshots(session)
            copier = try FolderCopier(of: assets.disk, named: folder, .inUse)
        } else {
            lock = try FolderCopier.lock(folder)
            copier = try FolderCopier(of: assets.disk, named: folder, .idle)
        }
        defer { lock?.release() }
        let verification =
            isFile
            ? try copier.copy(toFile: target, title: "backup")
            : try copier.copy(to: target, title: "backup", sharing: reused)
        return copier.report(verification, at: target, isFile: isFile, sharing: reused, invocation)
    }

    /// The backup that `--reuse` names.
    private static func reused(
        _ invocation: Invocation, isFile: Bool, for folder: String, to target: String
    ) throws -> ReusedBackup? {
        guard let path = invocation.text("reuse") else {
            if invocation.isOn("read-reused") {
                throw UsageError("--read-reused is for a backup with --reuse", command: invocation.command)
            }
            return nil
        }
        if isFile {
            throw UsageError(
                "a backup in one file holds everything itself: --reuse is for backups that are folders",
                hint: "leave out --reuse, or choose a name that does not end in .brume")
        }
        return try ReusedBackup(
            FolderCopier.path(path), readsAll: invocation.isOn("read-reused"), for: folder, to: target)
    }

    private static func writeSnapshots(_ session: ClientSession) async throws {
        for attempt in 1...snapshotAttempts {
            do throws(ServiceError) {
                _ = try await session.snapshot()
                return
            } catch {
                guard error.code == .networkFailure, attempt < snapshotAttempts else { throw error }
            }
        }
    }
}
