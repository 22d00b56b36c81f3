internal import Glibc

/// Keeps other processes out of a folder: `flock` on a file named `lock` in it.
///
/// The kernel releases the lock when the process ends, however it ends; the file stays and has no meaning by itself.
package final class DirectoryLock: Sendable {
    private let file: File

    /// - Throws: `isExisting` when another process (or another lock in this one) holds it.
    package init(directory: String) throws(SystemError) {
        file = try Self.file(directory)
        guard try file.tryLock() else {
            throw SystemError(
                call: "flock", errno: EEXIST, context: file.path,
                message: "another process uses this folder; stop it first or choose another folder")
        }
    }

    /// What root makes belongs to the folder's owner, whose server could not open it otherwise. What was there may be
    /// another name of any file, and stays whose it is.
    private static func file(_ directory: String) throws(SystemError) -> File {
        let path = directory + "/lock"
        do throws(SystemError) {
            let file = try File(path: path, mode: .createExclusively, permissions: 0o600)
            if geteuid() == 0 { try file.giveToOwner(of: directory) }
            return file
        } catch {
            guard error.isExisting else { throw error }
            return try File(path: path, mode: .readWriteRegular)
        }
    }

    deinit { release() }

    /// Releases the lock. May be called again.
    package func release() { file.unlockAndClose() }
}
