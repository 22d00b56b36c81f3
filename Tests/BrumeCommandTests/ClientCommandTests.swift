internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Real processes on both sides; one at a time, since each test runs several.
@Suite("The executable as a client", .serialized)
struct ClientCommandTests {
    @Test("records are saved, fetched, changed, listed as changes and deleted")
    func roundTrip() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Notes").status == 0)
        let saved = try server.run(
            "records", "save", "Notes", "first", "--type", "Note", "title=Héllo", "count:int64=3",
            "place:location=52.5,13",
            "tags:list=[\"a\",\"b\"]", "when:date=2026-01-02T03:04:05.678Z", "raw:bytes=AAEC", "other:reference=second")
        #expect(saved.status == 0, "\(saved.errors)")
        let record = try server.run("records", "get", "Notes", "first", "--json").json()
        let fields = try #require(record["fields"])
        #expect(record["type"]?.text == "Note")
        #expect(fields["title"] == .string("Héllo"))
        #expect(fields["count"] == .integer(3))
        #expect(fields["place"] == .object([("location", .array([.number(52.5), .number(13)]))]))
        #expect(fields["tags"] == .array([.string("a"), .string("b")]))
        #expect(fields["when"] == .object([("date", .string("2026-01-02T03:04:05.678Z"))]))
        #expect(fields["raw"] == .object([("bytes", .string("AAEC"))]))
        #expect(fields["other"] == .object([("reference", .string("second"))]))

