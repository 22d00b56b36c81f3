/// One long option of a command: how it is written, what it means, and where else its value may come from.
///
/// A value comes from the first of these that has one: the flag, the environment variable, the configuration file, the
/// default.
struct OptionDefinition: Sendable {
    /// The long name without dashes; also the key in a configuration file.
    let name: String
    /// The placeholder for the value in help; nil for a flag that is on or off.
    let placeholder: String?
    let help: String
    /// The value when nothing gives one. Shown in help.
    let fallback: String?
    /// Whether it may be given several times. Its variable, and its line in a file, may hold a comma-separated list.
    let repeats: Bool
    /// Whether a comma belongs to the value of an option that repeats, which no list stands for then.
    let holdsCommas: Bool
    /// The environment variable.
    let variable: String
    /// Whether it is left out of help: it is for the executable's own child processes.
    let isHidden: Bool
    /// Whether it has no flag: every user of the machine can read a command line, and the shell's history keeps it.
    let isSecret: Bool

    init(
        _ name: String, _ placeholder: String? = nil, _ help: String, fallback: String? = nil, repeats: Bool = false,
        holdsCommas: Bool = false, variable: String? = nil, isHidden: Bool = false, isSecret: Bool = false
    ) {
        self.name = name
        self.placeholder = placeholder
        self.help = help
        self.fallback = fallback
        self.repeats = repeats
        self.holdsCommas = holdsCommas
        self.variable = variable ?? Self.usualVariable(name)
        self.isHidden = isHidden
        self.isSecret = isSecret
    }

    /// `BRUME_` and the name.
    private static func usualVariable(_ name: String) -> String {
        "BRUME_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Whether help has to name the variable, since it does not follow the rule for names.
    var hasUnusualVariable: Bool { variable != Self.usualVariable(name) }

    /// What it means, with all that is to be known for setting it.
    ///
    /// - Parameter variable: Said beside it; nil for nothing.
    func described(variable: String?) -> String {
        var text = help
        if repeats { text += "; may be repeated" }
        if let variable { text += "; variable \(variable)" }
        if let fallback, !fallback.isEmpty { text += " (default: \(fallback))" }
        return text
    }

    /// The option as it is written: `--name VALUE`, or `VARIABLE=VALUE` when it has no flag.
    var usage: String {
        if isSecret { return "\(variable)=\(placeholder ?? "")" }
        guard let placeholder else { return "--\(name)" }
        return "--\(name) \(placeholder)"
    }

    /// The form of the option that names a file with the secret.
    var usageOfFile: String { "--\(name)-file FILE" }
}
