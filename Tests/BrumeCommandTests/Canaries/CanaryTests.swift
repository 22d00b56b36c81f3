internal import BrumeRandom
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Known secrets, put into every path that encrypted values and their keys take, and looked for in everything that a
/// server has and says. Values of the plain fields beside them show that the search finds what is there.
///
/// Not searched are the devices' own folders, which hold the account's keys as they are (Documentation/Security.md),
/// and what the key-value store keeps, which is not encrypted.
@Suite("Secrets of encrypted values", .timeLimit(.minutes(4)))
struct CanaryTests {
    @Test("are nowhere in what a server keeps, logs, answers and sends, where the plain values beside them are")
    func nowhere() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        let folder = try TestFolder()
        let data = folder.file("data")
        let server = try ServerProcess.dev(
            folder: folder, arguments: ["--data", data, "--metrics-listen", "127.0.0.1:0", "--log-level", "debug"])
        let account = try CanaryAccount(on: server, seed: seed)
        let phone = try await account.takeAllPaths()

        var search = CanarySearch()
        // The journal has all of it now, and the snapshot and the backups have it afterwards.
        search.add("data folder", folder: data)
        #expect(try server.operate("snapshot").status == 0)
        let backup = folder.file("backup")
        #expect(try server.operate("backup", backup + "/").status == 0)
        #expect(try server.operate("backup", backup + ".brume").status == 0)
        search.add("data folder later", folder: data)
        search.add("backup", folder: backup)
        search.add("backup in one file", Array(try #require(FileManager.default.contents(atPath: backup + ".brume"))))
        let code = try await account.afterBackup(phone)
        try addAnswers(to: &search, server, account)
        search.add("memory of the server", try memory(of: server))
        #expect(server.stop() == 0)
        search.add("data folder after the stop", folder: data)
        search.add("log", server.log)
        try await addRestored(to: &search, server, from: backup + ".brume") {
            try await account.afterRestore(phone, code: code)
        }
        search.add("what devices sent", account.transport.sent)
        search.add("what devices received", account.transport.received)
        search.add("errors", account.errors.joined(separator: "\n"))

        for found in search.find(account.secrets) {
            Issue.record("\(found.canary) is in \(found.place) (\(found.form)), seed \(seed)")
        }
        try expectPlainValues(of: account, in: search, seed)
        expectSecrets(of: account)
        let forms = account.secrets.reduce(0) { $0 + $1.forms.count }
        print(
            "canaries: \(account.secrets.count) secrets on \(account.pathCount) paths, in \(forms) forms, are in none "
                + "of \(search.places.count) places with \(search.byteCount) bytes; \(account.plain.count) plain values "
                + "are where they must be")
    }

    /// A server in the place of one that has stopped, with what the backup has and what devices give it back.
    private func addRestored(
        to search: inout CanarySearch, _ server: ServerProcess, from backup: String, _ body: () async throws -> Void
    ) async throws {
        let folder = try TestFolder()
        let data = folder.file("data")
        let run = try CommandRun(["restore", backup, "--data", data], in: folder)
        #expect(run.status == 0, "\(run.errors)")
        search.add("what a restore says", run.output.joined(separator: "\n") + run.errors)
        let certificates = "/dev-certificates"
        try FileManager.default.copyItem(atPath: server.dataFolder + certificates, toPath: data + certificates)
        let restored = try ServerProcess.dev(
            folder: folder,
            arguments: ["--data", data, "--port", "\(try #require(server.port))", "--log-level", "debug"])
        try await body()
        search.add("restored data folder", folder: data)
        #expect(try restored.operate("snapshot").status == 0)
        search.add("restored data folder later", folder: data)
        search.add("memory of the restored server", try memory(of: restored))
        #expect(restored.stop() == 0)
        search.add("log of the restored server", restored.log)
    }

    /// The search finds what is there: each plain value in each place that has records, and an account's name, which is
    /// no secret, in what is said of accounts.
    private func expectPlainValues(
        of account: CanaryAccount, in search: CanarySearch, _ seed: UInt64
    ) throws {
        let wire = ["what devices sent", "what devices received"]
        let now =
            wire + [
                "data folder: journal", "data folder later: what is in snapshots", "backup: what is in snapshots",
                "export", "restored data folder: what is in snapshots",
            ]
        let others = [
            // Values that were replaced are in the journal and on the wire alone, as are those of another account.
            "a value that is replaced": ["data folder: journal", "what devices sent"],
            "the winner of a conflict": ["data folder: journal", "what devices sent"],
            "a value before a reset": ["data folder: journal", "what devices sent"],
            "a value after a reset": now.filter { $0 != "export" },
            "a device that was let in after a reset": now.filter { $0 != "export" },
            "a value that a backup lacks": wire + ["data folder after the stop: what is in snapshots", "export"],
            "a value after a restore": wire + ["restored data folder: journal"],
            "a device after a restore": wire + ["restored data folder: journal"],
            // What commands send is not recorded.
            "a command's record": now.filter { $0 != "what devices sent" },
        ]
        let found = Dictionary(grouping: search.find(account.plain)) { $0.canary }.mapValues { Set($0.map(\.place)) }
        for value in account.plain {
            for place in others[value.name] ?? now where found[value.name]?.contains(place) != true {
                Issue.record("\(value.name) is not in \(place), where it must be; seed \(seed)")
            }
        }
        let files = Set(search.find(account.plainFiles).map(\.place))
        #expect(
            files.isSuperset(of: ["data folder: assets", "what devices sent", "backup: assets"]), "\(files.sorted())")
        let name = Set(search.find([Canary("the account's name", text: account.name)]).map(\.place))
        #expect(name.isSuperset(of: ["accounts", "data folder: accounts"]), "\(name.sorted())")
        for (place, text) in [
            ("figures", "brume_"), ("log", "figures over HTTP"), ("schema", "ENCRYPTED STRING"),
            ("errors", "no such zone"), ("errors", "the code is not the other device's"),
            ("memory of the restored server", "secret_text"), ("what a restore says", "is verified"),
            ("memory of the server", "secret_text"), ("statistics", "Records.Modify"), ("health", "serving"),
        ] {
            let parts = search.places[place] ?? []
            #expect(parts.contains { String(decoding: $0, as: UTF8.self).contains(text) }, "\(place)")
        }
    }

