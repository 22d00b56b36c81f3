internal import Glibc

/// The real disk, by paths. Every error names call and path.
package enum FileSystem {
    /// - Returns: Whether something, of whatever kind, is at `path`.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    package static func size(_ path: String) throws(SystemError) -> Int {
        var status = stat()
        try SystemCall.run("stat", path) { stat(path, &status) }
        return Int(status.st_size)
    }

    /// The permission bits, such as `0o600`.
    package static func permissions(_ path: String) throws(SystemError) -> UInt32 {
        var status = stat()
        try SystemCall.run("stat", path) { stat(path, &status) }
        return status.st_mode & 0o7777
    }

    /// The user that owns it.
    package static func owner(_ path: String) throws(SystemError) -> UInt32 {
        var status = stat()
        try SystemCall.run("stat", path) { stat(path, &status) }
        return status.st_uid
    }

    /// Reads a whole file.
    /// - Parameter limit: The most bytes it may have; a larger one is an error and is not read.
    package static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = try File(path: path, mode: .read)
        let size = try file.size()
        func tooLarge() -> SystemError {
            SystemError(call: "read", errno: EFBIG, context: path, message: "larger than \(limit) bytes")
        }
        guard size <= limit else { throw tooLarge() }
        // One byte more than it has, so that a file which grows meanwhile is noticed.
        var bytes = [UInt8](repeating: 0, count: size + 1)
        var count = 0
        while true {
            var failure: SystemError?
            let read = bytes.withUnsafeMutableBytes { buffer -> Int in
                do throws(SystemError) {
                    return try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), at: count)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            count += read
            guard count == bytes.count else { break }
            guard count <= limit else { throw tooLarge() }
            bytes.append(contentsOf: repeatElement(0, count: min(bytes.count, limit + 1 - count)))
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Puts a whole file in place, or nothing at all: written under a temporary name, synced, renamed, folder synced.
    ///
    /// A temporary file that a crash left behind has a name that ends in `.tmp`, and is replaced by the next attempt.
    /// Callers must not replace the same path twice at a time, be it from two processes: they would share the
    /// temporary file, and one could put in place what the other has only half written.
    package static func atomicReplace(_ path: String, _ bytes: [UInt8], permissions: UInt32 = 0o600) throws(SystemError)
    {
        let temporary = path + ".tmp"
        do throws(SystemError) {
            try? remove(temporary)
            let file = try File(path: temporary, mode: .createExclusively, permissions: permissions)
            defer { file.close() }
            // The umask may have taken bits away.
            try file.setPermissions(permissions)
            try writeAll(bytes, file)
            try file.sync()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        try syncDirectory(directory(of: path))
    }

    private static func writeAll(_ bytes: [UInt8], _ file: File) throws(SystemError) {
        let result = bytes.withUnsafeBytes { buffer -> Result<Void, SystemError> in
            do throws(SystemError) {
                return .success(try file.write(buffer, at: 0))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    package static func rename(_ path: String, to target: String) throws(SystemError) {
        try SystemCall.run("rename", "\(path) to \(target)") { Glibc.rename(path, target) }
    }

    /// Removes a file.
    package static func remove(_ path: String) throws(SystemError) {
        try SystemCall.run("unlink", path) { unlink(path) }
    }

    /// Removes an empty folder.
    package static func removeDirectory(_ path: String) throws(SystemError) {
        try SystemCall.run("rmdir", path) { rmdir(path) }
    }

    /// Removes what is at `path`: a file, a link but not its target, or a folder with everything in it. Succeeds when
    /// nothing is there.
    package static func removeTree(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try remove(path)
        } catch {
            if error.isNotFound { return }
            guard error.errno == EISDIR else { throw error }
            for name in try list(path) { try removeTree(path + "/" + name) }
            try removeDirectory(path)
        }
    }

    /// Makes a folder. Succeeds when it exists already.
    package static func makeDirectory(_ path: String, permissions: UInt32 = 0o700) throws(SystemError) {
        do throws(SystemError) {
            try SystemCall.run("mkdir", path) { mkdir(path, permissions) }
        } catch {
            guard error.isExisting, isDirectory(path) else { throw error }
        }
    }

    /// Makes a folder with those above it that are missing. Succeeds when it exists already.
    package static func makeDirectoryTree(_ path: String, permissions: UInt32 = 0o777) throws(SystemError) {
        if isDirectory(path) { return }
        let parent = directory(of: path)
        if !exists(parent), parent != path { try makeDirectoryTree(parent, permissions: permissions) }
        try makeDirectory(path, permissions: permissions)
    }

    /// Makes a folder and makes its name durable, even if the folder exists already: the process that made it may have
    /// ended before it synced the name.
    ///
    /// A folder that exists inside one that this process may not read is left alone: another user is responsible for
    /// it.
    package static func makeDurableDirectory(_ path: String) throws(SystemError) {
        let isThere = isDirectory(path)
        try makeDirectory(path)
        do throws(SystemError) {
            try syncDirectory(directory(of: path))
        } catch {
            guard isThere, error.errno == EACCES || error.errno == EPERM else { throw error }
        }
    }

    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The names in a folder, sorted, without `.` and `..`.
    package static func list(_ path: String) throws(SystemError) -> [String] {
        guard let stream = opendir(path) else { throw SystemError(call: "opendir", errno: errno, context: path) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError(call: "readdir", errno: errno, context: path) }
                return names.sorted()
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    /// Makes the names in a folder durable: files that were made, renamed or removed.
    ///
    /// One that can't be opened for it is not synced either: the error is that of a failed sync.
    package static func syncDirectory(_ path: String) throws(SystemError) {
        let fd = try SystemCall.run("fsync", path) { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { SystemCall.close(fd) }
        try SystemCall.run("fsync", path) { fsync(fd) }
    }

    /// The bytes that an unprivileged process can still write on the disk of `path`.
    package static func availableBytes(_ path: String) throws(SystemError) -> Int {
        Int(clamping: try space(path).available)
    }

    /// The bytes that an unprivileged process can still write on the disk of `path`, and those that it could write to
    /// an empty one.
    package static func space(_ path: String) throws(SystemError) -> (available: UInt64, total: UInt64) {
        var status = statvfs()
        try SystemCall.run("statvfs", path) { statvfs(path, &status) }
        func bytes(_ blocks: UInt64) -> UInt64 {
            blocks.multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
        }
        return (bytes(UInt64(status.f_bavail)), bytes(UInt64(status.f_blocks)))
    }

    /// The folder that holds `path`, which may end in slashes.
    package static func directory(of path: String) -> String {
        var path = path[...]
        while path.utf8.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
