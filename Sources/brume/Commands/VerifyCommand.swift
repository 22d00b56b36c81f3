internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// `brume verify`: checks a whole data folder, or a backup file, without changing it.
enum VerifyCommand {
    static let definition = CommandDefinition(
        ["verify"], "check a data folder or a backup, changing nothing",
        arguments: [ArgumentDefinition("PATH", "the data folder, or a backup of one: a folder or a file")],
        options: [
            CommandOptions.assetsPlace, CommandOptions.json, CommandOptions.yes,
            OptionDefinition(
                "accept-loss", nil,
                "change the folder: go on without what is missing, where there is no backup that has it"),
        ],
        notes: [
            "For a folder that no server uses: stop the server, or verify a copy. Damage: exit code 7, and what it affects.",
            """
            A folder knows what has to be in it, so that a file that is missing stops the start as a damaged one does. Without a backup, \
            --accept-loss says what is lost for good and makes the folder one that a server opens: it goes on without files that are \
            missing, segments that are missing at the journal's ends, and what can't be read at its very end. Other damage is not \
            touched. Nothing is deleted, and devices that saw what is lost fetch from the start, by themselves.
            """,
            """
            Assets on another disk (brume serve --assets) are verified where the data folder knows them to be, or where \
            --assets names. With --accept-loss, --assets names where they are from now on, though some are missing there: \
            a disk in place of one that is lost for good, the data folder itself, or a folder of another state of the data \
            folder, which a start refuses. It asks first where DIR may be the folder on which the lost disk was mounted. \
            Clients that fetch a missing asset get assetNotAvailable.
            """,
        ],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let path = invocation.arguments[0]
        guard FileSystem.exists(path) else { throw CommandError(.notFound, "there is no folder or file \(path)") }
        if invocation.isOn("accept-loss") { return try acceptLoss(of: path, invocation) }
        let verification = FileSystem.isDirectory(path) ? try verify(folder: path, invocation) : try verify(file: path)
        if invocation.isOn("json") { Terminal.print(json(verification).line) } else { print(verification, path) }
        return verification.isSound ? .done : .damaged
    }

    private static func verify(file: String) throws -> Verification {
        try BackupFile.checkReadable(file)
        do throws(DiskError) {
            let disk: any Disk
            do throws(StoreError) {
                disk = try BackupFile.open(file)
            } catch {
                return try Verification(failing: error)
            }
            return try Verification(of: disk, others: DataFolder.filesAlwaysThere, title: "verify")
        } catch {
            throw CommandError(isForbidden: error.isForbidden, "\(file) can't be read: \(error)")
        }
    }

    private static func verify(folder: String, _ invocation: Invocation) throws -> Verification {
        let lock = try lock(folder)
        defer { lock?.release() }
        return try verifyLocked(folder, CommandOptions.assets(of: folder, invocation).disk)
    }

    private static func verifyLocked(
        _ folder: String, _ disk: RealDisk, others: [Verification.OtherFile] = DataFolder.filesAlwaysThere
    ) throws -> Verification {
        do throws(DiskError) {
            return try Verification(of: disk, others: others, title: "verify")
        } catch {
            throw CommandError(isForbidden: error.isForbidden, "\(folder) can't be read: \(error)")
        }
    }

    /// Locks servers out. Returns nil for a folder that can't be written, such as a backup: no server runs on it.
    private static func lock(_ folder: String) throws -> DirectoryLock? {
        guard case .data = try DataFolder.content(of: folder) else {
            throw CommandError(
                .notFound, "\(folder) is no data folder and no backup: it has no brume.meta",
                hint: "name the folder of a server, or what brume backup made")
        }
        do {
            return try DirectoryLock(directory: folder)
        } catch  where error.isExisting {
            throw CommandError(.conflict, "a server uses \(folder)", hint: "stop it, or verify a copy of the folder")
        } catch {
            return nil
        }
    }