    /// What was looked for is what devices have: values as they read them, and the keys in their folders.
    private func expectSecrets(of account: CanaryAccount) {
        var search = CanarySearch()
        search.add("values", account.readValues.joined(separator: "\n"))
        for file in account.readFiles { search.add("files", Array(file)) }
        search.add("folders", folder: account.stateFolders)
        let found = Set(search.find(account.secrets).map(\.canary))
        let replaced = ["a value that is replaced", "the winner of a conflict", "the loser of a conflict"]
        for path in account.savedPaths where !replaced.contains(path) {
            #expect(found.contains(path), "no device reads \(path)")
        }
        #expect(found.contains("a device's seed"))
        let files = ["a file", "a file in a list", "another file in a list", "a file in the place of another"]
        #expect(found.isSuperset(of: files), "no device reads some of the files")
        let names = Set(account.secrets.map(\.name))
        let keys = ["an identity's seed", "a zone's key 1", "a zone's key 2"]
        let shared = [
            "a shared tree's key 1", "a shared tree's key 2", "a shared tree's key 3", "a link's secret",
            "the key of a root for one guest 2",
        ]
        #expect(names.isSuperset(of: keys + shared), "\(names.sorted())")
        #expect(found.isSuperset(of: ["a guest's value", "name of a device that was let in"]))
    }

