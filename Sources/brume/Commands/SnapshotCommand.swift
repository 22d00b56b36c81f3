internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel

/// `brume snapshot`: makes a running server write snapshots.
enum SnapshotCommand {
    static let definition = CommandDefinition(
        ["snapshot"], "have the running server write snapshots and cut its journal",
        options: [CommandOptions.json] + CommandOptions.operators,
        notes: ["Starts after it are faster, and the folder is smaller. A server does this by itself when it stops."],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let summary = try await Operator.runningSession(invocation).snapshot()
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("databases", .integer(Int64(summary.databases))),
                    ("segmentsRemoved", .integer(Int64(summary.segmentsRemoved))),
                ]).line)
        } else {
            Terminal.print("\(summary.databases) snapshots written, \(summary.segmentsRemoved) journal files removed")
        }
        return .done
    }
}
