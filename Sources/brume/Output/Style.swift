/// Colours, only where a person looks at them: on a terminal, and not with NO_COLOR (no-color.org) or TERM=dumb.
struct Style: Sendable {
    let isColoured: Bool

    static let plain = Style(isColoured: false)

    static func standardOutput(_ environment: [String: String]) -> Style {
        Style(isColoured: Terminal.isTerminal(Terminal.standardOutput) && allows(environment))
    }

    static func standardError(_ environment: [String: String]) -> Style {
        Style(isColoured: Terminal.isTerminal(Terminal.standardError) && allows(environment))
    }

    static func allows(_ environment: [String: String]) -> Bool {
        (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    func bold(_ text: String) -> String { paint(text, "1") }
    func red(_ text: String) -> String { paint(text, "31") }
    func green(_ text: String) -> String { paint(text, "32") }
    func dim(_ text: String) -> String { paint(text, "2") }

    private func paint(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