        let all = try server.run("changes", "Notes", "--all", "--json")
        #expect(all.output.count == 2)
        let token = try #require(try all.json()["token"]?.text)
        #expect(
            try server.run("records", "save", "Notes", "first", "title=", "--json-fields", "{\"count\": 4}").status == 0
        )
        #expect(try server.run("records", "save", "Notes", "second", "--type", "Note", "--new").status == 0)
        #expect(try server.run("records", "delete", "Notes", "second").status == 0)
        let later = try server.run("changes", "Notes", "--since", token, "--json")
        let changed = try JSONParser.value(of: #require(later.output.first))
        #expect(changed["record"]?["fields"]?["count"] == .integer(4))
        #expect(changed["record"]?["fields"]?["title"] == nil)
        #expect(later.output.dropFirst().first.map { $0.contains("\"deleted\"") && $0.contains("second") } == true)
        #expect(try server.run("changes", "--json").output.first?.contains("Notes") == true)
        #expect(try server.run("zones", "--json").output.count == 2)
        #expect(try server.run("zones", "delete", "Notes").status == 0)
        for words in [["create", "A", "A"], ["delete", "A", "B", "A"]] {
            let twice = try CommandRun(["zones"] + words, environment: server.environment(), in: server.folder)
            #expect(twice.status == ExitCode.usage.rawValue && twice.errors.contains("twice"), "\(twice.errors)")
        }
        // More than one request takes.
        let names = (0...400).map { "Zone\($0)" }
        for verb in ["create", "delete"] {
            let many = try CommandRun(["zones", verb] + names, environment: server.environment(), in: server.folder)
            #expect(many.status == 0 && many.output.count == 401, "\(many.errors)")
        }
        let port = try server.run("zones", extra: ["BRUME_SERVER": "127.0.0.1:0"])
        #expect(port.status == ExitCode.usage.rawValue && port.errors.contains("from 1 to 65535"), "\(port.errors)")
    }

    @Test("the public database is shared, the private one is not")
    func publicDatabase() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let saved = try server.run("records", "save", "default", "news", "--public", "--type", "News", "text=x")
        #expect(saved.status == 0, "\(saved.errors)")
        #expect(try server.run("records", "get", "default", "news", "--public", account: "b").status == 0)
        #expect(try server.run("records", "get", "default", "news", account: "b").status == ExitCode.notFound.rawValue)
        let foreign = try server.run("records", "delete", "default", "news", "--public", account: "b")
        #expect(foreign.status == ExitCode.notPermitted.rawValue)
        // The token is right.
        #expect(!foreign.errors.contains("token"), "\(foreign.errors)")
    }

    @Test("what a command needs is named as in the command line")
    func hints() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let signedOut = try server.run("zones", extra: ["BRUME_TOKEN": ""])
        #expect(signedOut.status == ExitCode.notPermitted.rawValue)
        #expect(signedOut.errors.contains("BRUME_TOKEN or --token-file"), "\(signedOut.errors)")
        #expect(!signedOut.errors.contains("CKContainer"), "\(signedOut.errors)")
        let state = try server.run("zones", "--state", "/proc/nowhere")
        #expect(state.status == ExitCode.failed.rawValue && state.errors.contains("--state"), "\(state.errors)")
        #expect(state.errors.contains("/proc/nowhere"), "\(state.errors)")
        let path = try server.folder.write("ca.json", "{}")
        let authority = try server.run("zones", "--ca", path)
        #expect(
            authority.status == ExitCode.failed.rawValue && authority.errors.contains("--ca"), "\(authority.errors)")
        for words in [["save", "Nowhere", "x", "--type", "T"], ["get", "Nowhere", "x"]] {
            let run = try CommandRun(["records"] + words, environment: server.environment(), in: server.folder)
            #expect(run.status == ExitCode.notFound.rawValue)
            #expect(run.errors.contains("brume zones create NAME"), "\(words): \(run.errors)")
        }
    }

    @Test("each kind of failure has its exit code and says what to do")
    func exitCodes() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        func code(_ code: ExitCode, _ text: String, _ run: CommandRun) {
            #expect(run.status == code.rawValue, "\(run.errors)")
            #expect(run.errors.contains(text), "\(run.errors)")
        }
        code(.usage, "did you mean: brume zones", try server.run("zoness"))
        code(.usage, "did you mean --json?", try server.run("zones", "--jsno"))
        code(.usage, "a new record needs --type", try server.run("records", "save", "default", "x", "a=b"))
        code(.usage, "no whole number", try server.run("records", "save", "default", "x", "a:int64=b"))
        code(.usage, "BRUME_SERVER", try server.run("zones", extra: ["BRUME_SERVER": ""]))
        code(.notFound, "x:", try server.run("records", "get", "default", "x"))
        code(.notFound, "no such zone", try server.run("changes", "Nowhere"))
        #expect(try server.run("records", "save", "default", "x", "--type", "T").status == 0)
        code(.conflict, "exists", try server.run("records", "save", "default", "x", "--type", "T", "--new", "a=b"))
        code(.notPermitted, "token", try server.run("zones", extra: ["BRUME_TOKEN": "brume_wrong"]))
        code(.unreachable, "127.0.0.1:1", try server.run("zones", extra: ["BRUME_SERVER": "127.0.0.1:1"]))
        code(.notFound, "there is no file", try server.run("import", "/nowhere.csv", "--zone", "Z", "--type", "T"))
        #expect(try CommandRun([], in: server.folder).status == ExitCode.usage.rawValue)
        #expect(
            try CommandRun(["help", "serve"], in: server.folder).output.first?.hasPrefix("usage: brume serve") == true)
        #expect(try CommandRun(["version", "--json"], in: server.folder).json()["protocol"] == .integer(1))
    }

    @Test("a deletion says what was deleted, and what was not there")
    func deletions() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Notes").status == 0)
        #expect(try server.run("records", "save", "Notes", "one", "--type", "Note", "t=x").status == 0)
        let records = try server.run("records", "delete", "Notes", "one", "nope", "one")
        #expect(records.status == 0, "\(records.errors)")
        #expect(records.output == ["deleted one", "there was no nope"])
        let nowhere = try server.run("records", "delete", "Nowhere", "one")
        #expect(nowhere.status == ExitCode.notFound.rawValue && nowhere.errors.contains("no such zone"))
        let zones = try server.run("zones", "delete", "Notes", "Nope")
        #expect(zones.status == 0, "\(zones.errors)")
        #expect(zones.output == ["there was no zone Nope", "zone Notes is deleted"])
        let file = try server.folder.write("one.csv", "id,age\na,1\n")
        let missing = try server.run("import", file, "--zone", "Z", "--type", "P", "--name-field", "di")
        #expect(missing.status == ExitCode.usage.rawValue)
        #expect(missing.errors.split(separator: "\n").count == 2, "\(missing.errors)")
        #expect(missing.errors.contains("there is id, age") && missing.errors.contains("--name-field id?"))
        let imported = try server.run("import", file, "--zone", "Z", "--type", "P", "--name-field", "id")
        #expect(imported.output.last?.hasPrefix("1 record saved") == true, "\(imported.output)")
    }

    @Test("the same fault has the same exit code in every command")
    func sameCodes() throws {
        let folder = try TestFolder()
        let data = ["--data", folder.path + "/data"]
        let server = try ServerProcess.dev(folder: folder, arguments: data)
        func codes(_ code: ExitCode, _ text: String, _ lines: [String]...) throws {
            for words in lines {
                let run = try CommandRun(words, environment: server.environment(), in: server.folder)
                #expect(run.status == code.rawValue, "\(words): \(run.errors)")
                #expect(run.errors.contains(text), "\(words): \(run.errors)")
            }
        }
        let file = try server.folder.write("token", "brume_x")
        #expect(try server.run("records", "save", "default", "x", "--type", "T").status == 0)
        let elsewhere = ["--server", "127.0.0.1:1", "--operator-token-file", file]
        let nowhere = server.folder.path + "/nowhere/file"
        try codes(
            .usage, "such as iCloud.com.example.app", ["zones", "--container", "x"], ["health", "--container", "x"],
            ["schema", "export", "--container", "x"] + data, ["account", "list", "--container", "x"] + data,
            ["dev", "--container", "x"])
        try codes(
            .usage, "HOST:PORT", ["zones", "--server", "x"], ["health", "--server", "x"],
            ["account", "list", "--server", "x", "--operator-token-file", file], ["load", "--server", "x"])
        try codes(
            .notFound, "there is no CA certificate", ["zones", "--ca", nowhere], ["health", "--ca", nowhere],
            ["account", "list", "--ca", nowhere] + elsewhere, ["schema", "export", "--ca", nowhere] + elsewhere)
        try codes(
            .notFound, "there is no folder", ["export", nowhere], ["schema", "export", "--file", nowhere] + data,
            ["backup", nowhere + ".brume"] + data)
        try codes(.notFound, "configuration file", ["zones", "--config", nowhere])
        try codes(
            .usage, "KiB, MiB, GiB, TiB", ["account", "quota", "a", "5GB"] + data, ["serve", "--quota", "5GB"],
            ["serve", "--memory-budget", "5GB"])
        try codes(.usage, "admin.token", ["account", "list", "--server", "127.0.0.1:1"])
        try codes(.notFound, "brume account token", ["zones", "--token-file", nowhere])
        try codes(
            .usage, "such as Notes", ["zones", "create", "ü"], ["records", "get", "ü", "x"],
            ["export", "-", "--zone", "ü"])
        try codes(.usage, "there are", ["records", "save", "default", "x", "--type", "T", "a:strange=1"])
    }

    @Test("a push is printed as it comes")
    func watch() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Notes").status == 0)
        let watch = try ChildProcess(
            executable: CommandRun.executable, arguments: ["watch", "--zone", "Notes", "--count", "1", "--json"],
            environment: CommandRun.clean(server.environment()), errors: .file(server.folder.path + "/watch.log"))
        let ready = watch.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds)
        #expect(ready == "{\"notification\":\"ready\"}")
        #expect(try server.run("records", "save", "Notes", "x", "--type", "T").status == 0)
        let line = try #require(watch.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds))
        let push = try JSONParser.value(of: line)
        #expect(push["notification"] == .string("zoneChanged"))
        #expect(push["zone"] == .string("Notes"))
        #expect(push["subscription"] == .string("brume-watch-Notes"))
        #expect(watch.wait() == 0)
    }

    @Test("a file is imported in batches, again without effect, and with its bad rows named")
    func importing() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let rows = (1...1_000).map { "\($0),\($0 * 3),\"name, \($0)\"" }
        let good = try server.folder.write("good.csv", "id,size:int64,name\n" + rows.joined(separator: "\r\n"))
        let first = try server.run(
            "import", good, "--zone", "Cities", "--type", "City", "--name-field", "id", "--json")
        #expect(first.status == 0, "\(first.errors)")
        #expect(try first.json()["saved"] == .integer(1_000))
        let fields = try server.run("records", "get", "Cities", "777", "--json").json()["fields"]
        #expect(fields?["size"] == .integer(2_331))
        #expect(fields?["name"] == .string("name, 777"))
        let token = try #require(try server.run("changes", "Cities", "--all", "--json").json()["token"]?.text)
        #expect(try server.run("import", good, "--zone", "Cities", "--type", "City", "--name-field", "id").status == 0)
        #expect(try server.run("changes", "Cities", "--since", token, "--json").output.count == 1)

        let bad = try server.folder.write(
            "bad.jsonl", "{\"a\": 1}\n{\"a\": {\"b\": 1}}\nnonsense\n{\"a\": [1, \"x\"]}\n{\"a\": 2}\n")
        let second = try server.run("import", bad, "--zone", "Bad", "--type", "T", "--json")
        #expect(second.status == ExitCode.failed.rawValue)
        #expect(try second.json()["saved"] == .integer(2))
        #expect(try second.json()["failed"] == .integer(3))
        for line in [2, 3, 4] { #expect(second.errors.contains("bad.jsonl:\(line): ")) }
        #expect(try server.run("records", "get", "Bad", "row-1", "row-5").status == 0)
    }

    @Test("a load tells what it did")
    func load() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let run = try server.run(
            "load", "--connections", "3", "--seconds", "0.5", "--batch", "2", "--record-bytes", "100", "--json",
            "--server-pid", String(server.pid))
        #expect(run.status == 0, "\(run.errors)")
        let report = try run.json()
        guard case .integer(let operations)? = report["operations"], let kinds = report["kinds"] else {
            Issue.record("the load printed \(report.line)")
            return
        }
        var sum: Int64 = 0
        for kind in ["save", "fetch", "changes"] {
            guard case .integer(let count)? = kinds[kind]?["operations"],
                case .number(let half)? = kinds[kind]?["p50Microseconds"],
                case .number(let most)? = kinds[kind]?["maxMicroseconds"]
            else {
                Issue.record("\(kind) has no figures")
                continue
            }
            sum += count
            #expect(half > 0 && half <= most)
        }
        #expect(operations == sum && operations > 10)
        #expect(report["failures"] == .integer(0))
        guard case .number(let cost)? = report["server"]?["cpuMicrosecondsPerOperation"] else {
            Issue.record("the server's cost is missing")
            return
        }
        #expect(cost > 0)
    }
}
