internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume restore`: makes a data folder from a backup.
enum RestoreCommand {
    static let definition = CommandDefinition(
        ["restore"], "make a data folder of a backup",
        arguments: [ArgumentDefinition("BACKUP", "what brume backup made, file or folder, or a copy of a data folder")],
        options: [
            CommandOptions.data,
            OptionDefinition(
                "assets", "DIR", "an empty folder on another disk for assets (default: the data folder)",
                variable: "BRUME_SERVER_ASSETS"), CommandOptions.json,
            OptionDefinition("accept-loss", nil, "restore all else where assets are missing or damaged in the backup"),
        ],
        notes: [
            """
            --data names a folder that is empty or does not exist. The backup is verified before, and the folder afterwards. \
            It gets a new epoch: devices that saw what the backup doesn't have fetch from the start, by themselves. \
            Accounts are as they were: tokens that were revoked since are valid again, and accounts that were removed are back. \
            So are shares: users who were removed from them since take part again.
            """
        ],
        examples: [
            "brume restore /backups/2026-01-31.brume --data ./brume-data",
            "brume restore /backups/2026-01-31.brume --data ./brume-data --assets /mnt/disk2/assets",
        ], body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let backup = FolderCopier.path(invocation.arguments[0])
        let folder = FolderCopier.path(try invocation.required("data"))
        guard FileSystem.exists(backup) else { throw CommandError(.notFound, "there is no backup \(backup)") }
        if FileSystem.isDirectory(backup) {
            guard case .data = try DataFolder.content(of: backup) else {
                throw CommandError(
                    .notFound, "\(backup) is no backup: it has no brume.meta",
                    hint: "name what brume backup made, a file or a folder")
            }
        } else {
            try BackupFile.checkReadable(backup)
        }
        let lock = FileSystem.isDirectory(backup) ? try FolderCopier.lock(backup) : nil
        defer { lock?.release() }
        try RestoreTarget.check(folder)
        let source = try FolderCopier.verify(backup, title: "verify")
        if let problem = source.verification.assets.problems.first, !invocation.isOn("accept-loss") {
            throw CommandError(
                .damaged, "\(backup) lacks an asset: \(problem.file): \(problem.problem) (affects \(problem.affects))",
                hint: """
                    use another backup; brume restore --accept-loss restores all else, and brume verify \(backup) \
                    names every asset that is missing or damaged
                    """)
        }
        let copier = try FolderCopier(of: source.disk, named: backup, .idle)
        let target = try RestoreTarget(folder)
        defer { target.release() }
        let verification = try copier.copy(
            into: target, assetsAt: invocation.text("assets").map(FolderCopier.path), title: "restore")
        try note(backup, in: folder)
        return copier.report(verification, at: folder, invocation)
    }

    /// The log came with the backup, and what operators did since is not in it.
    private static func note(_ backup: String, in folder: String) throws {
        let name = URL(fileURLWithPath: backup).lastPathComponent
        do throws(ServerError) {
            try FolderAct("folder.restore", name, in: folder).end(isDone: true)
        } catch {
            throw CommandError(
                .failed, "\(folder) is restored, and its audit log has no note of that: \(error)",
                hint: "a server starts on it; make room, and check the disk")
        }
    }
}
