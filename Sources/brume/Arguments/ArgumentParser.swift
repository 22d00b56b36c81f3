internal import BrumeModel

/// Parses a command line. Pure: environment and files are passed in.
struct ArgumentParser {
    /// The meaning of a command line.
    enum Outcome {
        case run(Invocation)
        /// Help for a command, for a group such as `account`, or for everything (nil).
        case help(HelpTopic)
    }

    enum HelpTopic: Equatable {
        case everything
        case group(String)
        case command([String])
    }

    let commands: [CommandDefinition]
    let environment: [String: String]
    /// The text of a configuration file, or nil when it can't be read.
    let readFile: (String) -> String?

    func parse(_ words: [String]) throws(UsageError) -> Outcome {
        guard let first = words.first else { return .help(.everything) }
        if first == "--help" || first == "-h" { return .help(.everything) }
        if first == "--version" { return try parse(["version"] + words.dropFirst()) }
        if first == "help" { return try help(Array(words.dropFirst())) }
        let (command, rest) = try choose(words)
        guard let command else { return .help(.group(first)) }
        return try parse(rest, for: command)
    }

    private func help(_ words: [String]) throws(UsageError) -> Outcome {
        let words = words.filter { $0 != "--help" && $0 != "-h" }
        guard let first = words.first else { return .help(.everything) }
        // The name of a group alone asks for the group, also where it is a command as well.
        if words.count == 1, commands.contains(where: { $0.path.count == 2 && $0.path[0] == first }) {
            return .help(.group(first))
        }
        let (command, _) = try choose(words)
        guard let command else { return .help(.group(first)) }
        return .help(.command(command.path))
    }

    /// The command that the first words name, and the words after it. The command is nil when they name a group and ask
    /// for help.
    private func choose(_ words: [String]) throws(UsageError) -> (CommandDefinition?, [String]) {
        let first = words[0]
        let group = commands.filter { $0.path[0] == first }
        if group.isEmpty {
            let names = Set(commands.filter { !$0.isHidden }.map { $0.path[0] } + ["help"]).sorted()
            let kind = first.hasPrefix("-") ? "brume takes a command first; there is no option" : "there is no command"
            throw UsageError(
                "\(kind) \"\(first)\"",
                hint: nearestCommand(to: words, among: names).map { "did you mean: brume \($0)" } ?? "see: brume help")
        }
        if let whole = group.first(where: { $0.path.count == 1 }), group.count == 1 {
            return (whole, Array(words.dropFirst()))
        }
        if words.count > 1, let command = group.first(where: { $0.path.count == 2 && $0.path[1] == words[1] }) {
            return (command, Array(words.dropFirst(2)))
        }
        let second = words.dropFirst().first
        if second == "--help" || second == "-h" { return (nil, []) }
        let names = group.filter { !$0.isHidden && $0.path.count == 2 }.map { $0.path[1] }
        // A group may have a command of its own, which is meant by the group's name alone, or with options.
        if let whole = group.first(where: { $0.path.count == 1 }), second == nil || second?.hasPrefix("-") == true {
            return (whole, Array(words.dropFirst()))
        }
        guard let second else {
            throw UsageError(
                "\(first) needs one of: \(names.joined(separator: ", "))", hint: "see: brume \(first) --help")
        }
        let nearest = NearestName.find(second, among: names)
        let isSecret = nearest == nil && group.contains { $0.secretHint != nil }
        throw UsageError(
            isSecret ? "\(first) has no such command" : "there is no command \"\(first) \(second)\"",
            hint: nearest.map { "did you mean: brume \(first) \($0)" } ?? "see: brume \(first) --help")
    }

    /// The command that was probably meant; with its second word if that is near one of the group.
    private func nearestCommand(to words: [String], among names: [String]) -> String? {
        guard let first = NearestName.find(words[0], among: names) else { return nil }
        let members = commands.filter { !$0.isHidden && $0.path.count == 2 && $0.path[0] == first }.map { $0.path[1] }
        guard words.count > 1, let second = NearestName.find(words[1], among: members) else { return first }
        return "\(first) \(second)"
    }

    private func parse(_ words: [String], for command: CommandDefinition) throws(UsageError) -> Outcome {
        var given: [String: [String]] = [:]
        var arguments: [String] = []
        var rest = words[...]
        var optionsEnded = false
        while let word = rest.popFirst() {
            if !optionsEnded, word == "--" {
                optionsEnded = true
            } else if !optionsEnded, word == "-h" || word == "--help" {
                return .help(.command(command.path))
            } else if !optionsEnded, word.hasPrefix("-"), word != "-" {
                let (option, value) = try self.option(word, rest: &rest, of: command)
                if given[option.name] != nil, !option.repeats {
                    throw UsageError("--\(option.name) is given twice", command: command)
                }
                given[option.name, default: []] += values(in: value, of: option)
            } else {
                arguments.append(word)
            }
        }
        try check(arguments, of: command)
        var invocation = Invocation(command: command, arguments: arguments, values: [:], flags: Set(given.keys))
        try resolve(given, for: &invocation)
        return .run(invocation)
    }

