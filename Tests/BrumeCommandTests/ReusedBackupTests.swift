internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Backups that share assets with an earlier one", .serialized)
struct ReusedBackupTests {
    private let folder: TestFolder
    private let data: String
    private let server: ServerProcess

    /// A server with two films, and a backup of it, `monday`.
    init() throws {
        folder = try TestFolder()
        data = folder.path + "/data"
        server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try server.run("zones", "create", "Photos").status == 0)
        try save("sea", 1)
        try save("lake", 2)
        let made = try run("backup", monday, "--data", data)
        #expect(made.status == 0, "\(made.errors)")
    }

    private var monday: String { folder.path + "/monday" }
    private var tuesday: String { folder.path + "/tuesday" }

    private static func film(_ kind: UInt8) -> Data {
        Data((0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 / 11) &+ kind })
    }

    private func save(_ name: String, _ kind: UInt8) throws {
        let path = folder.path + "/film"
        try Self.film(kind).write(to: URL(fileURLWithPath: path))
        let saved = try server.run("records", "save", "Photos", name, "--type", "Photo", "film=@\(path)")
        #expect(saved.status == 0, "\(saved.errors)")
    }

    private func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }

    /// The files of assets in a backup, from its folder.
    private func assets(_ backup: String) -> [String] {
        (FileManager.default.enumerator(atPath: backup + "/assets")?.compactMap { $0 as? String } ?? [])
            .filter { $0.split(separator: "/").last?.count == 81 }.map { "assets/" + $0 }.sorted()
    }

    private func flip(_ path: String, at index: Int) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = index < 0 ? bytes.count + index : index
        bytes[place] ^= 1
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        // In place, as a disk damages it: another file would leave the shared one whole.
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: bytes[place...place])
    }

    @Test("hold everything, store only what is new, and are restored when the earlier one is gone")
    func shares() throws {
        try save("wood", 3)
        let made = try run("backup", tuesday, "--reuse", monday + "/", "--data", data, "--json")
        #expect(made.status == 0, "\(made.errors)")
        let json = try made.json()
        #expect(json["assets"] == .integer(3) && json["assetBytes"] == .integer(4_500_000))
        #expect(json["sharedAssets"] == .integer(2) && json["sharedAssetBytes"] == .integer(3_000_000))
        #expect(json["damagedReusedAssets"] == .integer(0))
        #expect(assets(tuesday).count == 3)
        #expect(assets(tuesday).filter { FileSystem.isSame(tuesday + "/" + $0, monday + "/" + $0) } == assets(monday))
        #expect(assets(monday).allSatisfy { !FileSystem.isSame(data + "/" + $0, monday + "/" + $0) })
        // Nothing is shared but assets, and the earlier one is what it was.
        #expect(!FileSystem.isSame(tuesday + "/accounts", monday + "/accounts"))
        #expect(try run("verify", monday).status == 0 && run("verify", tuesday).status == 0)

        try FileManager.default.removeItem(atPath: monday)
        #expect(try run("verify", tuesday).status == 0)
        let wednesday = folder.path + "/wednesday"
        let again = try run("backup", wednesday, "--reuse", tuesday, "--data", data)
        #expect(again.output.contains { $0.hasPrefix("it shares 3 assets of 4.2 MiB with \(tuesday); their contents") })
        let restored = folder.path + "/restored"
        #expect(try run("restore", wednesday, "--data", restored).status == 0)
        #expect(assets(restored).allSatisfy { !FileSystem.isSame(restored + "/" + $0, wednesday + "/" + $0) })
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", restored])
        for (name, kind) in [("sea", UInt8(1)), ("wood", 3)] {
            let target = folder.path + "/fetched"
            #expect(try second.run("records", "get", "Photos", name, "--assets", target).status == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: target + "/\(name).film")) == Self.film(kind))
        }
    }

    @Test("take over nothing whose end is damaged, and nothing that is damaged at all where it is read before")
    func damage() throws {
        let files = assets(monday)
        try flip(monday + "/" + files[0], at: -30)
        let made = try run("backup", tuesday, "--reuse", monday, "--data", data)
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.contains { $0.hasPrefix("damaged in \(monday), and copied anew: 1 asset;") })
        #expect(!FileSystem.isSame(tuesday + "/" + files[0], monday + "/" + files[0]))
        #expect(try run("verify", tuesday).status == 0)

        // In the midst of a content: both have it, and verify tells so of both.
        try flip(tuesday + "/" + files[1], at: 1_200_000)
        let unread = try run("backup", folder.path + "/unread", "--reuse", tuesday, "--data", data)
        #expect(unread.status == 0 && unread.output.contains { $0.contains("their contents were not read") })
        for path in [monday, tuesday, folder.path + "/unread"] {
            #expect(try run("verify", path).status == ExitCode.damaged.rawValue)
        }
        let read = try run(
            "backup", folder.path + "/read", "--reuse", tuesday, "--read-reused", "--data", data, "--json")
        #expect(read.status == 0, "\(read.errors)")
        #expect(try read.json()["sharedAssets"] == .integer(1) && read.json()["damagedReusedAssets"] == .integer(1))
        #expect(try run("verify", folder.path + "/read").status == 0)
    }

    @Test("are not begun to be copied as a whole where nothing can be shared and there is no room for that")
    func room() throws {
        func backup(_ target: String, free: Int, link: Int32? = nil) throws -> CommandRun {
            var environment = ["LD_PRELOAD": try ProcessFaultTests.shim(in: folder), "FAULT_FREE": String(free)]
            if let link { environment["FAULT_LINK"] = String(link) }
            return try CommandRun(
                ["backup", target, "--reuse", monday, "--data", data], environment: environment, in: folder)
        }
        // With room for all that is not shared, and for one film of the two.
        for number in [EPERM, EMLINK, EOPNOTSUPP] {
            let refused = try backup(tuesday, free: 2_000_000, link: number)
            #expect(refused.status == ExitCode.failed.rawValue, "\(refused.output)")
            #expect(refused.errors.contains("bytes are left to be copied, because not all assets can be shared"))
            #expect(!FileSystem.exists(tuesday) && !FileSystem.exists(tuesday + ".partial"))
        }
        let copied = try backup(tuesday, free: 100_000_000, link: EPERM)
        #expect(copied.status == 0 && copied.output.contains { $0.hasPrefix("2 assets could not be shared") })

        try flip(monday + "/" + assets(monday)[0], at: -30)
        let one = try backup(folder.path + "/one", free: 2_000_000)
        #expect(one.status == 0, "\(one.errors)")
        #expect(one.output.contains { $0.hasPrefix("damaged in \(monday), and copied anew: 1 asset;") })
        try flip(monday + "/" + assets(monday)[1], at: -30)
        let little = try backup(folder.path + "/two", free: 1_400_000)
        #expect(little.status == ExitCode.failed.rawValue, "\(little.output)")
        #expect(little.errors.contains("bytes are left to be copied"))
    }

    @Test("share with a newer backup, as with an older one")
    func newer() throws {
        try save("wood", 3)
        #expect(try run("backup", tuesday, "--data", data).status == 0)
        let restored = folder.path + "/restored"
        #expect(try run("restore", monday, "--data", restored).status == 0)
        let made = try run("backup", folder.path + "/x", "--reuse", tuesday, "--data", restored, "--json")
        #expect(made.status == 0, "\(made.errors)")
        #expect(try made.json()["sharedAssets"] == .integer(2) && made.json()["assets"] == .integer(2))
        #expect(try run("verify", folder.path + "/x").status == 0)
    }

    @Test("copy everything when the earlier one is on another file system, and say so")
    func otherFileSystem() throws {
        guard let elsewhere = try OtherFileSystem() else { return }
        defer { elsewhere.remove() }
        let target = elsewhere.path + "/tuesday"
        let made = try run("backup", target, "--reuse", monday, "--data", data)
        #expect(made.status == 0, "\(made.errors)")
        #expect(
            made.output.contains(
                "nothing is shared with \(monday), which is on another file system: everything was copied"))
        #expect(try run("verify", target).status == 0)
    }

    @Test("are not made of what is no backup of this server, nor inside of one, and nothing is left of the attempt")
    func refusals() throws {
        let (empty, file, link) = (folder.path + "/empty", folder.path + "/b.brume", folder.path + "/link")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
        #expect(try run("backup", file, "--data", data).status == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: data)
        let other = try ServerProcess.dev(folder: folder, arguments: ["--data", folder.path + "/other"])
        #expect(try run("backup", folder.path + "/others", "--data", other.dataFolder).status == 0)
        // As an interrupted one is: what is in it comes before its brume.meta.
        let cut = folder.path + "/cut.partial"
        try FileManager.default.copyItem(atPath: monday, toPath: cut)
        try FileManager.default.removeItem(atPath: cut + "/brume.meta")
        let damaged = folder.path + "/damaged"
        try FileManager.default.copyItem(atPath: monday, toPath: damaged)
        try flip(damaged + "/brume.meta", at: 14)

        let refusals: [(reused: String, target: String, code: ExitCode, words: String)] = [
            (folder.path + "/nowhere", tuesday, .notFound, "there is no backup"),
            (empty, tuesday, .notFound, "is no backup"),
            (cut, tuesday, .notFound, "is no complete backup: it has no brume.meta"),
            (damaged, tuesday, .damaged, "brume.meta is damaged at byte 0"),
            (file, tuesday, .usage, "is not a folder"),
            (monday, folder.path + "/c.brume", .usage, "a backup in one file holds everything itself"),
            (data, tuesday, .usage, "are not two folders side by side"),
            (link, tuesday, .usage, "are not two folders side by side"),
            (data + "/assets", tuesday, .usage, "are not two folders side by side"),
            (folder.path, tuesday, .usage, "are not two folders side by side"),
            (monday, monday, .conflict, "a backup is made beside it, and not into it"),
            (monday, monday + "/tuesday", .usage, "would stand inside \(monday)"),
            (monday, monday + "/assets/tuesday", .usage, "would stand inside \(monday)"),
            (folder.path + "/others", tuesday, .usage, "is a backup of another server"),
            // A server runs on it.
            (other.dataFolder, tuesday, .usage, "is a backup of another server"),
        ]
        for (reused, target, code, words) in refusals {
            let run = try run("backup", target, "--reuse", reused, "--data", data)
            #expect(run.status == code.rawValue && run.errors.contains(words), "\(reused): \(run.errors)")
            #expect(target == monday || !FileSystem.exists(target) && !FileSystem.exists(target + ".partial"))
        }
        let alone = try run("backup", tuesday, "--read-reused", "--data", data)
        #expect(alone.status == ExitCode.usage.rawValue && alone.errors.contains("with --reuse"))
        #expect(try run("verify", monday).status == 0)

        // A restored folder is a backup as good as any, until a server has it.
        let restored = folder.path + "/restored"
        #expect(try run("restore", monday, "--data", restored).status == 0)
        let second = try ServerProcess.dev(folder: folder, arguments: ["--data", restored])
        let inUse = try run("backup", tuesday, "--reuse", restored, "--data", data)
        #expect(inUse.status == ExitCode.conflict.rawValue && inUse.errors.contains("another process uses"))
        second.send(SIGTERM)
        #expect(second.wait() == 0)
        #expect(try run("backup", tuesday, "--reuse", restored, "--data", data).status == 0)
    }

    @Test("that are interrupted leave the earlier one whole, and nothing that passes for a backup")
    func interrupted() throws {
        // The new asset can't be copied: the disk's limit for files ends it in the midst.
        try save("wood", 3)
        let shell = "ulimit -f 1000; exec \"$0\" backup \"$1\" --reuse \"$2\" --data \"$3\""
        let cut = try CommandRun(
            ["-c", shell, CommandRun.executable, tuesday, monday, data], executable: "/bin/sh", in: folder)
        #expect(cut.status == ExitCode.failed.rawValue, "\(cut.errors)")
        #expect(!FileSystem.exists(tuesday) && !FileSystem.exists(tuesday + ".partial"))
        #expect(try run("verify", monday).status == 0)

        // Killed: what it leaves is named, and no obstacle for the next one when it was removed.
        let partial = tuesday + ".partial"
        try FileManager.default.createDirectory(atPath: partial, withIntermediateDirectories: false)
        let refused = try run("backup", tuesday, "--reuse", monday, "--data", data)
        #expect(refused.status == ExitCode.conflict.rawValue && refused.errors.contains("remove it if none does"))
        try FileManager.default.removeItem(atPath: partial)
        #expect(try run("backup", tuesday, "--reuse", monday, "--data", data).status == 0)
        #expect(try run("verify", tuesday).status == 0 && run("verify", monday).status == 0)
    }
}

/// A folder on another file system than that of the tests' folders; nil where there is none.
struct OtherFileSystem {
    let path: String

    init?() throws {
        let parent = "/dev/shm"
        guard FileSystem.isDirectory(parent), access(parent, W_OK) == 0,
            try FileSystem.status(parent).version.device != FileSystem.status(TemporaryFolder.parent).version.device
        else { return nil }
        path = parent + "/brume-test-\(UUID().uuidString)"
        try FileSystem.makeDirectory(path)
    }

    func remove() { try? FileSystem.removeTree(path) }
}
