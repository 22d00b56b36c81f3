/// Completion for zsh, by its completion system.
struct ZshCompletion {
    let groups: [CommandGroup]

    var text: String {
        """
        #compdef brume
        # Completion of brume for zsh, as brume completion zsh prints it.
        _brume() {
            local -a commands
            if ((CURRENT == 2)); then
                commands=(
        \(groups.map { row($0.name, $0.summary) }.joined())        )
                _describe -t commands command commands
                return
            fi
            local command=$words[2]
            shift words
            ((CURRENT--))
            case $command in
        \(groups.map(group).joined())    esac
        }
        _brume "$@"

        """
    }

    private func row(_ name: String, _ summary: String) -> String {
        "            \(quoted("\(name):\(summary.replacing(":", with: "\\:"))"))\n"
    }

    private func group(_ group: CommandGroup) -> String {
        if group.others.isEmpty {
            return "    \(group.name))\n\(arguments(of: group.members[0], indent: 8))        ;;\n"
        }
        var text = """
                \(group.name))
                    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
                        commands=(
            \(group.others.map { row($0.path[1], $0.summary) }.joined())            )
                        _describe -t commands command commands
                        return
                    fi
                    local second=$words[2]

            """
        text += "        case $second in\n"
        for member in group.others {
            text += "        \(member.path[1]))\n            shift words\n            ((CURRENT--))\n"
            text += arguments(of: member, indent: 12) + "            ;;\n"
        }
        if let own = group.own { text += "        *)\n\(arguments(of: own, indent: 12))            ;;\n" }
        return text + "        esac\n        ;;\n"
    }

    private func arguments(of command: CommandDefinition, indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        var specifications = command.writtenOptions.map { option in
            let name = (option.repeats ? "*" : "") + "--\(option.name)"
            let help = escaped(option.help)
            guard let placeholder = option.placeholder else { return "\(name)[\(help)]" }
            return "\(name)[\(help)]:\(escaped(placeholder)):\(option.takesPath ? "_files" : " ")"
        }
        specifications.append("*:\(escaped(command.arguments.last?.name ?? " ")):\(command.takesPath ? "_files" : " ")")
        return "\(space)_arguments \\\n"
            + specifications.map { "\(space)    \(quoted($0))" }.joined(separator: " \\\n") + "\n"
    }

    private func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if "[]:\\".contains(character) { escaped += "\\" }
            escaped.append(character)
        }
        return escaped
    }

    private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
