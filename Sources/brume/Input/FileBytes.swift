internal import Foundation

/// A file as bytes: mapped, so that a large one is not copied into memory. `-` is the standard input.
enum FileBytes {
    static func read(_ path: String) throws(CommandError) -> Data {
        do {
            if path == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
            return try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            let exists = FileManager.default.fileExists(atPath: path)
            throw CommandError(
                exists ? .failed : .notFound, exists ? "\(path) can't be read" : "there is no file \(path)",
                hint: exists ? "check its permissions, and that it is a file" : "")
        }
    }
}
