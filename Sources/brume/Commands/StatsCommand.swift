internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel

/// `brume stats`: what a server has done and what it holds.
enum StatsCommand {
    static let definition = CommandDefinition(
        ["stats"], "show what the running server has done and what it holds",
        options: [
            OptionDefinition("watch", nil, "go on, with what came between two looks"),
            OptionDefinition("interval", "SECONDS", "between two looks", fallback: "2"),
            OptionDefinition("count", "N", "end after so many looks (default: never)"),
            CommandOptions.json,
        ] + CommandOptions.operators,
        notes: [
            """
            Asks the server that runs on --data, or the one of --server, as its operator. Counts are since its start; with --watch, from the second look \
            on, those since the look before, as rates, and percentiles of that time alone. Percentiles are exact to one percent.
            """,
            """
            With --json each look is one line. Times are in microseconds. Prometheus gets the same figures from \
            brume serve --metrics-listen.
            """,
        ],
        examples: ["brume stats --data ./brume-data", "brume stats --watch --interval 1", "brume stats --json"],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let interval = try invocation.number("interval", in: 0.1...86_400) ?? 2
        let watches = invocation.isOn("watch")
        let looks = try invocation.integer("count", in: 1...Int.max) ?? (watches ? .max : 1)
        let session = try Operator.runningSession(invocation)
        let clears = watches && !invocation.isOn("json") && Terminal.isTerminal(Terminal.standardOutput)
        var earlier: ServerFigures?
        for look in 0..<looks {
            if look > 0 { try await Task.sleep(nanoseconds: UInt64(interval * 1e9)) }
            let figures = try await session.stats()
            let text = StatsText(figures, since: earlier)
            if invocation.isOn("json") {
                Terminal.print(text.json.line)
            } else {
                // Redraws the whole screen without flicker: from the top, each line to its end, then clears the rest.
                let lines = clears ? "\u{1B}[H" + text.lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J" : nil
                Terminal.write(lines ?? ((look > 0 ? "\n" : "") + text.lines.joined(separator: "\n") + "\n"))
            }
            earlier = figures
        }
        return .done
    }
}
