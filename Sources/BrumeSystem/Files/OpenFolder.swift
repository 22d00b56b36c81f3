internal import Glibc

/// A folder that is held open: ``path`` leads to it, whatever its name leads to meanwhile.
///
/// A disk may be taken away (`umount -l`), or another one be put in its place, while names stay the same. What is done
/// below ``path`` is done on the disk where the folder was found.
package final class OpenFolder: Sendable {
    /// The path by which it was found, for messages.
    package let name: String
    /// Where it is found as long as it is held, through `/proc`.
    package let path: String
    private let fd: Int32

    package init(_ path: String) throws(SystemError) {
        fd = try SystemCall.run("open", path) { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        name = path
        self.path = "/proc/self/fd/\(fd)"
        // An error that is thrown from here on closes the folder.
        guard isNamed else {
            throw SystemError(
                call: "open", errno: 0, context: path,
                message: "it is not found through \(self.path): is /proc mounted?")
        }
    }

    deinit { SystemCall.close(fd) }

    /// Whether the name still leads to it.
    package var isNamed: Bool { FileSystem.isSame(name, path) }
}
