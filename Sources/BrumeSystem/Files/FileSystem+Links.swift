internal import CBrume
internal import Glibc

extension File {
    /// Gives the file a second name on its file system, a hard link, wherever its path leads by now. The name is
    /// durable after ``FileSystem/syncDirectory(_:)``.
    ///
    /// - Returns: False where that can't be: the names are on two file systems, this one has no such links, the file
    ///   has as many as it may, or it is another user's.
    package func link(to target: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try SystemCall.run("link", "\(path) to \(target)") {
                linkat(AT_FDCWD, "/proc/self/fd/\(fd)", AT_FDCWD, target, AT_SYMLINK_FOLLOW)
            }
            return true
        } catch {
            if [EXDEV, EMLINK, EPERM, EACCES, EOPNOTSUPP, ENOSYS].contains(error.errno) { return false }
            throw error
        }
    }
}

extension FileSystem {
    /// Whether there is a symbolic link at a path.
    package static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Whether two paths lead to one file or folder; false where one leads to none.
    package static func isSame(_ path: String, _ other: String) -> Bool {
        guard let first = try? status(path).version, let second = try? status(other).version else { return false }
        return first.inode == second.inode && first.device == second.device
    }

    /// Whether a path leads to a folder, or into it at any depth, whatever the two are called. The last part of the
    /// path need not exist.
    package static func stands(_ path: String, in folder: String) -> Bool {
        var path = path
        // As many steps up as a path has parts; the kernel follows links.
        for _ in 0..<256 {
            if isSame(path, folder) { return true }
            let parent = exists(path) ? path + "/.." : directory(of: path)
            if isSame(path, parent) { return false }
            path = parent
        }
        return false
    }

    /// A path that begins at the root and has no links in it.
    package static func canonicalPath(_ path: String) throws(SystemError) -> String {
        guard let resolved = realpath(path, nil) else {
            throw SystemError(call: "realpath", errno: errno, context: path)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Makes everything durable that any process has written to the file system of `path` until now.
    package static func syncFileSystem(of path: String) throws(SystemError) {
        let fd = try SystemCall.run("open", path) { open(path, O_RDONLY | O_CLOEXEC) }
        defer { SystemCall.close(fd) }
        try SystemCall.run("syncfs", path) { brume_sync_file_system(fd) }
    }
}
