/// The commands with one first word, such as `brume key show` and `brume key code`; mostly one.
struct CommandGroup {
    let name: String
    let members: [CommandDefinition]

    /// The command that the first word alone chooses.
    var own: CommandDefinition? { members.first { $0.path.count == 1 } }
    /// Those that a second word chooses.
    var others: [CommandDefinition] { members.filter { $0.path.count == 2 } }

    /// What it is for, in a line.
    var summary: String {
        if members.count == 1 { return members[0].summary }
        return Self.summaries[name] ?? "\(name) \(others.map { $0.path[1] }.joined(separator: ", "))"
    }

    private static let summaries = [
        "config": "the options of brume serve in a file, and those in force",
        "account": "the accounts of the server's users",
        "audit": "what operators did",
        "containers": "what the server's containers hold",
        "schema": "record types, fields and roles of containers",
        "zones": "the zones of an account",
        "records": "the records of a zone",
        "shares": "what an account shares, and takes part in",
        "key": "an account's encryption keys, and the devices that have them",
    ]

    /// The groups of commands that help shows, in the order in which it does.
    static func all(of commands: [CommandDefinition]) -> [CommandGroup] {
        var names: [String] = []
        for command in commands where !command.isHidden && !names.contains(command.path[0]) {
            names.append(command.path[0])
        }
        return names.map { name in
            CommandGroup(name: name, members: commands.filter { !$0.isHidden && $0.path[0] == name })
        }
    }
}

extension CommandDefinition {
    /// The options that are written on a command line.
    var writtenOptions: [OptionDefinition] { allOptions.filter { !$0.isHidden && !$0.isSecret } }

    /// Whether an argument of it is the path of a file or folder.
    var takesPath: Bool { arguments.contains { OptionDefinition.pathWords.contains($0.name) } }
}

extension OptionDefinition {
    /// The placeholders of paths.
    static let pathWords: Set<String> = ["FILE", "DIR", "PATH", "BACKUP", "TARGET"]

    /// Whether its value is the path of a file or folder.
    var takesPath: Bool { placeholder.map(Self.pathWords.contains) ?? false }
}
