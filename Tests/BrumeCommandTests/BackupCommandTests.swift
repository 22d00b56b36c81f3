internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Backups", .serialized)
struct BackupCommandTests {
    private static func save(_ server: ServerProcess, _ names: String...) throws {
        for name in names {
            let run = try server.run("records", "save", "Notes", name, "--type", "Note", "text=hello")
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    @Test("a backup of a running server holds what was acknowledged before, and a server serves what was restored")
    func running() throws {
        let folder = try TestFolder()
        let (data, backup, restored) = (folder.path + "/data", folder.path + "/backup", folder.path + "/restored")
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("zones", "create", "Notes").status == 0)
        try BackupCommandTests.save(server, "before-1", "before-2")
        let made = try run("backup", backup + "/", "--data", data, "--json")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try made.json()["folder"] == .string(backup))
        try BackupCommandTests.save(server, "after")
        let again = try run("backup", backup, "--data", data)
        #expect(again.status == ExitCode.conflict.rawValue && again.errors.contains("exists"))
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: data)
        for target in [data + "/x.brume", data + "/snapshots/x", folder.path + "/link/x.brume"] {
            let inside = try run("backup", target, "--data", data)
            #expect(inside.status == ExitCode.usage.rawValue && inside.errors.contains("inside"), "\(inside.errors)")
        }
        #expect(try run("verify", backup).status == 0)
        for name in ["secret.key", "admin.token", "accounts", "brume.meta"] {
            #expect(try FileSystem.permissions(backup + "/" + name) == 0o600)
        }
        #expect(try FileSystem.permissions(backup) == 0o700)
        #expect(!FileSystem.exists(backup + ".partial") && !FileSystem.exists(backup + "/server.json"))
        server.send(SIGTERM)
        #expect(server.wait() == 0)

        let restore = try run("restore", backup, "--data", restored)
        #expect(restore.status == 0, "\(restore.errors)")
        #expect(try run("restore", backup, "--data", restored).status == ExitCode.conflict.rawValue)
        // A server, or another restore, may have begun on a folder that was empty when it was looked at.
        let taken = folder.path + "/taken"
        try FileSystem.makeDirectoryTree(taken, permissions: 0o700)
        let lock = try DirectoryLock(directory: taken)
        let refused = try run("restore", backup, "--data", taken)
        #expect(refused.status == ExitCode.conflict.rawValue && refused.errors.contains("another process uses"))
        #expect(try FileSystem.list(taken) == ["lock"])
        lock.release()
        #expect(try run("restore", backup, "--data", taken).status == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", restored])
        #expect(try second.run("records", "get", "Notes", "before-1", "before-2").status == 0)
        #expect(try second.run("records", "get", "Notes", "after").status == ExitCode.notFound.rawValue)
        #expect(second.ready["accounts"]?["a"]?["user"] == server.ready["accounts"]?["a"]?["user"])
        try BackupCommandTests.save(second, "goes-on")
    }

    @Test("a backup in one file is made while the server runs, is verified, and restores; a damaged one does not")
    func file() throws {
        let folder = try TestFolder()
        let (data, backup, restored) = (folder.path + "/data", folder.path + "/b.brume", folder.path + "/restored")
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("zones", "create", "Notes").status == 0)
        try BackupCommandTests.save(server, "before-1", "before-2")
        let made = try run("backup", backup, "--data", data, "--json")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try made.json()["file"] == .string(backup))
        try BackupCommandTests.save(server, "after")
        #expect(try FileSystem.permissions(backup) == 0o600)
        #expect(!FileSystem.exists(backup + ".partial") && !FileSystem.isDirectory(backup))
        #expect(try run("backup", backup, "--data", data).status == ExitCode.conflict.rawValue)
        #expect(try run("backup", "-", "--data", data).status == ExitCode.usage.rawValue)
        let inFolder = folder.path + "/folder.brume"
        #expect(try run("backup", inFolder + "/", "--data", data).status == 0)
        #expect(FileSystem.isDirectory(inFolder))
        server.send(SIGTERM)
        #expect(server.wait() == 0)

        let verified = try run("verify", backup, "--json")
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(try verified.json()["sound"] == .bool(true))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        bytes[bytes.count / 2] ^= 1
        let damaged = folder.path + "/damaged.brume"
        try bytes.write(to: URL(fileURLWithPath: damaged))
        let found = try run("verify", damaged, "--json")
        #expect(found.status == ExitCode.damaged.rawValue)
        #expect(try found.json()["sound"] == .bool(false))
        let refused = try run("restore", damaged, "--data", restored)
        #expect(refused.status == ExitCode.damaged.rawValue && refused.errors.contains("at byte"), "\(refused.errors)")
        #expect(!FileSystem.exists(restored))

        let restore = try run("restore", backup, "--data", restored)
        #expect(restore.status == 0, "\(restore.errors)")
        for name in ["secret.key", "admin.token", "accounts", "brume.meta"] {
            #expect(try FileSystem.permissions(restored + "/" + name) == 0o600)
        }
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", restored])
        #expect(try second.run("records", "get", "Notes", "before-1", "before-2").status == 0)
        #expect(try second.run("records", "get", "Notes", "after").status == ExitCode.notFound.rawValue)
        #expect(second.ready["accounts"]?["a"]?["user"] == server.ready["accounts"]?["a"]?["user"])
        try BackupCommandTests.save(second, "goes-on")
    }

    @Test("a stopped folder is backed up whole; a damaged backup is not restored, and leaves nothing")
    func stopped() throws {
        let folder = try TestFolder()
        let (data, backup, restored) = (folder.path + "/data", folder.path + "/backup", folder.path + "/restored")
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }
        #expect(try run("backup", backup, "--data", data).status == ExitCode.notFound.rawValue)
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("zones", "create", "Notes").status == 0)
        try BackupCommandTests.save(server, "a")
        // What is acknowledged is in the journal alone.
        server.send(SIGKILL)
        _ = server.wait()
        let made = try run("backup", backup, "--data", data, "--json")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try made.json()["records"].map { $0 != .integer(0) } == true)

        let segment = backup + "/journal/" + (try #require(FileSystem.list(backup + "/journal").first))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: segment))
        bytes[80] ^= 1
        try bytes.write(to: URL(fileURLWithPath: segment))
        let damaged = try run("restore", backup, "--data", restored)
        #expect(damaged.status == ExitCode.damaged.rawValue, "\(damaged.errors)")
        #expect(!FileSystem.exists(restored))
        bytes[80] ^= 1
        try bytes.write(to: URL(fileURLWithPath: segment))
        #expect(try run("restore", backup, "--data", restored).status == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", restored])
        #expect(try second.run("records", "get", "Notes", "a").status == 0)
    }

    @Test("a file that is no backup is named by its path, without advice that is for data folders")
    func noBackup() throws {
        let folder = try TestFolder()
        let file = try folder.write("notes.txt", String(repeating: "no backup ", count: 100))
        let verified = try CommandRun(["verify", file], in: folder)
        #expect(verified.status == ExitCode.damaged.rawValue)
        #expect(verified.output.last == "\(file) is damaged, or is no backup: use another one", "\(verified.output)")
        let restored = try CommandRun(["restore", file, "--data", folder.path + "/new"], in: folder)
        #expect(restored.status == ExitCode.damaged.rawValue)
        #expect(restored.errors.hasPrefix("brume: \(file) is damaged at byte 0: "), "\(restored.errors)")
        #expect(!FileSystem.exists(folder.path + "/new"))
    }
}
