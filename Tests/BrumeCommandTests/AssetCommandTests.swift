internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Assets on the command line", .serialized)
struct AssetCommandTests {
    private let folder: TestFolder
    private let data: String

    init() throws {
        folder = try TestFolder()
        data = folder.path + "/data"
    }

    private func start(_ data: String? = nil) throws -> ServerProcess {
        try ServerProcess.dev(folder: folder, arguments: ["--data", data ?? self.data])
    }

    private func file(_ name: String, _ content: Data) throws -> String {
        let path = folder.path + "/" + name
        try content.write(to: URL(fileURLWithPath: path))
        return path
    }

    private func read(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }

    private static let film = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 / 11) })

    @Test("files are saved, shown, fetched into a folder, and nothing is overwritten")
    func records() throws {
        let server = try start()
        #expect(try server.run("zones", "create", "Photos").status == 0)
        let film = try file("film.mov", Self.film)
        let (page, other) = (try file("page", Data("one".utf8)), try file("other", Data("two".utf8)))
        let saved = try server.run(
            "records", "save", "Photos", "sea/1", "--type", "Photo", "film=@\(film)",
            "pages:list=[{\"asset\": \"\(page)\"}, {\"asset\": \"\(other)\"}]", "title:text=@sea",
            "area:list=[\"a\", \"b\"]")
        #expect(saved.status == 0, "\(saved.errors)")
        let shown = try server.run("records", "get", "Photos", "sea/1")
        #expect(shown.status == 0 && shown.output.joined().contains("film: <asset> (2.3 MiB)"), "\(shown.output)")
        #expect(shown.output.joined().contains("title: @sea"))
        let target = folder.path + "/fetched"
        let fetched = try server.run("records", "get", "Photos", "sea/1", "--assets", target, "--json")
        #expect(fetched.status == 0, "\(fetched.errors)")
        #expect(try read(target + "/sea%2F1.film") == Self.film)
        #expect(try read(target + "/sea%2F1.pages.2") == Data("two".utf8))
        let asset = try fetched.json()["fields"]?["film"]?["asset"]
        #expect(asset?["file"] == .string(target + "/sea%2F1.film") && asset?["byteCount"] == .integer(2_500_000))
        let figures = try run("stats", "--data", data, "--json").json()["assets"]
        #expect(figures?["uploads"] == .integer(3) && figures?["uploadedBytes"] == .integer(2_500_006))
        #expect(figures?["downloads"] == .integer(3) && figures?["downloadedBytes"] == .integer(2_500_006))
        #expect(figures?["namedBytes"] == .integer(2_500_006) && figures?["transfers"] == .integer(0))
        #expect(figures?["pendingBytes"] == .integer(0) && figures?["removedFiles"] == .integer(0))
        let again = try server.run("records", "get", "Photos", "sea/1", "--assets", target)
        #expect(again.status == ExitCode.conflict.rawValue && again.errors.contains("exists"), "\(again.errors)")

        let missing = try server.run("records", "save", "Photos", "b", "--type", "Photo", "film=@nowhere")
        #expect(missing.status != 0 && missing.errors.contains("there is no file nowhere; a text"), "\(missing.errors)")
        // Changes of other fields neither fetch nor send the files.
        #expect(try server.run("records", "save", "Photos", "sea/1", "title=Sea").status == 0)
        #expect(try server.run("records", "save", "Photos", "sea/1", "film=").status == 0)
        #expect(try !server.run("records", "get", "Photos", "sea/1").output.joined().contains("film"))
    }

    @Test("backups hold them, in a file or a folder, and a server serves what was restored", arguments: [false, true])
    func backups(isFile: Bool) throws {
        let backup = folder.path + (isFile ? "/b.brume" : "/b")
        let server = try start()
        #expect(try server.run("zones", "create", "Photos").status == 0)
        let film = try file("film.mov", Self.film)
        #expect(try server.run("records", "save", "Photos", "sea", "--type", "Photo", "film=@\(film)").status == 0)
        let made = try run("backup", backup, "--data", data)
        #expect(made.status == 0 && made.output.joined().contains("1 asset of 2.3 MiB"), "\(made.output)\(made.errors)")
        server.send(SIGTERM)
        #expect(server.wait() == 0)
        let verified = try run("verify", backup, "--json")
        #expect(verified.status == 0)
        #expect(try verified.json()["assets"] == .integer(1) && verified.json()["assetBytes"] == .integer(2_500_000))
        let restored = folder.path + "/restored"
        #expect(try run("restore", backup, "--data", restored).status == 0)
        let second = try start(restored)
        let target = folder.path + "/fetched"
        #expect(try second.run("records", "get", "Photos", "sea", "--assets", target).status == 0)
        #expect(try read(target + "/sea.film") == Self.film)
    }

    @Test("one that is lost on the disk is named by verify and backup, and restored only where that is accepted")
    func loss() throws {
        let server = try start()
        #expect(try server.run("zones", "create", "Photos").status == 0)
        let film = try file("film.mov", Self.film)
        #expect(try server.run("records", "save", "Photos", "sea", "--type", "Photo", "film=@\(film)").status == 0)
        let stored = try #require(
            FileManager.default.enumerator(atPath: data + "/assets")?.compactMap { $0 as? String }
                .first { $0.split(separator: "/").last?.count == 81 })
        try FileManager.default.removeItem(atPath: data + "/assets/" + stored)
        let backup = folder.path + "/b.brume"
        let made = try run("backup", backup, "--data", data)
        #expect(made.status == ExitCode.damaged.rawValue, "\(made.errors)")
        #expect(made.output.joined().contains("affects record sea of zone Photos"), "\(made.output)")
        server.send(SIGTERM)
        #expect(server.wait() == 0)
        for path in [data, backup] {
            let verified = try run("verify", path)
            #expect(verified.status == ExitCode.damaged.rawValue)
            #expect(verified.output.joined().contains("is sound, but for the assets named above"), "\(verified.output)")
        }
        let restored = folder.path + "/restored"
        let refused = try run("restore", backup, "--data", restored)
        #expect(refused.status == ExitCode.damaged.rawValue && refused.errors.contains("--accept-loss"))
        #expect(!FileSystem.exists(restored))
        #expect(
            try run("restore", backup, "--data", restored, "--accept-loss").status == ExitCode.damaged.rawValue)
        let second = try start(restored)
        #expect(try second.run("records", "get", "Photos", "sea").status == 0)
        let fetched = try second.run("records", "get", "Photos", "sea", "--assets", folder.path + "/fetched")
        #expect(fetched.status != 0)
    }

    @Test("an export has them beside it, each content once, and an import brings them into another account")
    func exports() throws {
        let server = try start()
        for zone in ["Photos", "Other"] { #expect(try server.run("zones", "create", zone).status == 0) }
        let film = try file("film.mov", Self.film)
        for (zone, name) in [("Photos", "sea"), ("Photos", "lake"), ("Other", "sea"), ("default", "sea")] {
            let saved = try server.run("records", "save", zone, name, "--type", "Photo", "film=@\(film)", "n:int64=1")
            #expect(saved.status == 0, "\(saved.errors)")
        }
        let export = folder.path + "/all.jsonl"
        let made = try server.run("export", export)
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.output.joined().contains("1 asset of 2.3 MiB beside it"), "\(made.output)")
        let names = try FileSystem.list(export + ".assets")
        #expect(names.count == 1 && names[0].count == 64)
        #expect(try server.run("export", export).status == ExitCode.conflict.rawValue)

        let second = try start(folder.path + "/second")
        let imported = try second.run("import", export, "--format", "brume")
        #expect(imported.status == 0, "\(imported.errors)")
        let target = folder.path + "/fetched"
        for zone in ["Photos", "Other", "default"] {
            #expect(try second.run("records", "get", zone, "sea", "--assets", target + zone).status == 0)
            #expect(try read(target + zone + "/sea.film") == Self.film)
        }
        // A content that was changed, or is missing, fails the records that name it.
        try Data("other".utf8).write(to: URL(fileURLWithPath: export + ".assets/" + names[0]))
        let changed = try second.run("import", export, "--format", "brume")
        #expect(changed.status != 0 && changed.errors.contains("holds another content"), "\(changed.errors)")
        let streamed = try second.run("export", "-")
        #expect(streamed.status == 0 && streamed.errors.contains("the assets of 4 records are left out"))
        let without = try second.run(
            "import", export, "--format", "brume", "--assets", folder.path + "/nowhere", "--json")
        #expect(
            without.status != 0 && without.errors.contains("the content of an asset is missing"), "\(without.errors)")
    }

    @Test("a column of a table has files, too")
    func rows() throws {
        let server = try start()
        let film = try file("film.mov", Self.film)
        let table = try file("photos.csv", Data("id,film:asset\nsea,\(film)\nlake,nowhere.mov\n".utf8))
        let imported = try server.run("import", table, "--zone", "Photos", "--type", "Photo", "--name-field", "id")
        #expect(imported.status != 0 && imported.errors.contains("there is no file nowhere.mov"), "\(imported.errors)")
        let target = folder.path + "/fetched"
        #expect(try server.run("records", "get", "Photos", "sea", "--assets", target).status == 0)
        #expect(try read(target + "/sea.film") == Self.film)
    }

    @Test("names of records become names of files that lead nowhere else")
    func names() {
        for (name, expected) in [
            ("sea.film", "sea.film"), ("../../x", "%2E.%2F..%2Fx"), (".hidden", "%2Ehidden"), ("a b\n", "a%20b%0A"),
            ("%2E", "%252E"),
        ] { #expect(AssetFolder.fileName(name) == expected) }
    }
}
