internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// `brume verify`: checks a whole data folder, or a backup file, without changing it.
enum VerifyCommand {
    static let definition = CommandDefinition(
        ["verify"], "check a data folder or a backup, changing nothing",
        arguments: [ArgumentDefinition("PATH", "the data folder, or a backup of one: a folder or a file")],
        options: [CommandOptions.json],
        notes: [
            "For a folder that no server uses: stop the server, or verify a copy. Damage: exit code 7, and what it affects."
        ],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let path = invocation.arguments[0]
        guard FileSystem.exists(path) else { throw CommandError(.notFound, "there is no folder or file \(path)") }
        let verification = FileSystem.isDirectory(path) ? try verify(folder: path) : try verify(file: path)
        if invocation.isOn("json") { Terminal.print(json(verification).line) } else { print(verification, path) }
        return verification.isSound ? .done : .damaged
    }

    private static func verify(file: String) throws -> Verification {
        do throws(DiskError) {
            let disk: any Disk
            do throws(StoreError) {
                disk = try BackupFile.open(file)
            } catch {
                return try Verification(failing: error)
            }
            return try Verification(of: disk)
        } catch {
            throw CommandError(.failed, "\(file) can't be read: \(error)")
        }
    }

    private static func verify(folder: String) throws -> Verification {
        guard FileSystem.exists(folder + "/brume.meta") else {
            throw CommandError(.notFound, "\(folder) is no data folder: it has no brume.meta")
        }
        let lock: DirectoryLock?
        do {
            lock = try DirectoryLock(directory: folder)
        } catch  where error.isExisting {
            throw CommandError(.conflict, "a server uses \(folder)", hint: "stop it, or verify a copy of the folder")
        } catch {
            // A folder that can't be written, such as a backup: nobody serves from it.
            lock = nil
        }
        defer { lock?.release() }
        do {
            return try Verification(of: RealDisk(folder: folder))
        } catch {
            throw CommandError(.failed, "\(folder) can't be read: \(error)")
        }
    }

    private static func print(_ verification: Verification, _ path: String) {
        Terminal.print(
            """
            journal:   \(verification.segments) segments, \(verification.batches) batches, \(verification.entries) commits
            snapshots: \(verification.snapshots)
            holds:     \(verification.databases) databases, \(verification.records) records
            """)
        if verification.tornBytes > 0 {
            Terminal.print(
                "torn tail: \(verification.tornBytes) bytes that were never acknowledged; the next start cuts them")
        }
        for problem in verification.problems {
            Terminal.print(
                "damage:    \(problem.file) at \(problem.offset): \(problem.problem) (affects \(problem.affects))")
        }
        Terminal.print(verification.isSound ? "\(path) is sound" : "\(path) is damaged: restore a backup")
    }

    private static func json(_ verification: Verification) -> JSONValue {
        let counts = [
            ("segments", verification.segments), ("batches", verification.batches), ("entries", verification.entries),
            ("snapshots", verification.snapshots), ("databases", verification.databases),
            ("records", verification.records), ("tornBytes", verification.tornBytes),
        ]
        let problems = verification.problems.map { problem in
            JSONValue.object([
                ("file", .string(problem.file)), ("offset", .integer(Int64(clamping: problem.offset))),
                ("problem", .string(problem.problem)), ("affects", .string(problem.affects)),
            ])
        }
        return .object(
            [("sound", .bool(verification.isSound))] + counts.map { ($0.0, .integer(Int64($0.1))) }
                + [("problems", .array(problems))])
    }
}
