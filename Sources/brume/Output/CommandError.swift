internal import BrumeSystem

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

    /// Why a file that the command was to write could not be made.
    init(writing path: String, _ error: SystemError) {
        let folder = FileSystem.directory(of: path)
        if error.isNotFound, !FileSystem.isDirectory(folder) {
            self.init(.notFound, "there is no folder \(folder)", hint: "make it first, or choose another one")
        } else {
            self.init(.failed, "\(path) can't be written: \(error)")
        }
    }

    /// What is wrong with a name in the command line.
    init(name: String, _ problem: String, example: String) {
        self.init(.usage, "\"\(name)\": \(problem), such as \(example)")
    }
}
