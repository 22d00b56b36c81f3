import BrumeRandom
internal import BrumeLoad
internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// Each scenario against a real server, small; what it measures is checked for sense, not for speed.
@Suite("brume load", .timeLimit(.minutes(4)))
struct LoadTests {
    private func integer(_ value: JSONValue?) -> Int64 {
        if case .integer(let number)? = value { return number }
        return -1
    }

    private func number(_ value: JSONValue?) -> Double {
        if case .number(let number)? = value { return number }
        return Double(integer(value))
    }

    private func load(_ server: ServerProcess, _ arguments: String...) throws -> JSONValue {
        let run = try CommandRun(
            ["load", "--json", "--server-pid", String(server.pid)] + arguments,
            environment: server.environment(), in: server.folder)
        #expect(run.status == 0, "\(arguments): \(run.errors) \(run.output.joined())")
        return try run.json()
    }

    @Test("saves keep to a rate, and the page with plots is one file")
    func rate() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let page = server.folder.path + "/load.html"
        let report = try load(
            server, "--scenario", "save", "--connections", "4", "--seconds", "1", "--warm-up", "0.2", "--rate", "100",
            "--zones", "3", "--skew", "1", "--html", page, "--threads", "2")
        let saves = integer(report["kinds"]?["save"]?["operations"])
        // A pause of the machine may shift some beyond the end; the rate makes up for it.
        #expect((60...110).contains(saves), "\(saves) saves in a second")
        #expect(integer(report["failures"]) == 0)
        #expect((report["samples"]?.array?.count ?? 0) >= 1)
        let html = try String(contentsOfFile: page, encoding: .utf8)
        #expect(html.hasPrefix("<!DOCTYPE html>") && html.hasSuffix("</html>\n"))
        #expect(html.contains("Latency of save") && html.contains("Server memory"))
        for foreign in ["http:", "https:", "<link", "src=", "url("] { #expect(!html.contains(foreign), "\(foreign)") }
    }

