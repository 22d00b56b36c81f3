internal import BrumeModel

/// `brume version`: prints the version.
enum VersionCommand {
    static let definition = CommandDefinition(
        ["version"], "print the version", options: [CommandOptions.json],
        body: .blocking { invocation in
            if invocation.isOn("json") {
                Terminal.print(
                    JSONValue.object([("version", .string(BrumeVersion.text)), ("protocol", .integer(1))]).line)
            } else {
                Terminal.print("brume \(BrumeVersion.text), protocol 1")
            }
            return .done
        })
}
