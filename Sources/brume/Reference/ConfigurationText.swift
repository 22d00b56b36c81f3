/// A file with every option of `brume serve`: those that are given as lines, the others in comments with their
/// defaults.
enum ConfigurationText {
    /// The options that a file can hold.
    static let options = ServeCommand.options.filter { !$0.isHidden && !$0.isSecret }

    /// - Parameter values: Those of options that are not at their defaults.
    static func text(setting values: [String: [String]]) -> String {
        var text = """
            # Options of the server, one on a line: key = value. A line that begins with # is a comment; here each
            # option that is not set has one with its default. See brume.conf(5) and brume-serve(1).

            """
        for option in options {
            text += "\n" + Self.wrapped(option.described(variable: nil)).map { "# \($0)\n" }.joined()
            if let values = values[option.name] {
                for value in values { text += "\(option.name) = \(quoted(value))\n" }
            } else if option.placeholder == nil {
                text += "#\(option.name) = false\n"
            } else {
                text += "#\(option.name) =\(option.fallback.map { " \($0)" } ?? "")\n"
            }
        }
        return text
    }

    /// A value as a line of a file has it: where it has quotes or spaces at its ends, in quotes.
    static func quoted(_ value: String) -> String {
        let isPlain = value.first?.isWhitespace != true && value.last?.isWhitespace != true && value.first != "\""
        return isPlain ? value : "\"\(value)\""
    }

    private static func wrapped(_ text: String) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines.count - 1
            if lines[last].isEmpty {
                lines[last] = String(word)
            } else if lines[last].count + 1 + word.count <= 98 {
                lines[last] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
