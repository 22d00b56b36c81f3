internal import BrumeAdmin
internal import BrumeKit
internal import BrumeLoad
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// `brume load`: puts load on a server and measures it.
enum LoadCommand {
    static let definition = CommandDefinition(
        ["load"], "put load on a server and measure it",
        options: [
            OptionDefinition(
                "scenario", "NAME", "mixed, save, catch-up, fan-out, idle, connect or reconnect",
                fallback: "mixed"),
            OptionDefinition("connections", "N", "connections, each a device of its own", fallback: "8"),
            OptionDefinition("seconds", "T", "how long it is measured", fallback: "10"),
            OptionDefinition("warm-up", "T", "seconds before that, which don't count", fallback: "0"),
            OptionDefinition(
                "rate", "N", "operations a second, whatever the server takes for them (default: one after the other)"),
            OptionDefinition("mix", "MIX", "how often each operation comes", fallback: "save=70,fetch=20,changes=10"),
            OptionDefinition("record-bytes", "N", "bytes of a record's largest field", fallback: "1024"),
            OptionDefinition("batch", "N", "records of a save or fetch", fallback: "1"),
            OptionDefinition("zones", "N", "zones of each connection", fallback: "1"),
            OptionDefinition(
                "skew", "S", "how unevenly accounts and zones are chosen: the exponent of Zipf's law", fallback: "0"),
            OptionDefinition("lag", "N", "records that a device of catch-up is behind", fallback: "1000"),
            OptionDefinition("in-flight", "N", "publishes of fan-out at a time, without a rate", fallback: "1"),
            OptionDefinition("public", nil, "fan-out in the public database, to the devices of all accounts"),
            OptionDefinition("every", "T", "seconds between two losses of reconnect", fallback: "5"),
            OptionDefinition("threads", "N", "event loops of this process", fallback: "1"),
            OptionDefinition("seed", "N", "draws other operations", fallback: "1"),
            OptionDefinition(
                "accounts", "N",
                "make so many accounts, load-1 and so on, on the server of --data (default: those of BRUME_TOKEN or --token-file)",
                variable: "BRUME_LOAD_ACCOUNTS"),
            OptionDefinition(
                "fail-if", "BOUND", "end with 1 if the run did this, such as 'p99>20ms' or 'errors>0'", repeats: true),
            OptionDefinition("html", "FILE", "write a page with plots as well"),
            OptionDefinition("server-pid", "PID", "the server's process, to measure its CPU time and memory"),
            OptionDefinition("data", "DIR", "the data folder of a server on this machine, which tells its process"),
            CommandOptions.json,
        ] + CommandOptions.client.map { $0.name == "token" ? tokens : $0 },
        notes: [
            """
            mixed: saves, fetches and fetches of changes, by --mix. save: saves alone. catch-up: devices that were away fetch \
            --lag records, page by page. fan-out: a record is saved that all --connections are told of; deliver counts from \
            the save to each device, deliver-all to the last one. idle: connections that listen; with --data or --server-pid \
            it tells what one takes in memory. connect: connections come, are welcomed, and go. reconnect: all connections are \
            lost at once, every --every seconds and when the server is started again, and come back.
            """,
            """
            Without --rate the next operation begins when one before has ended, so a slow server gets less load. With it \
            operations begin when they are due, and their time counts from then, also while they wait for their turn.
            """,
            """
            Connections are dealt out to the accounts of BRUME_TOKEN or --token-file, or made by --accounts. Each has zones of its own, load-N, \
            which stay. Percentiles are exact to one percent. All options may stand in a file: --config storm.conf, with \
            lines such as `scenario = connect`.
            """,
            """
            --fail-if takes p50, p99.9 or any percentile, mean and max with a time (ns, us, ms, s), errors, error-rate with a \
            part (0.1%), and throughput; of each kind, or of one: save.p99>5ms, deliver-all.max>1s.
            """,
            CommandOptions.clientNote,
        ],
        examples: [
            "brume load --connections 64 --seconds 30 --mix save=100 --data ./brume-data --json",
            "brume load --rate 2000 --warm-up 5 --fail-if 'p99>20ms' --fail-if 'errors>0'",
            "brume load --scenario fan-out --connections 1000 --data ./brume-data --html fan-out.html",
            "brume load --scenario idle --connections 10000 --accounts 100 --data ./brume-data",
        ],
        body: .asynchronous(run))

