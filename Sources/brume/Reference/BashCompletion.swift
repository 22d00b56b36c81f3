/// Completion for bash, which needs nothing but bash.
struct BashCompletion {
    let groups: [CommandGroup]

    var text: String {
        """
        # Completion of brume for bash, as brume completion bash prints it.
        _brume() {
            local current="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words=""
            COMPREPLY=()
            if ((COMP_CWORD == 1)); then
                mapfile -t COMPREPLY < <(compgen -W "\(groups.map(\.name).joined(separator: " "))" -- "$current")
                return
            fi
            case "$command" in
        \(groups.filter { !$0.others.isEmpty }.map(secondWords).joined())    esac
            case "$command ${COMP_WORDS[COMP_CWORD - 1]}" in
        \(groups.map(values).joined())    esac
            case "$command" in
        \(groups.filter { $0.others.isEmpty }.map { options($0.members[0], pattern: $0.name, indent: 8) }.joined())\
        \(groups.filter { !$0.others.isEmpty }.map(optionsOfMembers).joined())    esac
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        }
        complete -F _brume brume

        """
    }

    private func secondWords(_ group: CommandGroup) -> String {
        let words = group.others.map { $0.path[1] } + (group.own == nil ? [] : ["--help"])
        return """
                    \(group.name))
                        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then
                            mapfile -t COMPREPLY < <(compgen -W "\(words.joined(separator: " "))" -- "$current")
                            return
                        fi ;;

            """
    }

    /// The words before which a value is wanted: paths are completed, and nothing else can be.
    private func values(_ group: CommandGroup) -> String {
        let options = group.members.flatMap(\.writtenOptions).filter { $0.placeholder != nil }
        func line(_ names: [String], _ then: String) -> String {
            if names.isEmpty { return "" }
            let pattern = Set(names).sorted().map { "\"\(group.name) --\($0)\"" }.joined(separator: " | ")
            return "        \(pattern))\n            \(then) ;;\n"
        }
        let isPath = Set(options.filter(\.takesPath).map(\.name))
        return line(options.map(\.name).filter(isPath.contains), Self.completePath)
            + line(options.map(\.name).filter { !isPath.contains($0) }, "return")
    }

    private func optionsOfMembers(_ group: CommandGroup) -> String {
        var text = "        \(group.name))\n            case \"${COMP_WORDS[2]}\" in\n"
        for member in group.others { text += options(member, pattern: member.path[1], indent: 16) }
        if let own = group.own { text += options(own, pattern: "*", indent: 16) }
        return text + "            esac ;;\n"
    }

    private func options(_ command: CommandDefinition, pattern: String, indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        let words = command.writtenOptions.map { "--\($0.name)" }.joined(separator: " ")
        let paths = command.takesPath ? "\n\(space)    if [[ $current != -* ]]; then \(Self.completePath); fi" : ""
        return "\(space)\(pattern))\(paths)\n\(space)    words=\"\(words)\" ;;\n"
    }

    private static let completePath =
        "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return"
}
