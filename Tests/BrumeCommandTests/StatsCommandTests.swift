internal import BrumeModel
internal import BrumeTestKit
internal import Testing

@testable internal import brume

@Suite("brume stats", .timeLimit(.minutes(4)))
struct StatsCommandTests {
    @Test("stats shows what a running server did, since its start and between two looks")
    func running() throws {
        let folder = try TestFolder()
        let data = folder.path + "/data"
        let server = try ServerProcess.dev(
            folder: folder, arguments: ["--data", data, "--metrics-listen", "127.0.0.1:0"])
        #expect(try server.run("records", "save", "default", "one", "--type", "T", "a=1").status == 0)
        let json = try server.run("stats", "--data", data, "--json")
        #expect(json.status == 0, "\(json.errors)")
        let figures = try json.json()
        #expect(figures["serving"] == .bool(true))
        #expect(figures["calls"]?["methods"]?["Records.Modify"]?["ended"] == .integer(1))
        #expect(figures["journal"]?["syncMicroseconds"]?["count"] != .integer(0))
        let watched = try server.run("stats", "--data", data, "--watch", "--interval", "0.1", "--count", "2", "--json")
        #expect(watched.status == 0 && watched.output.count == 2)
        // Between the two looks there was the first look.
        #expect(try watched.json()["calls"]?["methods"]?["Admin.Stats"]?["ended"] == .integer(1))
        #expect(try watched.json()["calls"]?["methods"]?["Records.Modify"]?["ended"] == .integer(0))
        let text = try server.run("stats", "--data", data)
        #expect(text.output.contains { $0.hasPrefix("Records.Modify") })
        #expect(try server.run("stats", "--data", data, "--interval", "x").status == ExitCode.usage.rawValue)
        let nowhere = try server.run("stats", "--data", folder.path + "/nowhere")
        #expect(nowhere.status == ExitCode.notFound.rawValue)
    }

    @Test("an address that can't be one is refused before a server starts")
    func metricsAddress() throws {
        let folder = try TestFolder()
        let run = try CommandRun(["dev", "--metrics-listen", "nonsense"], in: folder)
        #expect(run.status == ExitCode.usage.rawValue && run.errors.contains("--metrics-listen"), "\(run.errors)")
    }

    @Test("rates and percentiles are those of the time between two looks")
    func rates() {
        var first = ServerFigures()
        first.health.uptimeMilliseconds = 1_000
        first[33].ended = 1_000
        first[33].name = "Records.Fetch"
        first[33].latencyNanoseconds.record(900_000_000, count: 1_000)
        var second = first
        second.health.uptimeMilliseconds = 3_000
        second.cpuNanoseconds = 1_000_000_000
        second[33].ended = 1_500
        second[33].latencyNanoseconds.record(2_000_000, count: 500)
        let lines = StatsText(second, since: first).lines
        #expect(lines[0].contains("CPU 50 %"))
        second.health.isDamageFound = true
        second.health.isDiskFull = true
        let troubled = StatsText(second, since: nil).lines[0]
        #expect(troubled.contains("serving for 3 s; disk full; damage found"), "\(troubled)")
        let row = lines.first { $0.hasPrefix("Records.Fetch") } ?? ""
        #expect(row.contains("250/s") && row.contains("2.0") && !row.contains("900"), "\(row)")
        let total = StatsText(second, since: nil).lines.first { $0.hasPrefix("Records.Fetch") } ?? ""
        #expect(total.contains("1,500") && total.contains("90"), "\(total)")
    }
}
