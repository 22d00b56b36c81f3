internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Assets on another disk", .serialized, .timeLimit(.minutes(4)))
struct AssetsFolderTests {
    private let folder: TestFolder
    private let server: ServerProcess
    /// What stands for the other disk.
    private let other: String

    init() throws {
        folder = try TestFolder()
        server = try ServerProcess(folder: folder)
        other = try FileSystem.canonicalPath(folder.path) + "/disk"
        try FileSystem.makeDirectory(other)
    }

    private var data: String { server.dataFolder }

    private static func film(_ kind: UInt8) -> Data {
        Data((0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 / 11) &+ kind })
    }

    private func environment(_ token: String) -> [String: String] {
        [
            "BRUME_SERVER": server.address, "BRUME_CA": server.caPath, "BRUME_TOKEN": token,
            "BRUME_STATE": folder.file("state"),
        ]
    }

    private func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }

    /// Saves an asset, for an account of its own.
    private func save(_ name: String, _ kind: UInt8) throws -> String {
        let token = try server.addAccount(name)
        try Self.film(kind).write(to: URL(fileURLWithPath: folder.file("film")))
        let environment = environment(token)
        #expect(try CommandRun(["zones", "create", "Photos"], environment: environment, in: folder).status == 0)
        let saved = try CommandRun(
            ["records", "save", "Photos", "sea", "--type", "Photo", "film=@" + folder.file("film")],
            environment: environment, in: folder)
        #expect(saved.status == 0, "\(saved.errors)")
        return token
    }

    private func expectFilm(_ kind: UInt8, _ token: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let target = folder.file("fetched-\(UUID().uuidString)")
        let fetched = try CommandRun(
            ["records", "get", "Photos", "sea", "--assets", target], environment: environment(token), in: folder)
        #expect(fetched.status == 0, "\(fetched.errors)", sourceLocation: sourceLocation)
        let film = try Data(contentsOf: URL(fileURLWithPath: target + "/sea.film"))
        #expect(film == Self.film(kind), sourceLocation: sourceLocation)
    }

    /// How many contents are stored in a folder.
    private func count(_ folder: String) -> Int {
        (FileManager.default.enumerator(atPath: folder + "/assets")?.compactMap { $0 as? String } ?? [])
            .count { $0.split(separator: "/").last?.count == 81 }
    }

    private func move(_ path: String, to target: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: target)
    }

    /// A start with these options is refused, with that code and these words.
    private func expectRefusal(
        _ options: [String], _ code: ExitCode, _ words: String..., data: String? = nil,
        environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let certificates = folder.file("certificates")
        let run = try CommandRun(
            [
                "serve", "--data", data ?? self.data, "--listen", "127.0.0.1:0", "--with-parent",
                "--certificate", certificates + "/server.pem", "--key", certificates + "/server.key",
            ] + options, environment: environment, in: folder)
        #expect(run.status == code.rawValue, "\(run.errors)", sourceLocation: sourceLocation)
        for words in words { #expect(run.errors.contains(words), "\(run.errors)", sourceLocation: sourceLocation) }
    }

    @Test("are in the folder that a new server is told of, and a start with any other is refused")
    func newServer() throws {
        try expectRefusal(["--assets", folder.file("nowhere")], .notFound, "is its disk mounted?")
        try expectRefusal(["--assets", folder.path], .usage, "are not two folders side by side")
        try FileSystem.makeDirectory(data + "/inside")
        try expectRefusal(["--assets", data + "/inside"], .usage, "are not two folders side by side")
        try FileSystem.removeDirectory(data + "/inside")
        _ = try folder.write("disk/notes", "")
        try expectRefusal(["--assets", other], .conflict, "has other files, such as notes")
        try FileSystem.remove(other + "/notes")

        try server.start(options: ["--assets", other + "/"])
        let token = try save("ada", 1)
        #expect(count(other) == 1 && !FileSystem.exists(data + "/assets"))
        #expect(server.log.contains(other))
        #expect(server.stop() == 0)

        try expectRefusal([], .usage, "are in \(other)", "--assets \(other)")
        try expectRefusal(["--assets", data], .damaged, "\(data)/assets lacks 1 of the 1 assets")
        try expectRefusal(["--assets", folder.file("nowhere")], .notFound, "is its disk mounted?")
        // The folder on which the disk is mounted, without it.
        let unmounted = folder.file("unmounted")
        try move(other, to: unmounted)
        try FileSystem.makeDirectory(other)
        try expectRefusal(["--assets", other], .notFound, "it has no brume.assets", "mounted?", other)
        #expect(try FileSystem.list(other).isEmpty)
        try FileSystem.removeDirectory(other)
        try move(unmounted, to: other)
        // Half of it.
        try move(other + "/assets", to: unmounted)
        try expectRefusal(["--assets", other], .damaged, "/assets is missing")
        try move(unmounted, to: other + "/assets")
        // The environment's variable and the configuration file say the same.
        _ = try folder.write("brume.conf", "assets = \(other)\n")
        try server.start(options: ["--config", folder.file("brume.conf")])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
        try server.start(environment: ["BRUME_SERVER_ASSETS": other])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
        try server.expectSound()
    }

    @Test("are nobody's but one server's")
    func oneServer() throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        let copy = folder.file("copy")
        #expect(try run("backup", folder.file("backup"), "--data", data).status == 0)
        #expect(try Tool.run(["cp", "-a", data, copy]).status == 0)
        try expectRefusal(["--assets", other], .conflict, "in use by another server", data: copy)
        try expectFilm(1, token)
        #expect(server.stop() == 0)
        let second = folder.file("second")
        try expectRefusal(["--assets", other], .conflict, "has the assets of another data folder", data: second)
        // A server whose assets are elsewhere, too.
        let disk = folder.file("disk-2")
        try FileSystem.makeDirectory(disk)
        let third = folder.file("third")
        #expect(try run("restore", folder.file("backup"), "--data", third, "--assets", disk).status == 0)
        try expectRefusal(["--assets", other], .conflict, "and not those of", data: third)
        let verified = try run("verify", third, "--assets", other)
        #expect(verified.status == ExitCode.conflict.rawValue)
    }

    @Test("are moved there and back by moving their folder, and a start in a place that lacks one is refused")
    func moves() throws {
        try server.start()
        let (ada, bert) = (try save("ada", 1), try save("bert", 2))
        #expect(server.stop() == 0)
        try expectRefusal(["--assets", other], .conflict, "mv \(data)/assets \(other)/")
        #expect(try FileSystem.list(other).isEmpty)

        try move(data + "/assets", to: other + "/assets")
        // Not all of them.
        let names = try FileSystem.list(other + "/assets")
        try move(other + "/assets/" + names[0], to: folder.file("aside"))
        try expectRefusal(["--assets", other], .damaged, "lacks 1 of the 2 assets", "Nothing was changed")
        #expect(!FileSystem.exists(data + "/brume.assets") && !FileSystem.exists(other + "/brume.assets"))
        try move(folder.file("aside"), to: other + "/assets/" + names[0])
        try server.start(options: ["--assets", other])
        try expectFilm(1, ada)
        try expectFilm(2, bert)
        #expect(try save("carl", 3) != "" && count(other) == 3)
        #expect(server.stop() == 0)
        try FileSystem.makeDirectoryTree(data + "/assets/x")
        _ = try folder.write("data/assets/x/file", "")
        try expectRefusal(["--assets", other], .conflict, "\(data)/assets has files")
        try FileSystem.removeTree(data + "/assets")

        // Back, and there again: as after an attempt that was interrupted, of which the two folders have their files.
        try move(other + "/assets", to: data + "/assets")
        try expectRefusal(["--assets", other], .damaged, "/assets is missing")
        try server.start(options: ["--assets", data])
        try expectFilm(2, bert)
        #expect(server.stop() == 0)
        try server.start()
        #expect(server.stop() == 0)
        try server.expectSound()
        try move(data + "/assets", to: other + "/assets")
        try FileSystem.remove(other + "/brume.assets")
        try server.start(options: ["--assets", other])
        try expectFilm(1, ada)
        #expect(server.stop() == 0)
    }

    @Test("that were moved away are missed by a start that is not told where they are")
    func startWithoutThem() throws {
        try server.start()
        let token = try save("ada", 1)
        #expect(server.stop() == 0)
        try server.start()
        #expect(server.stop() == 0)
        try move(data + "/assets", to: other + "/assets")
        try expectRefusal([], .damaged, "assets: the folder is missing", "brume serve --assets DIR")
        #expect(!FileSystem.exists(data + "/assets"))
        try server.start(options: ["--assets", other])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
        try move(other + "/assets", to: data + "/assets")
        try server.start(options: ["--assets", data])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("that are another server's, or nobody's, are not taken for those of a server without assets")
    func strangers() throws {
        try server.start()
        let token = try save("ada", 1)
        #expect(server.stop() == 0)
        try move(data + "/assets", to: other + "/assets")
        try expectRefusal(["--assets", other], .conflict, "no record of", data: folder.file("second"))
        try server.start(options: ["--assets", other])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("are found by commands on the data folder, wherever the server runs, and named where they were moved")
    func commands() throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        let backup = folder.file("backup")
        let made = try run("backup", backup, "--data", data, "--json")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try made.json()["assets"] == .integer(1))
        let inside = try run("backup", other + "/backup", "--data", data)
        #expect(inside.status == ExitCode.usage.rawValue && inside.errors.contains("would stand inside \(other)"))
        #expect(server.stop() == 0)
        #expect(try run("backup", folder.file("b.brume"), "--data", data).status == 0)
        try server.expectSound()
        // A backup has its assets in itself, and no place elsewhere.
        #expect(!FileSystem.exists(backup + "/brume.assets") && count(backup) == 1)
        for path in [backup, folder.file("b.brume")] {
            #expect(try run("verify", path).status == 0)
            let verified = try CommandRun(["verify", path], environment: ["BRUME_SERVER_ASSETS": other], in: folder)
            #expect(verified.status == 0, "\(verified.errors)")
        }
        #expect(try run("verify", backup, "--assets", other).errors.contains("leave out --assets"))

        let moved = try FileSystem.canonicalPath(folder.path) + "/moved"
        try move(other, to: moved)
        for words in [["verify", data], ["backup", folder.file("c"), "--data", data]] {
            let refused = try CommandRun(words, in: folder)
            #expect(refused.status == ExitCode.notFound.rawValue && refused.errors.contains("is its disk mounted?"))
            #expect(try CommandRun(words + ["--assets", moved], in: folder).status == 0)
        }
        try server.start(options: ["--assets", moved])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
        try server.expectSound()
    }

    @Test("are restored to another disk, and nothing stays of a restore that fails")
    func restore() throws {
        try server.start()
        let token = try save("ada", 1)
        let backup = folder.file("backup")
        #expect(try run("backup", backup, "--data", data).status == 0)
        server.kill()
        try FileSystem.removeTree(data)
        let files = (FileManager.default.enumerator(atPath: backup)?.compactMap { $0 as? String } ?? [])
        let segment = backup + "/" + (try #require(files.first { $0.hasPrefix("snapshots/") }))
        try move(segment, to: folder.file("aside"))
        #expect(try run("restore", backup, "--data", data, "--assets", other).status == ExitCode.damaged.rawValue)
        try move(folder.file("aside"), to: segment)
        let full = try CommandRun(
            [
                "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "sh", CommandRun.executable, "restore", backup,
                "--data", data, "--assets", other,
            ], executable: "/bin/sh", in: folder)
        #expect(full.status == ExitCode.failed.rawValue, "\(full.errors)")
        #expect(try !FileSystem.exists(data) && FileSystem.list(other) == ["lock"])
        let restored = try run("restore", backup, "--data", data, "--assets", other)
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(count(other) == 1 && count(data) == 0)
        try server.expectSound()
        try expectRefusal([], .usage, "--assets \(other)")
        try server.start(options: ["--assets", other])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("are told of as lost when the data folder has lost its file of them, which a start refuses")
    func lostPlace() throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        #expect(server.stop() == 0)
        try server.start(options: ["--assets", other])
        #expect(server.stop() == 0)
        var bytes = try FileSystem.read(data + "/brume.assets", limit: 1_000)
        bytes[20] ^= 1
        try FileSystem.atomicReplace(data + "/brume.assets", bytes)
        try expectRefusal(["--assets", other], .damaged, "brume.assets is damaged at byte 0")
        #expect(try run("verify", data).status == ExitCode.damaged.rawValue)
        try FileSystem.remove(data + "/brume.assets")
        try expectRefusal([], .damaged, "brume.assets: the file is missing")
        try expectRefusal(["--assets", other], .conflict, "has the assets of another data folder")
        let verified = try run("verify", data)
        #expect(verified.output.joined().contains("affects where the contents of assets are"), "\(verified.output)")

        try move(other + "/assets", to: data + "/assets")
        let accepted = try run("verify", data, "--accept-loss")
        #expect(accepted.status == 0, "\(accepted.output)")
        #expect(accepted.output.joined().contains("are looked for in the data folder's own folder assets"))
        try server.start()
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("that are lost with their disk are given up where that is accepted, and the rest is served")
    func lostDisk() throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        #expect(server.stop() == 0)
        try FileSystem.removeTree(other)
        let another = folder.file("another")
        try FileSystem.makeDirectory(another)
        try expectRefusal(["--assets", another], .notFound, "it has no brume.assets")
        let blind = try run("verify", data, "--accept-loss")
        #expect(blind.status == ExitCode.notFound.rawValue, "\(blind.errors)")
        // It may be the folder on which a disk is not mounted just now.
        let unsure = try run("verify", data, "--assets", another, "--accept-loss")
        #expect(unsure.status == ExitCode.usage.rawValue && unsure.errors.contains("--yes"), "\(unsure.errors)")
        #expect(try FileSystem.list(another).isEmpty)
        let accepted = try run("verify", data, "--assets", another, "--accept-loss", "--yes")
        #expect(accepted.status == ExitCode.damaged.rawValue, "\(accepted.errors)")
        #expect(accepted.output.joined().contains("is sound, but for the assets named above"), "\(accepted.output)")
        let acts = try run("audit", "list", "--data", data).output
        #expect(acts.contains { $0.contains("folder.accept-loss  assets") && $0.contains("done") }, "\(acts)")
        try server.start(options: ["--assets", another])
        #expect(try save("bert", 2) != "" && count(another) == 1)
        let fetched = try CommandRun(
            ["records", "get", "Photos", "sea", "--assets", folder.file("x")], environment: environment(token),
            in: folder)
        #expect(fetched.status != 0)
        #expect(server.stop() == 0)
        // To the data folder, with one that is missing everywhere.
        try move(another + "/assets", to: data + "/assets")
        try expectRefusal(["--assets", data], .damaged, "lacks 1 of the 2 assets", "--accept-loss")
        #expect(try run("verify", data, "--assets", data, "--accept-loss").status == ExitCode.damaged.rawValue)
        try server.start()
        #expect(server.stop() == 0)
    }

    @Test("are not served to an older copy of the data folder, unless that is accepted")
    func rollBack() throws {
        try server.start(options: ["--assets", other])
        let ada = try save("ada", 1)
        #expect(server.stop() == 0)
        let (older, newer) = (folder.file("older"), folder.file("newer"))
        #expect(try Tool.run(["cp", "-a", data, older]).status == 0)
        try server.start(options: ["--assets", other])
        let bert = try save("bert", 2)
        #expect(server.stop() == 0)

        try move(data, to: newer)
        try move(older, to: data)
        try expectRefusal(["--assets", other], .conflict, "another state of \(data)", "--accept-loss")
        try move(data, to: older)
        try move(newer, to: data)
        try server.start(options: ["--assets", other])
        try expectFilm(2, bert)
        #expect(server.stop() == 0)

        try move(data, to: newer)
        try move(older, to: data)
        #expect(try run("verify", data, "--assets", other).status == 0)
        try expectRefusal(["--assets", other], .conflict, "another state of \(data)")
        let accepted = try run("verify", data, "--assets", other, "--accept-loss")
        #expect(accepted.status == 0, "\(accepted.errors)")
        try server.start(options: ["--assets", other])
        try expectFilm(1, ada)
        #expect(server.stop() == 0 && count(other) == 2)
    }

    @Test("stay on their disk when another one gets its path, and end the server when their folder is moved away")
    func exchanged() async throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        let away = folder.file("away")
        try move(other, to: away)
        try FileSystem.makeDirectory(other)
        try FileSystem.makeDirectory(other + "/assets")
        try expectFilm(1, token)
        #expect(try save("bert", 2) != "" && count(away) == 2 && count(other) == 0)

        try move(away + "/assets", to: away + "/moved")
        let fetched = try CommandRun(
            ["records", "get", "Photos", "sea", "--assets", folder.file("x")],
            // A device that has the film in no cache.
            environment: environment(token).merging(["BRUME_TIMEOUT": "2", "BRUME_STATE": folder.file("new")]) { $1 },
            in: folder)
        #expect(fetched.status != 0)
        #expect(try await server.end() == ExitCode.diskFailed.rawValue)
        #expect(server.log.contains("was moved or removed while it was in use"))
        try move(away + "/moved", to: away + "/assets")
        try server.start(options: ["--assets", away])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("end the server with 74 when their disk fails to sync")
    func faults() async throws {
        let trigger = folder.file("trigger")
        try server.start(
            environment: [
                "LD_PRELOAD": try ProcessFaultTests.shim(in: folder), "FAULT_CALL": "fdatasync",
                "FAULT_TRIGGER": trigger, "FAULT_PATH": other,
            ], options: ["--assets", other])
        let token = try save("ada", 1)
        _ = try folder.write("trigger", "")
        try Self.film(9).write(to: URL(fileURLWithPath: folder.file("film")))
        let failed = try CommandRun(
            ["records", "save", "Photos", "lake", "--type", "Photo", "film=@" + folder.file("film")],
            environment: environment(token).merging(["BRUME_TIMEOUT": "2"]) { $1 }, in: folder)
        #expect(failed.status != 0)
        #expect(try await server.end() == ExitCode.diskFailed.rawValue)
        #expect(server.log.contains("the files of assets can't be relied on"))
        try FileSystem.remove(trigger)
        try server.start(options: ["--assets", other])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("are synced before another path of theirs counts, and where they were is kept when that fails")
    func movedSync() throws {
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        #expect(server.stop() == 0)
        let moved = try FileSystem.canonicalPath(folder.path) + "/moved"
        try move(other, to: moved)
        let before = try FileSystem.read(data + "/brume.assets", limit: 10_000)
        try expectRefusal(
            ["--assets", moved], .failed, "syncfs",
            environment: [
                "LD_PRELOAD": try ProcessFaultTests.shim(in: folder), "FAULT_CALL": "syncfs",
                "FAULT_TRIGGER": try folder.write("trigger", ""), "FAULT_PATH": moved,
            ])
        #expect(try FileSystem.read(data + "/brume.assets", limit: 10_000) == before)
        try server.start(options: ["--assets", moved])
        try expectFilm(1, token)
        #expect(server.stop() == 0)
    }

    @Test("are on the disk of the folder that is named, which is looked at", .enabled(if: SmallDisk.isPossible))
    func diskOfItsOwn() throws {
        let disk = try SmallDisk(in: folder, at: "disk/assets", mebibytes: 40)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: disk.path)
        try expectRefusal(["--assets", other], .conflict, "\(other)/assets is another disk than \(other)")
        #expect(!FileSystem.exists(other + "/brume.assets"))
    }

    @Test("are refused when their disk alone has little room", .enabled(if: SmallDisk.isPossible))
    func room() throws {
        let disk = try SmallDisk(in: folder, mebibytes: 40)
        #expect(disk.path == folder.path + "/disk")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: disk.path)
        try server.start(options: ["--assets", other])
        let token = try save("ada", 1)
        #expect(count(other) == 1 && count(data) == 0)
        try disk.fill(leaving: 1_500_000)
        // Else the answer of a second ago would hold.
        #expect(server.stop() == 0)
        try server.start(options: ["--assets", other])
        let refused = try CommandRun(
            ["records", "save", "Photos", "lake", "--type", "Photo", "film=@" + folder.file("film")],
            environment: environment(token), in: folder)
        #expect(refused.status != 0 && server.log.contains("uploads of assets are refused"), "\(refused.errors)")
        #expect(server.stop() == 0)
    }
}