    private static func acceptLoss(of folder: String, _ invocation: Invocation) throws -> ExitCode {
        guard FileSystem.isDirectory(folder) else {
            throw CommandError(
                .notFound, "\(folder) is no folder", hint: "a backup is not changed: restore another one")
        }
        try Operator.checkOwner(of: folder)
        guard let lock = try lock(folder) else { throw CommandError(.failed, "\(folder) can't be written") }
        defer { lock.release() }
        if let path = invocation.text("assets"), invocation.flags.contains("assets") {
            let path = FolderCopier.path(path)
            if try AssetsFolder.mayBeUnmounted(path, of: folder),
                try !CommandOptions.isConfirmed(
                    "\(path) is no disk of its own: are assets to be there from now on, and is no disk to be mounted on it?",
                    invocation)
            {
                throw CommandError(.conflict, "nothing was changed", hint: "mount the disk first")
            }
            let act = try FolderAct("folder.accept-loss", "assets", in: folder)
            do {
                try AssetsFolder.open(for: folder, at: path, acceptingLoss: true).release()
            } catch {
                act.end(isDone: false)
                throw error
            }
            act.end(isDone: true)
        }
        let disk = try AssetsFolder.known(to: folder).disk
        var losses: [Verification.Problem] = []
        // What is wrong with accounts and secrets can't be given up: the folder is changed for the store's files alone.
        if try !verifyLocked(folder, disk, others: []).isSound {
            let act = try FolderAct("folder.accept-loss", in: folder)
            do throws(StoreError) {
                losses = try LossAcceptance(
                    on: disk, options: JournalWriter.Options(salt: UInt64.random(in: 0 ... .max)),
                    newEpoch: UInt32.random(in: 1 ... .max)
                ).losses
                act.end(isDone: true)
            } catch {
                act.end(isDone: false)
                switch error {
                case .disk(let error): throw CommandError(.failed, "\(folder): \(error)")
                case .damaged, .unknownVersion:
                    throw CommandError(
                        .damaged, "\(folder): \(error); the folder is as it was", hint: "restore a backup")
                }
            }
        }
        let verification = try verifyLocked(folder, disk)
        if invocation.isOn("json") {
            Terminal.print(json(verification, losses: losses).line)
        } else {
            for loss in losses { Terminal.print("lost:      \(loss.file): \(loss.problem) (\(loss.affects))") }
            if losses.isEmpty { Terminal.print("no database, and no schema, has lost anything") }
            print(verification, folder)
        }
        return verification.isSound ? .done : .damaged
    }

    private static func print(_ verification: Verification, _ path: String) {
        Terminal.print(
            """
            journal:   \(CountText.text(verification.segments, "segment")), \
            \(verification.batches == 1 ? "1 batch" : "\(verification.batches) batches"), \
            \(CountText.text(verification.entries, "commit"))
            snapshots: \(verification.snapshots)
            holds:     \(CountText.text(verification.databases, "database")), \
            \(CountText.text(verification.records, "record"))\(verification.assets.countText)
            """)
        if verification.assets.unnamedCount > 0 {
            Terminal.print(
                """
                unnamed:   \(CountText.text(verification.assets.unnamedCount, "asset")) that no record names; a server \
                removes them in time
                """)
        }
        if verification.tornBytes > 0 {
            Terminal.print(
                "torn tail: \(verification.tornBytes) bytes that were never acknowledged; the next start cuts them")
        }
        for problem in verification.problems {
            Terminal.print(
                "damage:    \(problem.file) at \(problem.offset): \(problem.problem) (affects \(problem.affects))")
        }
        for line in verification.assets.problemLines { Terminal.print(line) }
        if verification.problems.isEmpty, !verification.isSound {
            Terminal.print(
                """
                \(path) is sound, but for the assets named above: a server opens it, and clients that fetch them get \
                assetNotAvailable. An earlier backup may have the files
                """)
            return
        }
        Terminal.print(
            verification.isSound
                ? "\(path) is sound"
                : FileSystem.isDirectory(path)
                    ? "\(path) is damaged: restore a backup; without one, brume help verify describes --accept-loss"
                    : "\(path) is damaged, or is no backup: use another one")
    }

    private static func json(_ verification: Verification, losses: [Verification.Problem]? = nil) -> JSONValue {
        let counts = [
            ("segments", verification.segments), ("batches", verification.batches), ("entries", verification.entries),
            ("snapshots", verification.snapshots), ("databases", verification.databases),
            ("records", verification.records), ("tornBytes", verification.tornBytes),
        ]
        func array(_ problems: [Verification.Problem]) -> JSONValue {
            .array(
                problems.map { problem in
                    JSONValue.object([
                        ("file", .string(problem.file)), ("offset", .integer(Int64(clamping: problem.offset))),
                        ("problem", .string(problem.problem)), ("affects", .string(problem.affects)),
                    ])
                })
        }
        return .object(
            [("sound", .bool(verification.isSound))] + counts.map { ($0.0, .integer(Int64($0.1))) }
                + verification.assets.members
                + [("problems", array(verification.problems + verification.assets.problems))]
                + (losses.map { [("lost", array($0))] } ?? []))
    }
}
