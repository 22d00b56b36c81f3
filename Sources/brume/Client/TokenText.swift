internal import BrumeSystem
internal import Foundation

/// Tokens from a file or from the standard input: never from an argument, which every user of the machine can read.
enum TokenText {
    /// A token has fewer than a hundred bytes; a load test may have a thousand of them.
    private static let bytesLimit = 128 * 1_024

    /// The standard input, which is read only once.
    private static let standardInput: [UInt8] = {
        Array((try? FileHandle.standardInput.read(upToCount: bytesLimit)) ?? Data())
    }()

    /// The first line of a file, or of the standard input for `-`.
    static func read(_ path: String) throws(CommandError) -> String { try readAll(path)[0] }

    /// All lines that are not empty: at least one.
    static func readAll(_ path: String) throws(CommandError) -> [String] {
        let bytes: [UInt8]
        if path == "-" {
            bytes = standardInput
        } else {
            do throws(SystemError) {
                bytes = try FileSystem.read(path, limit: bytesLimit)
            } catch {
                throw CommandError(
                    error.isNotFound ? .notFound : .failed, "the file \(path) of the token can't be read: \(error)",
                    hint: "name the file that holds the token in its first line; brume account token NAME makes a token"
                )
            }
        }
        let name = path == "-" ? "the standard input" : path
        let words = bytes.split { $0 <= 0x20 }
        // No other content of the file is shown: it may be another secret.
        guard !words.isEmpty else { throw CommandError(.failed, "\(name) holds no token") }
        return try words.map { (word) throws(CommandError) in
            guard let text = String(validating: word, as: UTF8.self) else {
                throw CommandError(.failed, "\(name) holds no token, but other bytes")
            }
            return text
        }
    }
}
