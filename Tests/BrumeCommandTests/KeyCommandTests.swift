internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The real executable as the devices of accounts: a state folder is a device.
@Suite("Encryption keys on the command line", .serialized)
struct KeyCommandTests {
    /// Another device of the account a.
    private func run(_ server: ServerProcess, on device: String, _ words: String..., input: String = "") throws
        -> CommandRun
    {
        try CommandRun(
            words, environment: server.environment().merging(["BRUME_STATE": server.folder.file(device)]) { $1 },
            input: input, in: server.folder)
    }

    private func expect(
        _ code: ExitCode, _ text: String, _ run: CommandRun, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(run.status == code.rawValue, "\(run.output) \(run.errors)", sourceLocation: sourceLocation)
        let all = run.output.joined(separator: "\n") + run.errors
        #expect(all.contains(text), "\(all)", sourceLocation: sourceLocation)
        #expect(!all.contains("CKContainer"), "\(all)", sourceLocation: sourceLocation)
    }

    private func isCode(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9A-Z]{4}(-[0-9A-Z]{4}){6}/) != nil
    }

    /// No file of the folder holds the code: neither the server's data and log nor what went to standard errors.
    private func expectNowhere(
        _ code: String, in folder: TestFolder, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let texts = [code, code.replacing("-", with: "")].map { Data($0.utf8) }
        for case let name as String in FileManager.default.enumerator(atPath: folder.path) ?? .init() {
            guard let data = try? Data(contentsOf: URL(fileURLWithPath: folder.file(name))) else { continue }
            #expect(!texts.contains { data.range(of: $0) != nil }, "\(name)", sourceLocation: sourceLocation)
        }
    }

    @Test("a code is printed once, alone, and lets another device in")
    func codes() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        expect(.done, "no encryption keys yet", try run(server, on: "desk", "key"))
        #expect(try run(server, on: "desk", "key", "show", "--json").output == ["{\"status\":\"notSetUp\"}"])
        expect(.done, "brume key code makes them", try run(server, on: "desk", "key", "devices"))
        expect(.notFound, "brume key code makes them", try run(server, on: "desk", "key", "code", "--replace"))

        let made = try run(server, on: "desk", "key", "code")
        #expect(made.status == 0 && made.output.count == 1 && made.errors.contains("write it down"), "\(made.errors)")
        let code = try #require(made.output.first)
        #expect(isCode(code))
        expect(.notFound, "brume key code --replace", try run(server, on: "desk", "key", "code"))
        expect(.done, "this device has the account's", try run(server, on: "desk", "key"))

        expect(.done, "brume key use", try run(server, on: "bag", "key", "show"))
        #expect(
            try run(server, on: "bag", "key", "--json").output
                == ["{\"status\":\"noKeys\",\"reason\":\"notEnrolled\"}"])
        expect(.failed, "(brume key use)", try run(server, on: "bag", "key", "code"))
        expect(.failed, "(brume key use)", try run(server, on: "bag", "key", "code", "--replace"))
        let typed = code.lowercased().replacing("-", with: " ")
        expect(.done, "has the account's encryption keys now", try run(server, on: "bag", "key", "use", input: typed))
        expect(.done, "before", try run(server, on: "bag", "key", "use", input: "\n" + code + "\n"))
        expect(.notFound, "brume key code --replace", try run(server, on: "bag", "key", "code"))

        let replaced = try run(server, on: "bag", "key", "code", "--replace", "--json")
        let second = try #require(try replaced.json()["code"]?.text)
        #expect(isCode(second) && second != code && !replaced.errors.contains(second))
        expect(.failed, "was replaced", try run(server, on: "lap", "key", "use", input: code))
        let path = try server.folder.write("kept-code", second + "\n")
        let used = try run(server, on: "lap", "key", "use", "--secret-file", path, "--json")
        #expect(used.output == ["{\"status\":\"available\"}"], "\(used.errors)")
        try FileManager.default.removeItem(atPath: path)
        expectNowhere(code, in: server.folder)
        expectNowhere(second, in: server.folder)
    }

    @Test("a code that is wrong, missing or an argument is refused, and in no error")
    func wrongCodes() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let wrong = "0000-1111-2222-3333-4444-5555-6666"
        expect(.failed, "no recovery code, which has 28", try run(server, on: "a", "key", "use", input: wrong))
        // With the right check digits.
        let other = try #require(try run(server, on: "a", "key", "code").output.first)
        let elsewhere = try server.run(
            "key", "code", account: "b", extra: ["BRUME_STATE": server.folder.file("b")]
        ).output.first
        expect(.failed, "not the account's", try run(server, on: "c", "key", "use", input: #require(elsewhere)))
        expect(.failed, "holds no recovery code", try run(server, on: "c", "key", "use", input: " \n"))
        expect(
            .notFound, "BRUME_SECRET_FILE", try run(server, on: "c", "key", "use", "--secret-file", other))
        for words in [["use", other], ["code", other], ["show", other], [other], ["use", "--", other]] {
            let run = try CommandRun(["key"] + words, environment: server.environment(), in: server.folder)
            #expect(run.status == ExitCode.usage.rawValue && !run.errors.contains(other), "\(run.errors)")
        }
        expect(
            .usage, "not both",
            try CommandRun(
                ["key", "use", "--token-file", "-"], environment: server.environment(), input: other,
                in: server.folder))
        expectNowhere(other, in: server.folder)
        for words in [["key"], ["key", "code"], ["key", "devices"], ["key", "reset", "--yes"]] {
            let run = try CommandRun(
                words, environment: server.environment().merging(["BRUME_TOKEN": ""]) { $1 }, in: server.folder)
            expect(.notPermitted, "BRUME_TOKEN or --token-file", run)
        }
    }

    @Test("devices have names and ids, and one that was removed reads no more")
    func devices() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let code = try #require(
            try run(server, on: "one", "key", "code", "--device-name", "desk").output.first)
        for (device, name) in [("two", "phone"), ("three", "phone")] {
            let used = try run(server, on: device, "key", "use", "--device-name", name, input: code)
            #expect(used.status == 0, "\(used.errors)")
        }
        let listed = try run(server, on: "one", "key", "devices")
        #expect(listed.output.count == 3 && listed.output.first?.hasSuffix("  desk  (this one)") == true)
        let devices = try run(server, on: "one", "key", "devices", "--json").output.map { try JSONParser.value(of: $0) }
        #expect(devices.map { $0["name"]?.text } == ["desk", "phone", "phone"])
        #expect(devices.map { $0["current"] } == [.bool(true), .bool(false), .bool(false)])
        let ids = devices.compactMap { $0["id"]?.text }
        #expect(Set(ids).count == 3)
        let closed = try run(server, on: "four", "key", "devices", "--json")
        #expect(try closed.output.count == 3 && closed.json()["name"] == .null)

        expect(.usage, ids[2], try run(server, on: "one", "key", "remove", "phone", "--yes"))
        expect(.notFound, "brume key devices", try run(server, on: "one", "key", "remove", "tablet", "--yes"))
        expect(.usage, "can't remove itself", try run(server, on: "one", "key", "remove", "desk", "--yes"))
        expect(.usage, "--yes", try run(server, on: "one", "key", "remove", ids[1]))
        expect(.failed, "brume key use", try run(server, on: "four", "key", "remove", ids[1], "--yes"))
        #expect(try run(server, on: "one", "key", "devices").output.count == 3)
        let removed = try run(server, on: "one", "key", "remove", String(ids[1].prefix(6)), "--yes")
        expect(.done, "brume key code --replace", removed)
        expect(.done, "brume account token", removed)
        expect(.done, "removed this one", try run(server, on: "two", "key"))
        let last = try run(server, on: "one", "key", "remove", "phone", "--yes", "--json")
        #expect(try last.json()["removed"]?.text == ids[2])
        expect(.done, "removed this one", try run(server, on: "three", "key"))
    }

    @Test("encrypted values are saved from the command line, and open where the keys are")
    func values() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        #expect(try run(server, on: "one", "zones", "create", "Notes").status == 0)
        let file = try server.folder.write(
            "fields.json", "{\"secret\": \"from a file\", \"when\": {\"date\": \"2026-01-02\"}}")
        let saved = try run(
            server, on: "one", "records", "save", "Notes", "first", "--type", "Note", "color=red", "--encrypted",
            "note=milk, eggs", "--encrypted", "pages:int64=3", "--encrypted", "tags:list=[\"a\",\"b\"]",
            "--encrypted-file", file, "--json")
        expect(.done, "brume key code", saved)
        let fields = try #require(try saved.json()["fields"])
        #expect(fields["note"]?.line == "{\"encrypted\":\"STRING\",\"value\":\"milk, eggs\"}")
        let own = try run(server, on: "one", "records", "get", "Notes", "first")
        #expect(own.output.contains("  note: milk, eggs  (encrypted)"), "\(own.output)")
        #expect(own.output.contains("  pages: 3  (encrypted)") && own.output.contains("  color: red"))
        #expect(own.output.contains("  tags: [a, b]  (encrypted)"))
        #expect(own.output.contains("  secret: from a file  (encrypted)"))
        #expect(own.output.contains("  when: 2026-01-02T00:00:00Z  (encrypted)"))
        let query = try run(server, on: "one", "records", "query", "--type", "Note", "--zone", "Notes")
        #expect(query.output.contains("  note: milk, eggs  (encrypted)"), "\(query.output) \(query.errors)")
        let changes = try run(server, on: "one", "changes", "Notes", "--json")
        #expect(changes.output.first?.contains("\"pages\":{\"encrypted\":\"INT64\",\"value\":3}") == true)
        // The keys are made once.
        let again = try run(server, on: "one", "records", "save", "Notes", "first", "--encrypted", "pages=")
        #expect(again.status == 0 && again.errors.isEmpty, "\(again.errors)")

        let other = try run(server, on: "two", "records", "get", "Notes", "first")
        #expect(other.output.contains("  note: (encrypted, not readable here)"), "\(other.output) \(other.errors)")
        let sealed = try run(server, on: "two", "records", "get", "Notes", "first", "--json").json()
        #expect(sealed["fields"]?["note"]?["bytes"] != nil && sealed["fields"]?["note"]?["value"] == nil)
        expect(
            .failed, "(brume key use)",
            try run(server, on: "two", "records", "save", "Notes", "first", "--encrypted", "note=x"))
        #expect(try run(server, on: "two", "records", "save", "Notes", "first", "color=blue").status == 0)
        let code = try #require(try run(server, on: "one", "key", "code").output.first)
        #expect(try run(server, on: "two", "key", "use", input: code).status == 0)
        let open = try run(server, on: "two", "records", "get", "Notes", "first", "--json").json()
        #expect(open["fields"]?["note"]?["value"] == .string("milk, eggs") && open["fields"]?["pages"] == nil)
        #expect(open["fields"]?["color"] == .string("blue"))

        // An export holds what the server has.
        let exported = try run(server, on: "one", "export", "-", "--zone", "Notes")
        let lines = exported.output.joined()
        #expect(exported.status == 0 && lines.contains("\"note\":{\"encrypted\":\"STRING\",\"bytes\":\""), "\(lines)")
        #expect(!lines.contains("milk"))
    }

    @Test("what can't be encrypted is refused, and no value is in the error")
    func refusedValues() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let save = ["records", "save", "Notes", "x", "--type", "T"]
        for (words, text) in [
            (["--encrypted", "a=hidden1", "--public"], "public database"),
            (["--encrypted", "hidden1"], "key:type=value"),
            (["--encrypted", "a:int64=hidden1"], "none of its type"),
            (["--encrypted", "a:list=[hidden1]"], "none of its type"),
            (["--encrypted", "a:strange=hidden1"], "there is no type \"strange\""),
            (["--encrypted", "a:reference=hidden1"], "can't be encrypted"),
            (["--encrypted", "a=@hidden1"], "a:text=@"),
            (["--encrypted", "a:encrypted=hidden1"], "--encrypted"),
            (["--encrypted", "a=hidden1", "a=b"], "give one of them"),
            (["--encrypted", "ä=hidden1"], "such as title"),
            (["--encrypted-file", try server.folder.write("bad.json", "{\"a\": hidden1")], "line 1 is not JSON"),
            (["--encrypted-file", try server.folder.write("list.json", "[\"hidden1\"]")], "JSON object"),
            (
                ["--encrypted-file", try server.folder.write("date.json", "{\"a\": {\"date\": \"hidden1\"}}")],
                "its type"
            ),
        ] {
            let run = try CommandRun(save + words, environment: server.environment(), in: server.folder)
            expect(.usage, text, run)
            #expect(!run.errors.contains("hidden1"), "\(run.errors)")
        }
        let stranger = ["--encrypted", "a=hidden1", "--owner", "_" + String(repeating: "0", count: 32)]
        let run = try CommandRun(save + stranger, environment: server.environment(), in: server.folder)
        expect(.notFound, "takes part in no such zone", run)
        #expect(!run.errors.contains("hidden1"), "\(run.errors)")
        #expect(try server.run("key", "--json").output == ["{\"status\":\"notSetUp\"}"])
    }

    @Test("a reset asks, deletes what nobody can read, and gives a new code")
    func resets() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        #expect(try run(server, on: "one", "zones", "create", "Notes", "Plain").status == 0)
        let saved = try run(
            server, on: "one", "records", "save", "Notes", "x", "--type", "Note", "--encrypted", "note=milk")
        #expect(saved.status == 0, "\(saved.errors)")
        let asked = try run(server, on: "two", "key", "reset")
        expect(.usage, "deletes the zones in which something was encrypted", asked)
        #expect(asked.output.isEmpty && asked.errors.contains("--yes"))
        expect(.usage, "--replace is enough", try run(server, on: "one", "key", "reset"))
        let reset = try run(server, on: "two", "key", "reset", "--yes")
        let code = try #require(reset.output.first)
        #expect(reset.output.count == 1 && isCode(code) && reset.errors.contains("write it down"), "\(reset.errors)")
        #expect(try run(server, on: "two", "zones").output.contains { $0.hasPrefix("Plain") })
        #expect(try !run(server, on: "two", "zones").output.contains { $0.hasPrefix("Notes") })
        expect(.done, "a person has decided", try run(server, on: "one", "key"))
        #expect(try run(server, on: "one", "key", "--json").output == ["{\"status\":\"conflict\"}"])
        expect(.failed, "(brume key enrol)", try run(server, on: "one", "key", "devices"))
        expect(.done, "keys now", try run(server, on: "one", "key", "use", input: code))
        expect(.done, "this device has", try run(server, on: "one", "key"))
        expectNowhere(code, in: server.folder)
    }
}
