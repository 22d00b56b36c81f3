/// Completion for fish.
struct FishCompletion {
    let groups: [CommandGroup]

    var text: String {
        var text = """
            # Completion of brume for fish, as brume completion fish prints it.

            # Whether the words behind brume are these and no more.
            function __brume_is
                set -l words (commandline -opc)
                test "$words[2..]" = "$argv"
            end

            # Whether they begin so.
            function __brume_begins
                set -l words (commandline -opc)
                set -l last (math (count $argv) + 1)
                test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
            end

            complete -c brume -f

            """
        for group in groups { text += line("__brume_is", "-a \(group.name)", group.summary) }
        for group in groups {
            text += "\n"
            for member in group.others {
                text += line("__brume_is \(group.name)", "-a \(member.path[1])", member.summary)
            }
            for member in group.members { text += options(member) }
        }
        return text
    }

    private func options(_ command: CommandDefinition) -> String {
        // A command that the first word alone chooses is one of a group whose others have a second word.
        let condition = "__brume_begins \(command.path.joined(separator: " "))"
        var text = command.writtenOptions.map { option in
            let value = option.placeholder == nil ? "" : option.takesPath ? " -r -F" : " -x"
            return line(condition, "-l \(option.name)\(value)", option.help)
        }.joined()
        if command.takesPath { text += "complete -c brume -n \(quoted(condition)) -F\n" }
        return text
    }

    private func line(_ condition: String, _ what: String, _ help: String) -> String {
        "complete -c brume -n \(quoted(condition)) \(what) -d \(quoted(help))\n"
    }

    private func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
