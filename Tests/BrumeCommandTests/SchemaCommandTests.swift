internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Schemas on the command line", .serialized)
struct SchemaCommandTests {
    private static let file = """
        DEFINE SCHEMA
        CREATE ROLE Editor;
        RECORD TYPE Note (
            "___recordID" REFERENCE QUERYABLE,
            title STRING QUERYABLE,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO Editor
        );
        """

    @Test("files are checked and compared without a server or a data folder")
    func files() throws {
        let folder = try TestFolder()
        let old = try folder.write("old.ckdb", Self.file)
        let new = try folder.write("new.ckdb", Self.file.replacing("title STRING", with: "name STRING, title STRING"))
        let broken = try folder.write("broken.ckdb", "DEFINE SCHEMA\n  RECORD TYPE Note (title TEXT);")
        let data = folder.path + "/none"
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        #expect(try run("schema", "validate", "--file", old).status == 0)
        let error = try run("schema", "validate", "--file", broken)
        #expect(error.status == ExitCode.failed.rawValue)
        #expect(error.errors.contains("broken.ckdb:2:27: expected a type"), "\(error.errors)")
        #expect(try run("schema", "validate", "--file", new, "--against", old).status == 0)
        let lost = try run("schema", "validate", "--file", old, "--against", new)
        #expect(lost.status == ExitCode.failed.rawValue)
        #expect(lost.output == ["Note.name is in production and missing here"])
        let difference = try run("schema", "diff", "--file", new, "--against", old)
        #expect(difference.status == ExitCode.failed.rawValue)
        #expect(difference.output == ["+ Note.name: STRING"])
        #expect(try run("schema", "diff", "--file", old, "--against", old).status == 0)
        let json = try run("schema", "diff", "--file", new, "--against", old, "--json").json()
        #expect(json["changes"] != nil)
        #expect(try run("schema", "validate", "--file", folder.path + "/no").status == ExitCode.notFound.rawValue)
        #expect(try run("schema", "export").status == ExitCode.notFound.rawValue)
    }

