/// One long option of a command: how it is written, what it means, and where else its value may come from.
///
/// A value comes from the first of these that has one: the flag, the environment variable, the configuration file, the
/// default.
struct OptionDefinition: Sendable {
    /// The long name without dashes; also the key in a configuration file.
    let name: String
    /// What stands for the value in help; nil: a flag that is on or off.
    let placeholder: String?
    let help: String
    /// The value when nothing gives one. Shown in help.
    let fallback: String?
    /// Whether it may be given several times. Its variable and its line in a file hold a comma-separated list.
    let repeats: Bool
    /// The environment variable.
    let variable: String
    /// Left out of help: for the executable's own child processes.
    let isHidden: Bool
    /// It has no flag: what stands in a command line is everybody's to read on the machine, and in the shell's history.
    let isSecret: Bool

    init(
        _ name: String, _ placeholder: String? = nil, _ help: String, fallback: String? = nil, repeats: Bool = false,
        variable: String? = nil, isHidden: Bool = false, isSecret: Bool = false
    ) {
        self.name = name
        self.placeholder = placeholder
        self.help = help
        self.fallback = fallback
        self.repeats = repeats
        self.variable = variable ?? Self.usualVariable(name)
        self.isHidden = isHidden
        self.isSecret = isSecret
    }

    /// `BRUME_` and the name.
    private static func usualVariable(_ name: String) -> String {
        "BRUME_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Whether the variable's name has to be told, since the rule for names does not give it.
    var hasUnusualVariable: Bool { variable != Self.usualVariable(name) }

    /// `--name VALUE`, or `VARIABLE=VALUE` where there is no flag.
    var usage: String {
        if isSecret { return "\(variable)=\(placeholder ?? "")" }
        guard let placeholder else { return "--\(name)" }
        return "--\(name) \(placeholder)"
    }

    /// How the option is written that names a file which holds the secret.
    var usageOfFile: String { "--\(name)-file FILE" }
}
