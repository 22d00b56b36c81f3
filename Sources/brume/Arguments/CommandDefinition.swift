/// A positional argument of a command.
struct ArgumentDefinition: Sendable {
    let name: String
    let help: String
    let isOptional: Bool
    /// Whether it takes all remaining words; only the last argument may.
    let repeats: Bool

    init(_ name: String, _ help: String, isOptional: Bool = false, repeats: Bool = false) {
        self.name = name
        self.help = help
        self.isOptional = isOptional
        self.repeats = repeats
    }

    /// `ZONE`, `[ZONE]`, `NAME…`, `[NAME…]`.
    var usage: String {
        let word = repeats ? "\(name)…" : name
        return isOptional ? "[\(word)]" : word
    }
}

/// One command: everything needed to parse it, to show its help and to run it.
struct CommandDefinition: Sendable {
    /// How a command does its work.
    enum Body: Sendable {
        /// Runs on the main thread, which it may block.
        case blocking(@Sendable (Invocation) throws -> ExitCode)
        case asynchronous(@Sendable (Invocation) async throws -> ExitCode)
    }

    /// The words that choose it, such as `["account", "add"]`.
    let path: [String]
    let summary: String
    let arguments: [ArgumentDefinition]
    let options: [OptionDefinition]
    /// Paragraphs for its help.
    let notes: [String]
    /// Whole command lines for its help.
    let examples: [String]
    /// Whether it is left out of help: it is for the executable's own child processes.
    let isHidden: Bool
    /// What to do instead of giving it a secret as an argument; nil where nobody would. Its errors show no argument.
    let secretHint: String?
    let body: Body

    init(
        _ path: [String], _ summary: String, arguments: [ArgumentDefinition] = [], options: [OptionDefinition] = [],
        notes: [String] = [], examples: [String] = [], isHidden: Bool = false, secretHint: String? = nil,
        body: Body
    ) {
        self.path = path
        self.summary = summary
        self.arguments = arguments
        self.options = options
        self.notes = notes
        self.examples = examples
        self.isHidden = isHidden
        self.secretHint = secretHint
        self.body = body
    }

    var name: String { path.joined(separator: " ") }

    /// The options of every command come after its own.
    var allOptions: [OptionDefinition] { options + Self.commonOptions }

    func option(named name: String) -> OptionDefinition? { allOptions.first { $0.name == name } }

    static let commonOptions = [
        OptionDefinition("config", "FILE", "read options from a file of `key = value` lines"),
        OptionDefinition("help", nil, "show this help"),
    ]
}
