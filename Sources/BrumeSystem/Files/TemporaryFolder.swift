internal import BrumeLock
internal import Glibc

/// A folder with a unique name, among the system's temporary ones, that only its owner can read.
///
/// It is removed by ``remove()`` or ``removeAll()``, otherwise when the process ends by `exit`.
package struct TemporaryFolder: Sendable {
    package let path: String

    private static let paths = Lock<Set<String>>([])
    /// Once in a process.
    private static let registration = atexit { TemporaryFolder.removeAll() }

    /// What TMPDIR names, without a slash at its end, else `/tmp`.
    package static var parent: String {
        guard let value = getenv("TMPDIR"), value.pointee != 0 else { return "/tmp" }
        let path = String(cString: value)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// - Parameter prefix: The beginning of its name, which a hyphen and a unique part follow.
    package init(prefix: String) throws(SystemError) {
        let parent = TemporaryFolder.parent
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(call: "mkdtemp", errno: errno, context: parent) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        _ = TemporaryFolder.registration
        _ = TemporaryFolder.paths.withLock { $0.insert(path) }
    }

    /// Removes the folder with all that is in it, as far as that can be done. May be called again.
    package func remove() {
        TemporaryFolder.remove(path)
        let path = path
        _ = TemporaryFolder.paths.withLock { $0.remove(path) }
    }

    /// Removes all folders that this process has made. Another thread that does the same waits, so that the process
    /// does not end first.
    package static func removeAll() {
        paths.withLock { paths in
            for path in paths { remove(path) }
            paths = []
        }
    }

    /// Removes a folder. Tries twice, because another process that is about to end may write a file meanwhile.
    private static func remove(_ path: String) {
        for _ in 0..<2 where FileSystem.exists(path) { try? FileSystem.removeTree(path) }
    }
}
