/// What a look at one thing came to.
struct Finding: Sendable {
    enum Severity: String, CaseIterable, Sendable {
        case fine
        /// Worth knowing; nothing has to be done.
        case note
        /// It works, and may not for long, or not for everybody.
        case warning
        /// A server does not start so, or data is in danger.
        case failure
    }

    /// What was looked at.
    let subject: String
    let severity: Severity
    let sentence: String
    /// What to do about it; empty for nothing.
    let remedy: String

    init(_ subject: String, _ sentence: String) { self.init(subject, .fine, sentence) }

    init(_ subject: String, _ severity: Severity, _ sentence: String, remedy: String = "") {
        (self.subject, self.severity, self.sentence, self.remedy) = (subject, severity, sentence, remedy)
    }

    func lines(_ style: Style) -> [String] {
        let word = severity.rawValue
        let shown =
            switch severity {
            case .fine: style.green(word)
            case .note: style.dim(word)
            case .warning: style.bold(word)
            case .failure: style.red(word)
            }
        let gap = String(repeating: " ", count: 9 - word.count)
        let first = "\(shown)\(gap)\(subject): \(sentence)"
        return remedy.isEmpty ? [first] : [first, "         \(remedy)"]
    }

    var json: JSONValue {
        .object([
            ("subject", .string(subject)), ("severity", .string(severity.rawValue)), ("sentence", .string(sentence)),
            ("remedy", .string(remedy)),
        ])
    }
}