    private func addAnswers(
        to search: inout CanarySearch, _ server: ServerProcess, _ account: CanaryAccount
    ) throws {
        for (place, words) in [
            ("accounts", ["account", "list"]), ("accounts", ["account", "list", "--json"]),
            ("accounts", ["account", "show", account.name, "--json"]),
            ("containers", ["containers", "list", "--json"]),
            ("statistics", ["stats"]), ("statistics", ["stats", "--json"]), ("health", ["health", "--json"]),
            ("schema", ["schema", "export", "--container", "iCloud.faults", "--environment", "development"]),
        ] {
            let run = try CommandRun(words + ["--data", server.dataFolder], in: server.folder)
            #expect(run.status == 0, "\(words): \(run.errors)")
            search.add(place, run.output.joined(separator: "\n") + run.errors)
        }
        // A device without keys: one that has them writes what it can read.
        let environment = account.environment.merging(["BRUME_STATE": server.folder.file("state-export")]) { $1 }
        for words in [
            ["export", "-"], ["changes", "Diary", "--json"], ["records", "query", "--type", "Page", "--zone", "Diary"],
        ] {
            let run = try CommandRun(words, environment: environment, in: server.folder)
            #expect(run.status == 0, "\(words): \(run.errors)")
            search.add(words[0], run.output.joined(separator: "\n") + run.errors)
        }
        let line = try #require(server.log.split(separator: "\n").first { $0.contains("figures over HTTP") })
        let port = try #require(line.split(separator: ":").last)
        for path in ["metrics", "livez", "readyz"] {
            let file = server.folder.file(path)
            let request = "GET /\(path) HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
            _ = try Tool.run([
                "bash", "-c",
                "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; timeout 60 cat <&3 >\(file)",
            ])
            search.add("figures", Array(try #require(FileManager.default.contents(atPath: file))))
        }
    }

    /// What a core dump of the server would hold: all that it can write to.
    private func memory(of server: ServerProcess) throws -> [UInt8] {
        let maps = try String(contentsOfFile: "/proc/\(server.pid)/maps", encoding: .utf8)
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(server.pid)/mem"))
        defer { try? file.close() }
        var memory: [UInt8] = []
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count >= 2, words[1].hasPrefix("rw") else { continue }
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard ends.count == 2 else { continue }
            try file.seek(toOffset: ends[0])
            guard let part = try? file.read(upToCount: Int(ends[1] - ends[0])) else { continue }
            if part.contains(where: { $0 != 0 }) { memory += part }
        }
        return memory
    }

    @Test("are found by the search in every form that it knows, wherever they stand")
    func control() throws {
        var generator = SeededGenerator(seed: 1)
        let text = Canary.text(&generator)
        let bytes = (0..<48).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let number = Int64.random(in: .min...(.min / 2), using: &generator)
        let canaries = [
            Canary("text", text: text), Canary("bytes", bytes: bytes), Canary("number", number: number),
            Canary("double", number: 0.123_456_789_012),
        ]
        for canary in canaries {
            for form in canary.forms {
                var search = CanarySearch()
                search.add("here", [1, 2, 3] + form.bytes + [4, 5])
                #expect(search.find([canary]).contains { $0.form == form.name }, "\(canary.name) \(form.name)")
            }
        }
        // As others encode it: behind any number of bytes, cut off behind, and within words of their own.
        for offset in 0..<6 {
            for form in [Array(text.utf8), bytes] {
                var search = CanarySearch()
                search.add("here", Data([UInt8](repeating: 7, count: offset) + form + [9]).base64EncodedString())
                #expect(!search.find(Array(canaries[0...1])).isEmpty, "base64 behind \(offset)")
            }
        }
        for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf8] {
            var search = CanarySearch()
            search.add("here", Array(try #require("x\(text.prefix(30))".data(using: encoding))))
            #expect(!search.find([canaries[0]]).isEmpty, "\(encoding)")
        }
        var search = CanarySearch()
        search.add("here", Array(text.utf8.dropFirst(1).dropLast(1)))
        search.add("here", [0, 0])
        #expect(search.find([canaries[0]]).isEmpty && search.byteCount == 58)
    }
}
