/// Text for the manual's typesetter: the macros of man(7).
enum Roff {
    /// Words as they stand, whatever signs are in them.
    static func text(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            // In a font for manuals these two become typographic ones, which no shell takes.
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            default: escaped.append(character)
            }
        }
        // A dot in front would be a macro.
        return escaped.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix(".") ? "\\&\(line)" : String(line)
        }.joined(separator: "\n")
    }

    static func bold(_ words: String) -> String { "\\fB\(text(words))\\fR" }
    static func italic(_ words: String) -> String { "\\fI\(text(words))\\fR" }

    /// A paragraph with a heading in front.
    static func item(_ heading: String, _ body: String) -> String { ".TP\n\(heading)\n\(text(body))\n" }

    static func section(_ title: String) -> String { ".SH \(text(title.uppercased()))\n" }
    static func part(_ title: String) -> String { ".SS \(text(title))\n" }
    static func paragraph(_ body: String) -> String { ".PP\n\(text(body))\n" }

    /// Lines that stay as they are.
    static func example(_ lines: [String]) -> String {
        ".PP\n.nf\n.RS 4\n" + lines.map { text($0) + "\n" }.joined() + ".RE\n.fi\n"
    }
}