    @Test("devices that were away catch up with all that they missed")
    func catchUp() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let report = try load(
            server, "--scenario", "catch-up", "--connections", "2", "--seconds", "0.3", "--lag", "500",
            "--record-bytes", "100")
        let kind = report["kinds"]?["catch-up"]
        let operations = integer(kind?["operations"])
        #expect(operations > 0)
        let seconds = number(report["seconds"])
        let records = number(kind?["recordsPerSecond"])
        #expect(abs(records * seconds - Double(operations * 500)) <= Double(operations) + 1)
    }

    @Test("a publish reaches every device, of one account and of all", arguments: [false, true])
    func fanOut(isPublic: Bool) throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        var arguments = [
            "load", "--json", "--scenario", "fan-out", "--connections", "6", "--seconds", "0.5", "--in-flight", "2",
        ]
        if isPublic {
            let tokens = try server.token("a") + "\n" + server.token("b") + "\n"
            arguments += ["--public", "--token-file", try server.folder.write("tokens", tokens)]
        }
        let run = try CommandRun(arguments, environment: server.environment(), in: server.folder)
        #expect(run.status == 0, "\(run.errors) \(run.output.joined())")
        let kinds = try #require(try run.json()["kinds"])
        let publishes = integer(kinds["publish"]?["operations"])
        #expect(publishes > 0)
        #expect(integer(kinds["deliver"]?["operations"]) == publishes * 6)
        #expect(integer(kinds["deliver-all"]?["operations"]) == publishes)
        #expect(integer(try run.json()["failures"]) == 0, "\(run.output.joined())")
    }

    @Test("idle connections are counted with what they take, and connections come and go")
    func connections() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let idle = try load(server, "--scenario", "idle", "--connections", "20", "--seconds", "0.2")
        #expect(integer(idle["kinds"]?["connect"]?["operations"]) == 20)
        #expect(idle["serverBytesPerConnection"] != nil)
        let storm = try load(server, "--scenario", "connect", "--connections", "3", "--seconds", "0.5")
        #expect(integer(storm["kinds"]?["connect"]?["operations"]) > 3)
        #expect(integer(storm["failures"]) == 0)
    }

    @Test("a herd comes back after each loss")
    func reconnect() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let herd = try load(
            server, "--scenario", "reconnect", "--connections", "10", "--seconds", "1", "--every", "0.4")
        let count = integer(herd["kinds"]?["reconnect"]?["operations"])
        #expect(count >= 10, "\(herd.line)")
    }

    @Test("a bound that the run breaks is its exit code, and one that it keeps is not")
    func thresholds() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let kept = try server.run(
            "load", "--connections", "1", "--seconds", "0.2", "--fail-if", "errors>0", "--fail-if", "p99>1000s")
        #expect(kept.status == 0, "\(kept.errors)")
        let broken = try server.run(
            "load", "--connections", "1", "--seconds", "0.2", "--fail-if", "max>0ns", "--fail-if", "throughput<1")
        #expect(broken.status == ExitCode.failed.rawValue)
        #expect(broken.errors.contains("max>0ns") && !broken.errors.contains("throughput"))
    }

    @Test("a second load with the same seed does its work, and is not given what the first one was answered")
    func sameSeed() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        for bytes in ["100", "300"] {
            let run = try server.run(
                "load", "--connections", "1", "--seconds", "0.2", "--mix", "save=100", "--record-bytes", bytes,
                "--fail-if", "errors>0")
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    @Test("what makes no sense is refused with a sentence")
    func refusals() throws {
        let folder = try TestFolder()
        let environment = ["BRUME_SERVER": "127.0.0.1:1", "BRUME_TOKEN": "brume_x"]
        for (arguments, word) in [
            (["--scenario", "fanout"], "did you mean fan-out"), (["--fail-if", "p99"], "compares nothing"),
            (["--fail-if", "p99>20"], "a time with its unit"), (["--fail-if", "speed>1"], "nothing that is measured"),
            (["--fail-if", "p101>1s"], "nothing that is measured"), (["--rate", "0"], "--rate"),
            (["--scenario", "idle", "--rate", "5"], "--rate"), (["--public"], "fan-out"),
            (["--scenario", "idle", "--connections", "5000"], "1000 streams"), (["--accounts", "3"], "--data"),
            (["--batch", "400", "--record-bytes", "100000"], "2 MB"),
        ] {
            let run = try CommandRun(["load"] + arguments, environment: environment, in: folder)
            #expect(run.status == ExitCode.usage.rawValue, "\(arguments): \(run.status)")
            #expect(run.errors.contains(word), "\(arguments): \(run.errors)")
        }
        let nobody = try CommandRun(["load", "--seconds", "0.1"], environment: environment, in: folder)
        #expect(nobody.status == ExitCode.unreachable.rawValue && nobody.errors.contains("can't begin"))
        #expect(nobody.errors.contains("is the server running?"), "\(nobody.errors)")
        // Found before the load, whose server there isn't.
        for (page, code) in [("/nowhere/load.html", ExitCode.notFound), ("", .failed), ("/proc/load.html", .failed)] {
            let path = page.hasPrefix("/proc") ? page : folder.path + page
            let run = try CommandRun(["load", "--html", path], environment: environment, in: folder)
            #expect(run.status == code.rawValue && !run.errors.contains("can't begin"), "\(path): \(run.errors)")
        }
    }

    @Test("a load that can't begin ends with the code and the hint that any client's command has for the same fault")
    func codes() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let stranger = try server.run("load", "--seconds", "0.1", extra: ["BRUME_TOKEN": "brume_x"])
        #expect(stranger.status == ExitCode.notPermitted.rawValue, "\(stranger.errors)")
        #expect(stranger.errors.contains("BRUME_TOKEN or --token-file"), "\(stranger.errors)")
        let path = try server.folder.write("none.pem", "no certificate")
        let authority = try server.run("load", "--seconds", "0.1", extra: ["BRUME_CA": path])
        #expect(
            authority.status == ExitCode.failed.rawValue && authority.errors.contains("--ca"), "\(authority.errors)")
    }

    @Test("a load's options come from a file, and its accounts from the server's folder")
    func file() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try ServerProcess.dev(folder: folder, arguments: ["--data", data])
        let file = try folder.write(
            "storm.conf", "# a storm\nscenario = connect\nconnections = 2\nseconds = 0.2\naccounts = 3\n")
        for _ in 0..<2 {
            let run = try server.run("load", "--config", file, "--data", data, "--json")
            #expect(run.status == 0, "\(run.errors)")
            #expect(try run.json()["scenario"] == .string("connect"))
        }
        let accounts = try server.run("account", "list", "--data", data, "--json")
        #expect(accounts.output.joined().contains("load-3"))
    }
}

