/// A parsed command line: the command's arguments, and its options with the values in force.
struct Invocation: Sendable {
    let command: CommandDefinition
    let arguments: [String]
    /// The values in force, in order; a flag that is on has "true".
    var values: [String: [String]]
    /// The options that stand in the command line itself.
    var flags: Set<String> = []
    /// From where each value comes.
    var origins: [String: OptionOrigin] = [:]
    /// The configuration file that was read; nil for none.
    var configurationPath: String?

    /// The option's value, or its default, or nil.
    func text(_ name: String) -> String? {
        precondition(command.option(named: name) != nil, "\(command.name) has no option --\(name)")
        return values[name]?.last
    }

    /// All values of an option that repeats.
    func texts(_ name: String) -> [String] {
        precondition(command.option(named: name) != nil, "\(command.name) has no option --\(name)")
        return values[name] ?? []
    }

    func isOn(_ name: String) -> Bool { text(name) == "true" }

    /// The option's value as a whole number within `range`.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "--\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"",
                command: command)
        }
        return number
    }

    /// The option's value as a number of bytes: a whole number, with KiB, MiB, GiB, TiB or no unit.
    func byteSize(_ name: String) throws(UsageError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let size = ByteSize(text) else {
            throw UsageError("--\(name) takes \(ByteSize.form), not \"\(text)\"", command: command)
        }
        return size.bytes
    }

    /// The option's value as a number within `range`.
    func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = text(name) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw UsageError(
                "--\(name) takes a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound)), "
                    + "not \"\(text)\"",
                command: command)
        }
        return number
    }

    private static func text(_ number: Double) -> String { Int(exactly: number).map { String($0) } ?? String(number) }

    /// The option's value, which the command can't do without.
    func required(_ name: String) throws(UsageError) -> String {
        guard let text = text(name), !text.isEmpty else {
            let option = command.option(named: name)
            throw UsageError(
                option?.isSecret == true
                    ? "\(command.name) needs the variable \(option?.variable ?? ""), or \(option?.usageOfFile ?? "")"
                    : "\(command.name) needs \(option?.usage ?? name) (or the variable \(option?.variable ?? ""))",
                command: command)
        }
        return text
    }
}
