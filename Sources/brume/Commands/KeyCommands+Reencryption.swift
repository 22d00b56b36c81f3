internal import BrumeKit

/// `brume key reencrypt`: encrypting anew what is below records that moved.
extension KeyCommands {
    static let reencryptionDefinitions = [
        CommandDefinition(
            ["key", "reencrypt"], "encrypt what has come into shares for those who take part in them",
            arguments: [ArgumentDefinition("ZONE", "the zone's name, or default; one of the account's own")],
            options: options,
            notes: [
                """
                What is below a record that moved, or that was shared and has a parent, can't be read by those with \
                whom it is shared before a device of the owner's has encrypted it anew. Apps do that by themselves; \
                a command ends before. It can be repeated, and does nothing that is done. What could not be \
                encrypted is listed with the reason, and the exit code is \(ExitCode.failed.rawValue) then.
                """, CommandOptions.clientNote,
            ], examples: ["brume key reencrypt Lists"], body: .asynchronous(reencrypt))
    ]

    private static func reencrypt(_ invocation: Invocation) async throws -> ExitCode {
        let zoneID = try ClientContext.zoneID(invocation.arguments[0])
        let done = try await ClientContext(invocation).database.reencryptRecords(in: zoneID)
        let failures = done.failures.sorted { $0.key.recordName < $1.key.recordName }
        if invocation.isOn("json") {
            let left = failures.map { id, error in
                JSONValue.object([
                    ("name", .string(id.recordName)),
                    ("message", .string(CommandError.namingCommands(error.localizedDescription))),
                ])
            }
            Terminal.print(
                JSONValue.object([
                    ("zone", .string(zoneID.zoneName)), ("encrypted", .integer(Int64(done.count))),
                    ("left", .array(left)),
                ]).line)
        } else {
            for (id, error) in failures {
                Terminal.print(
                    "\(id.recordName): \(CommandError.namingCommands(error.localizedDescription))".printable())
            }
            Terminal.print(
                done.count == 0 && failures.isEmpty
                    ? "nothing to do: all that is encrypted in shares of \(zoneID.zoneName) has their keys"
                    : "\(CountText.text(done.count, "record")) encrypted anew, \(failures.count) left")
        }
        return failures.isEmpty ? .done : .failed
    }
}