    @Test("a schema is learned, exported, deployed and enforced; roles are given", arguments: [true, false])
    func life(isRunning: Bool) throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let first = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        #expect(try first.run("records", "save", "default", "x", "--type", "Note", "title=one").status == 0)
        if !isRunning {
            first.closeInput()
            #expect(first.wait() == 0)
        }
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        #expect(try run("schema", "export").output.contains("    RECORD TYPE Note ("))
        let path = folder.path + "/schema.ckdb"
        #expect(try run("schema", "export", "--file", path).status == 0)
        #expect(try run("schema", "diff").output.first == "+ record type Note")
        #expect(try run("schema", "deploy").status == ExitCode.usage.rawValue, "there is nobody to ask")
        #expect(try run("schema", "deploy", "--yes").output.last == "deployed to production")
        #expect(try run("schema", "diff").status == 0)
        #expect(try run("schema", "deploy", "--yes", "--json").status == 0)
        #expect(try run("schema", "diff", "--file", path, "--environment", "production").status == 0)
        let other = try folder.write("other.ckdb", Self.file)
        let refused = try run("schema", "import", "--file", try folder.write("empty.ckdb", "DEFINE SCHEMA"))
        #expect(refused.status == ExitCode.failed.rawValue)
        #expect(refused.errors.contains("record type Note is in production"), "\(refused.errors)")
        #expect(try run("schema", "import", "--file", other).status == 0)
        #expect(try run("schema", "role", "Nobody", "a").status == ExitCode.notFound.rawValue)
        #expect(try run("schema", "role", "Editor", "a").output == ["a is in Editor"])
        #expect(try run("schema", "members", "--json").json()["account"] == .string("a"))
        #expect(try run("schema", "role", "Editor", "a", "--remove").status == 0)
        #expect(try run("schema", "members").output == ["no account is in a role"])
        let reset = try run("schema", "reset", "--yes")
        #expect(reset.status == (isRunning ? 0 : ExitCode.unreachable.rawValue), "\(reset.errors)")
        if isRunning {
            #expect(try first.run("records", "get", "default", "x").status == ExitCode.notFound.rawValue)
            #expect(try run("schema", "diff").status == 0)
        }
    }

    @Test("a mistyped container is not found, and the one that was meant is named", arguments: [true, false])
    func mistypedContainer(isRunning: Bool) throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        if !isRunning {
            server.closeInput()
            #expect(server.wait() == 0)
        }
        func run(_ words: String..., container: String = "iCloud.notse") throws -> CommandRun {
            try CommandRun(words + ["--data", data, "--container", container], in: folder)
        }
        let none = try run("schema", "export")
        #expect(none.status == ExitCode.notFound.rawValue && none.errors.contains("schema import"), "\(none.errors)")
        let path = try folder.write("schema.ckdb", Self.file)
        let first = try run("schema", "import", "--file", path, container: "iCloud.notes")
        #expect(first.status == 0 && first.errors.contains("iCloud.notes is a new container"), "\(first.errors)")
        let again = try run("schema", "import", "--file", path, container: "iCloud.notes")
        #expect(again.status == 0 && again.errors.isEmpty, "\(again.errors)")
        for words in [
            ["schema", "export"], ["schema", "diff"], ["schema", "diff", "--file", path],
            ["schema", "deploy", "--yes"],
            ["schema", "reset", "--yes"], ["schema", "members"], ["schema", "role", "Editor", "a"],
        ] {
            let run = try CommandRun(words + ["--data", data, "--container", "iCloud.notse"], in: folder)
            #expect(run.status == ExitCode.notFound.rawValue, "\(words): \(run.output) \(run.errors)")
            #expect(run.errors.contains("did you mean --container iCloud.notes?"), "\(words): \(run.errors)")
        }
        #expect(try run("schema", "deploy", "--yes", container: "iCloud.notes").status == 0)
    }

    @Test("a schema that is too large for a running server is refused with what to do, and taken by a stopped one")
    func largeSchema() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let fields = (0..<7_900).map { "f\($0)_" + String(repeating: "x", count: 240) + " INT64" }
        let types = stride(from: 0, to: fields.count, by: 100).map {
            "RECORD TYPE T\($0) (\(fields[$0..<min($0 + 100, fields.count)].joined(separator: ", ")));"
        }
        let path = try folder.write("large.ckdb", "DEFINE SCHEMA\n" + types.joined(separator: "\n"))
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        func run(_ words: String...) throws -> CommandRun { try CommandRun(words + ["--data", data], in: folder) }
        let refused = try run("schema", "import", "--file", path)
        #expect(refused.status == ExitCode.failed.rawValue)
        #expect(refused.errors.contains("a running server takes up to"), "\(refused.errors)")
        #expect(refused.errors.contains("stop the server"), "\(refused.errors)")
        #expect(try !run("schema", "export").output.contains { $0.contains("RECORD TYPE T") })
        server.closeInput()
        #expect(server.wait() == 0)
        let taken = try run("schema", "import", "--file", path)
        #expect(taken.status == 0, "\(taken.errors)")
        #expect(try run("schema", "diff", "--file", path, "--environment", "development").status == 0)
    }

    @Test("dev with a schema file and the production environment refuses what the file does not have")
    func dev() throws {
        let folder = try TestFolder()
        let path = try folder.write("schema.ckdb", Self.file)
        let server = try ServerProcess.dev(
            folder: folder, arguments: ["--schema", path, "--environment", "production"])
        let production = ["BRUME_ENVIRONMENT": "production"]
        #expect(
            try server.run("records", "save", "default", "x", "--type", "Note", "title=one", extra: production).status
                == 0)
        for (words, part) in [(["--type", "Note", "body=two"], "'body'"), (["--type", "Task", "title=x"], "Task")] {
            let run = try CommandRun(
                ["records", "save", "default", "y"] + words,
                environment: server.environment().merging(production) { $1 }, in: folder)
            #expect(run.status == ExitCode.failed.rawValue)
            #expect(run.errors.contains(part) && run.errors.contains("brume schema deploy"), "\(run.errors)")
        }
    }
}
