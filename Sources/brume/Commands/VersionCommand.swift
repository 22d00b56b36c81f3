/// `brume version`: prints the version.
enum VersionCommand {
    /// Follows CHANGELOG.md.
    static let version = "0.1.0"

    static let definition = CommandDefinition(
        ["version"], "print the version", options: [CommandOptions.json],
        body: .blocking { invocation in
            if invocation.isOn("json") {
                Terminal.print(JSONValue.object([("version", .string(version)), ("protocol", .integer(1))]).line)
            } else {
                Terminal.print("brume \(version), protocol 1")
            }
            return .done
        })
}
