internal import Foundation
internal import Synchronization

/// A folder under the system's temporary one that goes when the process ends, also by `exit`.
enum TemporaryFolder {
    private static let paths = Mutex<[String]>([])

    /// Makes a folder that only its owner can read.
    static func make(prefix: String) throws(CommandError) -> String {
        let root = NSTemporaryDirectory()
        var template = Array(((root.hasSuffix("/") ? root : root + "/") + prefix + "-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandError(.failed, "no folder can be made in \(root)", hint: "check TMPDIR and the free space")
        }
        let path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let isFirst = paths.withLock { paths in
            paths.append(path)
            return paths.count == 1
        }
        if isFirst { atexit { TemporaryFolder.removeAll() } }
        return path
    }

    /// Removes all folders that were made. Another thread that does the same waits, so that the process does not end first.
    static func removeAll() {
        paths.withLock { paths in
            for path in paths { try? FileManager.default.removeItem(atPath: path) }
            paths = []
        }
    }
}
