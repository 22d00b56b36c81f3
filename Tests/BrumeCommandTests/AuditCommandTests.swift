internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The audit log on the command line", .timeLimit(.minutes(3)))
struct AuditCommandTests {
    let served: ServerProcess

    init() throws { served = try ServerProcess(folder: TestFolder(), saysAuthority: false) }

    private func run(_ words: String...) throws -> CommandRun {
        try CommandRun(words + ["--data", served.dataFolder], in: served.folder)
    }

    private func acts(_ options: String...) throws -> [JSONValue] {
        let list = try CommandRun(
            ["audit", "list", "--json", "--data", served.dataFolder] + options, in: served.folder)
        #expect(list.status == 0 && list.errors.isEmpty, "\(list.errors)")
        return try list.output.map { try JSONParser.value(of: $0) }
    }

    private func names(_ acts: [JSONValue]) -> [String] {
        acts.map { "\($0["act"]?.text ?? "?") \($0["target"]?.text ?? "?")" }
    }

    @Test("says who did what to whom, and how it ended, whether a server runs or not")
    func said() throws {
        _ = try run("account", "add", "ada")
        try served.start()
        _ = try run("account", "token", "ada")
        _ = try run("account", "token", "nobody")
        _ = try run("account", "list")
        _ = try run("account", "show", "ada")
        let schema = try served.folder.write("schema.ckdb", "DEFINE SCHEMA\n    RECORD TYPE Note (text STRING);\n")
        _ = try run("schema", "import", "--file", schema, "--container", "iCloud.x")
        // What monitoring asks all day, and what shows nothing of anybody, is no act.
        for words in [["stats"], ["containers", "list"], ["schema", "export"], ["health"]] {
            _ = try CommandRun(words + ["--data", served.dataFolder], in: served.folder)
        }
        _ = try run("account", "remove", "ada", "--yes")
        let acts = try acts()
        #expect(
            names(acts).filter { !["account.show ada", "account.list "].contains($0) } == [
                "account.add ada", "token.create ada", "token.create nobody", "schema.import iCloud.x development",
                "account.remove ada",
            ], "\(names(acts))")
        #expect(names(acts).contains("account.show ada") && names(acts).contains("account.list "))
        for act in acts {
            let isRefused = act["target"]?.text == "nobody"
            #expect(act["error"] == .integer(isRefused ? 11 : 0), "\(act)")
            #expect(act["peer"]?.text?.hasSuffix(" of user \(getuid())") == true, "\(act)")
        }
        // A running server's operator finds the request in its log as well.
        let request = try #require(acts[1]["request"]?.text)
        #expect(!request.isEmpty && served.log.contains(request), "\(served.log)")
        #expect(acts[0]["request"] == .string("") && acts[0]["number"] == .integer(1))
        let text = try run("audit", "list", "--limit", "2").output
        #expect(text.count == 2 && text[1].contains("  account.remove  ada  by process "), "\(text)")
        #expect(try self.acts("--since", "2100-01-01").isEmpty)
        #expect(try self.acts("--since", "2026-01-01").count == acts.count)
        let everything = try run("audit", "list").output.joined() + served.log
        #expect(!everything.contains("brume_"), "a token is in the log")
    }

    @Test("is sound after a kill, is in backups, and shows what was changed in it")
    func verified() throws {
        let none = try run("audit", "verify")
        #expect(none.status == ExitCode.notFound.rawValue, "\(none.errors)")
        try served.start()
        #expect(try run("audit", "verify").output == ["the log is empty: no act of an operator is noted"])
        for name in ["ada", "bob"] { _ = try run("account", "add", name) }
        served.kill()
        try served.start()
        _ = try run("account", "add", "cyd")
        let sound = try run("audit", "verify", "--json").json()
        #expect(sound["sound"] == .bool(true) && sound["last"] == .integer(6), "\(sound)")
        let hash = try #require(sound["hash"]?.text)

        for target in ["monday", "monday.brume"] {
            let backup = try run("backup", served.folder.file(target))
            #expect(backup.status == 0, "\(backup.errors)")
        }
        for source in ["monday", "monday.brume"] {
            let place = served.folder.file("restored-\(source)")
            let restored = try CommandRun(["restore", served.folder.file(source), "--data", place], in: served.folder)
            #expect(restored.status == 0, "\(restored.errors)")
            let verify = try CommandRun(["audit", "verify", "--hash", hash, "--data", place], in: served.folder)
            #expect(verify.status == 0, "\(verify.output)")
            let list = try CommandRun(["audit", "list", "--json", "--data", place], in: served.folder).output
            let acts = try list.map { try JSONParser.value(of: $0) }
            #expect(names(acts).last == "folder.restore \(source)" && acts.last?["error"] == .integer(0))
        }

        let path = served.dataFolder + "/audit/000000000001.jsonl"
        let text = String(decoding: try FileSystem.read(path, limit: 1 << 20), as: UTF8.self)
        try FileSystem.atomicReplace(path, Array(text.replacing("\"target\":\"ada\"", with: "\"target\":\"bob\"").utf8))
        let changed = try run("audit", "verify")
        #expect(changed.status == ExitCode.damaged.rawValue)
        #expect(
            changed.output.first?.contains("line 2: the line before is not what it was") == true, "\(changed.output)")
        #expect(try run("audit", "list").errors.contains("brume audit verify"))
        let cut = text.split(separator: "\n").prefix(4).map { $0 + "\n" }.joined()
        try FileSystem.atomicReplace(path, Array(cut.utf8))
        #expect(try run("audit", "verify").status == 0)
        let missed = try run("audit", "verify", "--hash", hash)
        #expect(missed.status == ExitCode.damaged.rawValue && missed.output[0].contains("cut"), "\(missed.output)")
        #expect(try run("audit", "verify", "--hash", "abc").status == ExitCode.usage.rawValue)
        #expect(try run("audit", "list", "--since", "yesterday").status == ExitCode.usage.rawValue)
    }

    @Test("nothing is done where it can't be written, with a server or without")
    func unwritable() throws {
        _ = try run("account", "add", "ada")
        let folder = served.dataFolder + "/audit"
        try served.start()
        try FileSystem.removeTree(folder)
        _ = try served.folder.write("data/audit", "no folder")
        let refused = try run("account", "remove", "ada", "--yes")
        #expect(refused.status != 0 && refused.errors.contains("the audit log can't be written"), "\(refused.errors)")
        // Those who only sync notice nothing.
        #expect(try run("stats", "--json").status == 0)
        try FileSystem.remove(folder)
        let list = try run("account", "list", "--json")
        #expect(list.output.count == 1 && list.output[0].contains("ada"), "\(list.output)")
        // The log that was removed is not taken for one that never was.
        let verified = try run("audit", "verify")
        #expect(verified.status == ExitCode.damaged.rawValue)
        #expect(verified.output.first?.contains("entries are missing: the first one has the number 3") == true)
        try FileSystem.removeTree(folder)
        served.kill()
        _ = try served.folder.write("data/audit", "no folder")
        let stopped = try run("account", "add", "bob")
        #expect(stopped.status != 0 && stopped.errors.contains("the audit log can't be read"), "\(stopped.errors)")
    }
}
