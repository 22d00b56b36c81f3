/// All commands of the executable, in the order in which help shows them.
enum CommandTable {
    static let commands: [CommandDefinition] = [
        VersionCommand.definition,
        HelpCommand.definition,
    ]
}
