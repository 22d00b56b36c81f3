/// An invalid command line: one line that says why, and where to look. Exit code 2.
struct UsageError: Error, Equatable, Sendable {
    let message: String
    /// What to try, a whole sentence or command line; empty when there is nothing better than the help.
    let hint: String
    /// Exit code 2, but for a file that the command line names and that is missing.
    let code: ExitCode

    init(_ message: String, hint: String, code: ExitCode = .usage) {
        self.message = message
        self.hint = hint
        self.code = code
    }

    init(_ message: String, command: CommandDefinition) {
        self.init(message, hint: "see: brume \(command.name) --help")
    }
}
