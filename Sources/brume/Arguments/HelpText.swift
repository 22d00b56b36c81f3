/// Writes help: of everything, of a group of commands, of one command.
struct HelpText {
    let commands: [CommandDefinition]
    let style: Style

    static let headline = "brume: a cloud you run yourself. Records in zones, change tokens, pushes."

    func text(for topic: ArgumentParser.HelpTopic) -> String {
        switch topic {
        case .everything: everything
        case .group(let name): group(name)
        case .command(let path): command(path)
        }
    }

    private var everything: String {
        var text = "\(Self.headline)\n\nusage: brume COMMAND [OPTIONS]\n\n\(style.bold("commands"))\n"
        let shown = commands.filter { !$0.isHidden }
        text += rows(shown.map { ($0.name, $0.summary) })
        text += "\n" + exitCodes
        text += """

            An option comes from its flag, else from its variable (--data: BRUME_DATA), else from the file that --config names
            (`data = ./folder`), else it has its default.

            Help on a command: brume COMMAND --help. To see it work: brume demo

            """
        return text
    }

    private func group(_ name: String) -> String {
        let members = commands.filter { $0.path[0] == name && !$0.isHidden }
        return "usage: brume \(name) COMMAND [OPTIONS]\n\n\(style.bold("commands"))\n"
            + rows(members.map { ($0.name, $0.summary) })
            + "\nHelp on one of them: brume \(members.first?.name ?? name) --help\n"
    }

    private func command(_ path: [String]) -> String {
        guard let command = commands.first(where: { $0.path == path }) else { return everything }
        let words = ["brume", command.name] + command.arguments.map(\.usage) + ["[OPTIONS]"]
        var text = "usage: \(words.joined(separator: " "))\n\n\(command.summary)\n"
        for note in command.notes { text += "\n\(Self.wrapped(note))\n" }
        if !command.arguments.isEmpty {
            text += "\n\(style.bold("arguments"))\n" + rows(command.arguments.map { ($0.name, $0.help) })
        }
        text += "\n\(style.bold("options"))\n"
        text += rows(
            command.allOptions.filter { !$0.isHidden }.map { option in
                (option.usage, option.described(variable: option.hasUnusualVariable ? option.variable : nil))
            })
        if !command.examples.isEmpty {
            text += "\n\(style.bold("examples"))\n" + command.examples.map { "  \($0)\n" }.joined()
        }
        return text + "\n" + exitCodes
    }

    /// The text in lines of at most 100 characters, broken between words.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > 100 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return (lines + [line]).joined(separator: "\n")
    }

    private var exitCodes: String {
        "\(style.bold("exit codes"))\n" + rows(ExitCode.allCases.map { (String($0.rawValue), $0.meaning) })
    }

    private func rows(_ rows: [(String, String)]) -> String {
        let width = min(rows.map(\.0.count).max() ?? 0, 30)
        return rows.map { left, right in
            let gap = String(repeating: " ", count: max(2, width - left.count + 2))
            return "  \(left)\(gap)\(right)\n"
        }.joined()
    }
}