    private func option(
        _ word: String, rest: inout ArraySlice<String>, of command: CommandDefinition
    ) throws(UsageError) -> (OptionDefinition, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].drop { $0 == "-" })
        guard word.hasPrefix("--"), let option = command.option(named: name) else {
            let names = command.allOptions.filter { !$0.isHidden && !$0.isSecret }.map(\.name)
            let nearest = NearestName.find(name, among: names)
            throw UsageError(
                "\(command.name) has no option \"\(parts[0])\"",
                hint: nearest.map { "did you mean --\($0)?" } ?? "see: brume \(command.name) --help")
        }
        if option.isSecret {
            throw UsageError(
                "--\(name) is no option: what stands in a command line can be read by every user of the machine",
                hint: "use the variable \(option.variable), or \(option.usageOfFile) (- is the standard input)")
        }
        if option.placeholder == nil {
            let text = parts.count == 2 ? String(parts[1]) : "true"
            return (option, try flag(text, called: "--\(name)", of: command))
        }
        if parts.count == 2 { return (option, String(parts[1])) }
        guard let value = rest.popFirst() else {
            throw UsageError("--\(name) needs a value: \(option.usage)", command: command)
        }
        return (option, value)
    }

    private func check(_ arguments: [String], of command: CommandDefinition) throws(UsageError) {
        let required = command.arguments.count { !$0.isOptional }
        if arguments.count < required {
            let missing = command.arguments[arguments.count]
            throw UsageError("\(command.name) needs \(missing.name): \(missing.help)", command: command)
        }
        let takesMore = command.arguments.last?.repeats ?? false
        if arguments.count > command.arguments.count, !takesMore {
            if let hint = command.secretHint {
                throw UsageError(
                    "\(command.name) takes no argument: what stands in a command line can be read by every user of the "
                        + "machine", hint: hint)
            }
            throw UsageError(
                "\(command.name) does not know what to do with \"\(arguments[command.arguments.count])\"",
                command: command)
        }
    }

    /// Resolves each option's value: flag over environment over file over default.
    private func resolve(_ given: [String: [String]], for invocation: inout Invocation) throws(UsageError) {
        let command = invocation.command
        let path = configurationPath(given)
        let file = try path.map { path throws(UsageError) in try configurationFile(path) }
        invocation.configurationPath = path
        for option in command.allOptions {
            let (values, origin): ([String], OptionOrigin)
            if let value = given[option.name] {
                (values, origin) = (value, .commandLine)
            } else if let value = environment[option.variable], !value.isEmpty {
                (values, origin) = (
                    try checked(value, called: option.variable, for: option, of: command), .variable
                )
            } else if let lines = file?.values[option.name] {
                var all: [String] = []
                for line in lines { all += try checked(line, called: option.name, for: option, of: command) }
                (values, origin) = (all, .file)
            } else if let fallback = option.fallback {
                (values, origin) = (self.values(in: fallback, of: option), .fallback)
            } else {
                continue
            }
            (invocation.values[option.name], invocation.origins[option.name]) = (values, origin)
        }
    }

    private func configurationPath(_ given: [String: [String]]) -> String? {
        guard let path = given["config"]?.last ?? environment["BRUME_CONFIG"], !path.isEmpty else { return nil }
        return path
    }

    private func configurationFile(_ path: String) throws(UsageError) -> ConfigurationFile {
        guard let text = readFile(path) else {
            throw UsageError(
                "the configuration file \(path) is missing or can't be read", hint: "check --config and BRUME_CONFIG",
                code: .notFound)
        }
        let names = Set(commands.flatMap { $0.allOptions.map(\.name) }).subtracting(["config", "help"])
        return try ConfigurationFile(text, path: path, names: names)
    }

    private func checked(
        _ text: String, called name: String, for option: OptionDefinition, of command: CommandDefinition
    ) throws(UsageError) -> [String] {
        if option.placeholder == nil { return [try flag(text, called: name, of: command)] }
        return values(in: text, of: option)
    }

    private func flag(_ text: String, called name: String, of command: CommandDefinition) throws(UsageError) -> String {
        switch text.lowercased() {
        case "true", "yes", "on", "1": return "true"
        case "false", "no", "off", "0": return "false"
        default: throw UsageError("\(name) is true or false, not \"\(text)\"", command: command)
        }
    }

    private func values(in text: String, of option: OptionDefinition) -> [String] {
        guard option.repeats, !option.holdsCommas else { return [text] }
        return text.split(separator: ",").map { part in
            String(part.drop { $0 == " " })
        }
    }
}