    private static let tokens = OptionDefinition(
        "token", "TOKEN,…", "the accounts' tokens", repeats: true, isSecret: true)

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let thresholds = try invocation.texts("fail-if").map { text in
            do throws(LoadThreshold.Problem) {
                return try LoadThreshold(text)
            } catch {
                throw UsageError("--fail-if: \(error.message)", command: invocation.command)
            }
        }
        if let path = invocation.text("html") { try checkPage(path) }
        let run = LoadRun(try await configuration(invocation))
        let configuration = run.configuration
        var line = LoadProgress(seconds: configuration.seconds, isTerminal: Terminal.isTerminal(Terminal.standardError))
        Terminal.write(line.begins(configuration), to: Terminal.standardError)
        let report: LoadReport
        do {
            report = try await run.run(
                prepared: { Terminal.write(line.prepared(), to: Terminal.standardError) },
                progress: { Terminal.write(line.advanced($0), to: Terminal.standardError) })
        } catch let error as LoadRun.Problem {
            Terminal.write(line.finished(), to: Terminal.standardError)
            throw Self.error(error)
        }
        Terminal.write(line.finished(), to: Terminal.standardError)
        Terminal.write(invocation.isOn("json") ? LoadText.json(report).line + "\n" : LoadText.text(report))
        if let path = invocation.text("html") {
            do throws(SystemError) {
                try FileSystem.atomicReplace(path, Array(LoadPage(report).html.utf8), permissions: 0o644)
            } catch {
                throw CommandError(writing: path, error)
            }
        }
        let violations = thresholds.compactMap { $0.violation(in: report) }
        for violation in violations { Terminal.printError("brume: \(violation)") }
        let isEmpty = report.figures.operations == 0 && configuration.scenario != .reconnect
        return violations.isEmpty && !isEmpty ? .done : .failed
    }

    private static func error(_ problem: LoadRun.Problem) -> CommandError {
        switch problem.cause {
        case .service(let code):
            let code = Int(code.rawValue)
            return CommandError(
                CommandError.code(ofError: code), problem.message, hint: CommandError.hint(ofError: code))
        case .connection:
            return CommandError(
                .unreachable, problem.message,
                hint: CommandError.hint(ofError: Int(ErrorCode.networkFailure.rawValue)))
        case .handshake:
            return CommandError(
                .unreachable, problem.message,
                hint:
                    "name the CA's certificate with --ca, and with --server a name that the server's certificate is for"
            )
        case .local: return CommandError(.failed, problem.message)
        }
    }

    /// Checks that the page can be written, before the load that it is to show.
    private static func checkPage(_ path: String) throws(CommandError) {
        guard !FileSystem.isDirectory(path) else {
            throw CommandError(.failed, "--html \(path) is a folder", hint: "name a file in it")
        }
        let probe = path + ".tmp"
        do throws(SystemError) {
            try FileSystem.atomicReplace(probe, [])
            try FileSystem.remove(probe)
        } catch {
            throw CommandError(writing: path, error)
        }
    }

    // MARK: Options

    private static func configuration(_ invocation: Invocation) async throws -> LoadConfiguration {
        func refused(_ message: String) -> UsageError { UsageError(message, command: invocation.command) }
        let name = try invocation.required("scenario")
        guard let scenario = LoadScenario(rawValue: name) else {
            let names = LoadScenario.allCases.map(\.rawValue)
            let hint = NearestName.find(name, among: names).map { "; did you mean \($0)?" }
            throw refused(
                "--scenario is one of \(names.joined(separator: ", ")), not \"\(name)\"\(hint ?? "")")
        }
        var mix = LoadMix.saves
        if scenario == .mixed {
            let text = try invocation.required("mix")
            do throws(LoadMix.Problem) { mix = try LoadMix(text) } catch { throw refused("--mix: \(error.message)") }
        }
        var configuration = LoadConfiguration(
            server: try server(invocation), tokens: [], scenario: scenario, mix: mix)
        configuration.connections = try invocation.integer("connections", in: 1...100_000) ?? 8
        configuration.seconds = try invocation.number("seconds", in: 0.1...86_400) ?? 10
        configuration.warmUpSeconds = try invocation.number("warm-up", in: 0...86_400) ?? 0
        configuration.rate = try invocation.number("rate", in: 0.001...1_000_000)
        configuration.threads = try invocation.integer("threads", in: 1...64) ?? 1
        configuration.connectTimeoutNanoseconds = try CommandOptions.connectTimeoutNanoseconds(invocation)
        configuration.recordBytes = try invocation.integer("record-bytes", in: 0...900_000) ?? 1024
        configuration.batch = try invocation.integer("batch", in: 1...400) ?? 1
        configuration.zones = try invocation.integer("zones", in: 1...400) ?? 1
        configuration.skew = try invocation.number("skew", in: 0...10) ?? 0
        configuration.lag = try invocation.integer("lag", in: 1...1_000_000) ?? 1_000
        configuration.inFlight = try invocation.integer("in-flight", in: 1...1_000) ?? 1
        configuration.isPublic = invocation.isOn("public")
        configuration.herdSeconds = try invocation.number("every", in: 0.1...86_400) ?? 5
        configuration.seed = UInt64(try invocation.integer("seed", in: 0...Int.max) ?? 1)
        guard configuration.batch * (configuration.recordBytes + 200) <= BatchFiller<Int>.bytesLimit else {
            throw refused("--batch times --record-bytes is more than a request may hold (2 MB)")
        }
        if configuration.rate != nil, [.idle, .reconnect].contains(scenario) {
            throw refused("--rate is for operations, of which \(name) has none")
        }
        if configuration.isPublic, scenario != .fanOut { throw refused("--public is for --scenario fan-out") }
        let file = try serverFile(invocation)
        if let pid = try invocation.integer("server-pid", in: 1...Int(Int32.max)) {
            configuration.serverPID = Int32(pid)
        } else {
            configuration.serverPID = file?.pid
        }
        configuration.tokens = try await tokens(invocation)
        let perAccount = (configuration.connections + configuration.tokens.count - 1) / configuration.tokens.count
        if [.fanOut, .idle, .reconnect].contains(scenario), perAccount > 1_000 {
            throw refused(
                "\(configuration.connections) connections listen, and an account may have 1000 streams; give it more accounts, by --token-file or --accounts"
            )
        }
        return configuration
    }

    private static func serverFile(_ invocation: Invocation) throws -> ServerFile? {
        try invocation.text("data").flatMap { try ServerFile(dataFolder: $0) }
    }

    private static func server(_ invocation: Invocation) throws -> LoadConfiguration.Server {
        var (address, caPath) = (invocation.text("server"), invocation.text("ca"))
        // A folder that is named in the command line takes precedence over an app's variables.
        let meansFolder = invocation.flags.contains("data")
        if meansFolder, !invocation.flags.contains("server") { address = nil }
        if meansFolder, !invocation.flags.contains("ca") { caPath = nil }
        if let file = try serverFile(invocation) {
            (address, caPath) = (address ?? file.reachableServer, caPath ?? file.caPath)
        } else if meansFolder {
            throw Operator.noServer(on: try invocation.required("data"))
        }
        guard let address else { _ = try invocation.required("server"); preconditionFailure("there is a server") }
        let listen = try ListenAddress(address, option: "server", isServer: true)
        return LoadConfiguration.Server(
            host: listen.host, port: listen.port, caPath: caPath,
            container: try CommandOptions.containerName(invocation),
            environment: try CommandOptions.environment(invocation))
    }

    private static func tokens(_ invocation: Invocation) async throws -> [String] {
        guard let count = try invocation.integer("accounts", in: 1...10_000) else {
            if let path = invocation.text("token-file") { return try TokenText.readAll(path) }
            _ = try invocation.required("token")
            return invocation.texts("token")
        }
        guard let folder = invocation.text("data"),
            let session = try Operator.folderSession(
                folder, container: try CommandOptions.containerName(invocation),
                environment: try CommandOptions.environment(invocation))
        else {
            throw UsageError(
                "--accounts needs --data, the folder of a server that runs on this machine", command: invocation.command
            )
        }
        let known = Set(try await session.listAccounts().map(\.name))
        var tokens: [String] = []
        for number in 1...count {
            let name = "load-\(number)"
            if known.contains(name) {
                // Tokens are shown only once: nobody can use those of an earlier load.
                _ = try await session.revokeTokens(name: name)
                tokens.append(try await session.createToken(name: name))
            } else {
                tokens.append(try await session.addAccount(name: name, email: "").token)
            }
        }
        return tokens
    }
}