@Suite("What a load reckons")
struct LoadReckoningTests {
    @Test("Zipf's law gives the k-th its part")
    func zipf() {
        var generator = SeededGenerator(seed: 3)
        let choice = ZipfChoice(count: 4, skew: 1)
        var counts = [0, 0, 0, 0]
        for _ in 0..<25_000 { counts[choice.index(for: generator.next())] += 1 }
        // 12/25, 6/25, 4/25, 3/25
        for (count, expected) in zip(counts, [12_000, 6_000, 4_000, 3_000]) {
            #expect(abs(count - expected) < 500, "\(counts)")
        }
        let even = ZipfChoice(count: 2, skew: 0)
        #expect(even.index(for: 0) == 0 && even.index(for: .max) == 1)
    }

    private func report(milliseconds: [UInt64], errors: Int = 0) -> LoadReport {
        var figures = LoadFigures()
        for value in milliseconds { figures.succeeded(.save, nanoseconds: value * 1_000_000, records: 1) }
        for _ in 0..<errors { figures.failed(.save, code: "c", text: "c: t") }
        return LoadReport(
            scenario: .save, seconds: 2, warmUpSeconds: 0, connections: 1, accounts: 1, rate: nil, figures: figures,
            samples: [], unfinished: 0, bytesPerConnection: nil, server: nil, client: nil)
    }

    @Test("bounds are kept or broken")
    func thresholds() throws {
        let run = report(milliseconds: Array(1...100), errors: 1)
        for broken in [
            "p99>98ms", "save.p50>49000us", "max > 0.05 s", "mean<1s", "errors>0", "error-rate>0.9%", "throughput<51",
            "save.throughput>49", "fetch.p50>1h".replacingOccurrences(of: "1h", with: "1s"), "p99.9>99ms",
        ] { #expect(try LoadThreshold(broken).violation(in: run) != nil, "\(broken)") }
        for kept in ["p99>100ms", "save.max<99ms", "errors>1", "error-rate>1%", "throughput>50", "fetch.errors>0"] {
            #expect(try LoadThreshold(kept).violation(in: run) == nil, "\(kept)")
        }
    }

    @Test("too many different errors are counted by their code")
    func errors() {
        var figures = LoadFigures()
        for index in 0..<1_000 { figures.failed(.save, code: "code", text: "code: \(index)") }
        let errors = figures.kinds[.save]?.errors ?? [:]
        #expect(errors.count <= 33 && errors.values.reduce(0, +) == 1_000)
    }

    @Test("ticks are round, and hold what is drawn")
    func ticks() {
        for most in [0.003, 1, 7, 99, 12_345, 2_000_000] {
            let ticks = LoadChart.ticks(upTo: most)
            #expect((3...8).contains(ticks.count) && ticks.last! >= most * 0.999, "\(most): \(ticks)")
        }
        let powers = LoadChart.logarithmicTicks([150_000, 30_000_000])
        #expect(powers.first! <= 150_000 && powers.last! >= 30_000_000)
        #expect(LoadChart.escaped("<a href=\"&\">") == "&lt;a href=&quot;&amp;&quot;&gt;")
    }
}
