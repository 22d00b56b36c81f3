internal import BrumeKit
internal import BrumeLoad
internal import BrumeModel
internal import Foundation

/// `brume load`: puts load on a server and measures it.
enum LoadCommand {
    static let definition = CommandDefinition(
        ["load"], "put load on a server and measure it",
        options: [
            OptionDefinition("connections", "N", "connections, each with one operation under way", fallback: "8"),
            OptionDefinition("seconds", "T", "how long", fallback: "10"),
            OptionDefinition("mix", "MIX", "how often each operation comes", fallback: "save=70,fetch=20,changes=10"),
            OptionDefinition("record-bytes", "N", "bytes of a record's largest field", fallback: "1024"),
            OptionDefinition("batch", "N", "records of a save or fetch", fallback: "1"),
            OptionDefinition("seed", "N", "draws other operations", fallback: "1"),
            OptionDefinition("server-pid", "PID", "the server's process, to measure its CPU time and memory"),
            OptionDefinition("data", "DIR", "the data folder of a server on this machine, which tells its process"),
            CommandOptions.json,
        ] + CommandOptions.client.map { $0.name == "token" ? token : $0 },
        notes: [
            """
            Each connection is a device of its own with a zone of its own, load-N, which stays. Connections are dealt out to \
            the accounts of the tokens. Percentiles are exact to one percent.
            """,
            CommandOptions.clientNote,
        ],
        examples: ["brume load --connections 64 --seconds 30 --mix save=100 --data ./brume-data --json"],
        body: .asynchronous(run))

    private static let token = OptionDefinition("token", "TOKEN", "the accounts' tokens", repeats: true)

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let run = LoadRun(try configuration(invocation))
        if Terminal.isTerminal(Terminal.standardError) {
            Terminal.printError("\(run.configuration.connections) connections for \(run.configuration.seconds) s …")
        }
        let report = try await run.run()
        Terminal.write(invocation.isOn("json") ? LoadText.json(report).line + "\n" : LoadText.text(report))
        return report.figures.operations > 0 ? .done : .failed
    }

    private static func configuration(_ invocation: Invocation) throws -> LoadConfiguration {
        let mixText = try invocation.required("mix")
        let mix: LoadMix
        do throws(LoadMix.Problem) { mix = try LoadMix(mixText) } catch {
            throw UsageError("--mix: \(error.message)", command: invocation.command)
        }
        let environment = try CommandOptions.environment(invocation)
        let client = BrumeConfiguration(
            server: try invocation.required("server"), caPath: invocation.text("ca"),
            container: try invocation.required("container"),
            environment: environment == .production ? .production : .development)
        _ = try invocation.required("token")
        var configuration = LoadConfiguration(client: client, tokens: invocation.texts("token"), mix: mix)
        configuration.connections = try invocation.integer("connections", in: 1...10_000) ?? 8
        configuration.seconds = try invocation.number("seconds", in: 0.1...86_400) ?? 10
        configuration.connectTimeoutNanoseconds = try CommandOptions.connectTimeoutNanoseconds(invocation)
        configuration.recordBytes = try invocation.integer("record-bytes", in: 0...900_000) ?? 1024
        configuration.batch = try invocation.integer("batch", in: 1...400) ?? 1
        guard configuration.batch * (configuration.recordBytes + 200) <= BatchFiller<Int>.bytesLimit else {
            throw UsageError(
                "--batch times --record-bytes is more than a request may hold (2 MB)", command: invocation.command)
        }
        configuration.seed = UInt64(try invocation.integer("seed", in: 0...Int.max) ?? 1)
        if let pid = try invocation.integer("server-pid", in: 1...Int(Int32.max)) {
            configuration.serverPID = Int32(pid)
        } else if let folder = invocation.text("data") {
            configuration.serverPID = try ServerFile(dataFolder: folder)?.pid
        }
        return configuration
    }
}
