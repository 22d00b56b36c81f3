internal import BrumeSystem
internal import Foundation

/// A recovery code from a terminal, the standard input or a file: never from an argument, which every user of the
/// machine can read. What was read is in no error.
enum RecoveryCodeText {
    static let option = OptionDefinition(
        "secret-file", "FILE", "a file that holds the recovery code in its first line; -: the standard input")

    static let hint = "give the code on the standard input, or in a file that --secret-file (BRUME_SECRET_FILE) names"

    /// A code has some thirty bytes.
    private static let bytesLimit = 4_096

    /// The first line that is not empty.
    static func read(_ invocation: Invocation) throws -> String {
        let path = invocation.text(option.name) ?? "-"
        let bytes: [UInt8]
        if path != "-" {
            // The path is in no error: somebody may have written the code in its place. It may be a pipe.
            guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: bytesLimit) else {
                throw CommandError(
                    FileSystem.exists(path) ? .failed : .notFound,
                    "the file that --secret-file (BRUME_SECRET_FILE) names is missing or can't be read",
                    hint: "name a file that this user may read, with the recovery code in its first line")
            }
            bytes = Array(data)
        } else if invocation.text("token-file") == "-" {
            throw UsageError(
                "the standard input holds the token or the recovery code, not both",
                hint: "name files with --token-file or --secret-file")
        } else if Terminal.isTerminal(Terminal.standardInput) {
            bytes = Array(Terminal.readSecret("recovery code (it is not shown): ").utf8)
        } else {
            bytes = Array((try? FileHandle.standardInput.read(upToCount: bytesLimit)) ?? Data())
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        let line = lines.lazy.map { $0.trimmingCharacters(in: .whitespaces) }.first { !$0.isEmpty }
        guard let line else {
            throw CommandError(
                .failed, "\(path == "-" ? "the standard input" : "the file") holds no recovery code", hint: hint)
        }
        return line
    }
}
