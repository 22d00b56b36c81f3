/// Why a command failed: what was wrong, what to do about it, and the exit code.
struct CommandError: Error, Equatable, Sendable {
    let code: ExitCode
    let message: String
    /// What to do next; empty when the message says it.
    let hint: String

    init(_ code: ExitCode, _ message: String, hint: String = "") {
        self.code = code
        self.message = message
        self.hint = hint
    }
}
