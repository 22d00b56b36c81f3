internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel

/// `brume health`: whether a server serves, and what is wrong with it.
enum HealthCommand {
    static let definition = CommandDefinition(
        ["health"], "tell whether a server serves, and what is wrong with it",
        options: CommandOptions.server + [
            CommandOptions.data,
            OptionDefinition(
                "container", "NAME", "one that the server serves, where it was started with --container",
                fallback: "iCloud.brume"), CommandOptions.connectTimeout, CommandOptions.json,
        ],
        notes: [
            """
            Asks the server that --server (BRUME_SERVER) and --ca (BRUME_CA) name; without them, the one that runs on --data. It \
            needs no account and sends no token.
            """,
            """
            Exit code 0: all is well. 6: it can't be reached, or is about to stop. 7: a file of its folder is damaged, and what it \
            held is refused; the server's log names it. 1: its disk is full, and writes are refused until there is room. \
            3: it does not serve --container.
            """,
        ],
        examples: [
            "brume health --server cloud.example.com:7440 --ca ca.pem", "brume health --data ./brume-data --json",
        ],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let session = try session(invocation)
        let timeoutNanoseconds = try CommandOptions.connectTimeoutNanoseconds(invocation)
        let health = try await health(of: session, timeoutNanoseconds)
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("serving", .bool(health.isServing)),
                    ("uptimeMilliseconds", .integer(Int64(clamping: health.uptimeMilliseconds))),
                    ("diskFull", .bool(health.isDiskFull)), ("damageFound", .bool(health.isDamageFound)),
                ]).line)
        } else {
            Terminal.print(sentences(health).joined(separator: "\n"))
        }
        if !health.isServing { return .unreachable }
        if health.isDamageFound { return .damaged }
        return health.isDiskFull ? .failed : .done
    }

    private static func session(_ invocation: Invocation) throws -> ClientSession {
        // A folder that is named in the command line takes precedence over an app's variable.
        let meansFolder = invocation.flags.contains("data") && !invocation.flags.contains("server")
        if invocation.text("server") != nil, !meansFolder {
            return try ClientSession.unshared(
                BrumeConfiguration(
                    server: try CommandOptions.serverAddress(invocation),
                    caPath: try CommandOptions.certificateAuthority(invocation),
                    container: try CommandOptions.containerName(invocation),
                    // The environment that every server has.
                    environment: .production))
        }
        return try Operator.runningSession(invocation)
    }

    private static func health(of session: ClientSession, _ timeoutNanoseconds: UInt64) async throws -> HealthStatus {
        do throws(any Error) {
            _ = try await session.ping(timeoutNanoseconds: timeoutNanoseconds)
            return try await session.health()
        } catch let error as ServiceError where error.code == .badContainer {
            throw CommandError(
                .notFound,
                "the server answers, but tells how it is only in a container that it serves: \(error.message)",
                hint: "name one with --container (BRUME_CONTAINER)")
        }
    }

    private static func sentences(_ health: HealthStatus) -> [String] {
        var sentences = [
            health.isServing
                ? "serving for \(CountText.text(Int(clamping: health.uptimeMilliseconds / 1_000), "second"))"
                : "about to stop: no new clients are taken"
        ]
        if health.isDiskFull {
            sentences.append(
                "the disk is full: writes are refused, reading goes on; make room and they are taken again")
        }
        if health.isDamageFound {
            sentences.append(
                "a file of the data folder is damaged: the server's log names it, and what it held is refused")
        }
        return sentences
    }
}
