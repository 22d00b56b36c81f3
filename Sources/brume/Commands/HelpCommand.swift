/// `brume help [COMMAND]`: defined here so that it is listed among the commands; the parser answers it.
enum HelpCommand {
    static let definition = CommandDefinition(
        ["help"], "show help on everything, or on one command",
        arguments: [ArgumentDefinition("COMMAND", "the command", isOptional: true, repeats: true)],
        body: .blocking { _ in .done })
}
