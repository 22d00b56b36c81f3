/// `brume completion`: scripts by which shells complete the words of brume's commands.
enum CompletionCommand {
    static let definition = CommandDefinition(
        ["completion"], "print a script by which a shell completes commands and options",
        arguments: [ArgumentDefinition("SHELL", "bash, zsh or fish")],
        notes: [
            """
            A package installs them. Otherwise: for bash, source <(brume completion bash); for zsh, write it to a file \
            _brume in a folder of $fpath; for fish, to ~/.config/fish/completions/brume.fish.
            """
        ], examples: ["brume completion bash > /usr/share/bash-completion/completions/brume"], body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        let groups = CommandGroup.all(of: CommandTable.commands)
        switch invocation.arguments[0] {
        case "bash": Terminal.write(BashCompletion(groups: groups).text)
        case "zsh": Terminal.write(ZshCompletion(groups: groups).text)
        case "fish": Terminal.write(FishCompletion(groups: groups).text)
        case let shell:
            throw UsageError("SHELL is bash, zsh or fish, not \"\(shell)\"", command: invocation.command)
        }
        return .done
    }
}
