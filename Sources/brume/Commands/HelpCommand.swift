/// `brume help [COMMAND]`: listed here so that it stands among the commands; the parser answers it.
enum HelpCommand {
    static let definition = CommandDefinition(
        ["help"], "show help on everything, or on one command",
        arguments: [ArgumentDefinition("COMMAND", "the command", isOptional: true, repeats: true)],
        body: .blocking { _ in .done })
}
