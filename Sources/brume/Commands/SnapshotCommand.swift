internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel

/// `brume snapshot`: makes a running server write snapshots.
enum SnapshotCommand {
    static let definition = CommandDefinition(
        ["snapshot"], "have the running server write snapshots and cut its journal",
        options: [CommandOptions.json] + CommandOptions.operators,
        notes: [
            """
            A snapshot is a file of the data folder with all that one database holds; the journal has what came after it. The server \
            writes snapshots by itself, while it runs and when it stops. To have them written now makes the next start faster, \
            and gives back the room of what was deleted. It is no backup: that is brume backup.
            """
        ],
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
            Terminal.print(
                "\(CountText.text(summary.databases, "snapshot")) written, "
                    + "\(CountText.text(summary.segmentsRemoved, "journal file")) removed")
        }
        return .done
    }
}
