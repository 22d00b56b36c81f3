internal import Glibc

/// Keeps other processes out of a folder: `flock` on a file named `lock` in it.
///
/// The kernel releases the lock when the process ends, however it ends; the file stays and has no meaning by itself.
package final class DirectoryLock: Sendable {
    private let file: File

    /// - Throws: `isExisting` when another process (or another lock in this one) holds it.
    package init(directory: String) throws(SystemError) {
        file = try File(path: directory + "/lock", mode: .readWriteRegular)
        guard try file.tryLock() else {
            throw SystemError(
                call: "flock", errno: EEXIST, context: file.path,
                message: "another process uses this folder; stop it first or choose another folder")
        }
    }

    deinit { release() }

    /// Releases the lock. May be called again.
    package func release() { file.unlockAndClose() }
}
