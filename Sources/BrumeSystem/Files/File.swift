internal import CBrume
internal import Glibc
internal import Synchronization

/// An open file. Offsets are arguments, so that threads may share one.
///
/// `close()` may be called again; a file that is let go closes itself. Errors name call and path.
package final class File: Sendable {
    package enum Mode: Sendable {
        /// The file must exist.
        case read
        /// The file must exist and be a regular file. Opening never waits, as it would for a pipe without a writer.
        case readRegular
        /// Must exist, and be no link, which might lead anywhere.
        case write
        /// Made when it does not exist.
        case readWrite
        /// Made when it does not exist, else a regular file. What is there and is a link, which might lead anywhere, is
        /// an error.
        case readWriteRegular
        /// Must not exist yet.
        case createExclusively
    }

    package let path: String
    private let descriptor: Atomic<Int32>

    /// - Parameter permissions: The permissions of a new file, before the process's umask is applied.
    package init(path: String, mode: Mode, permissions: UInt32 = 0o600) throws(SystemError) {
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .readRegular: O_RDONLY | O_NONBLOCK | O_NOCTTY
            case .write: O_RDWR | O_NOFOLLOW
            case .readWrite: O_RDWR | O_CREAT
            case .readWriteRegular: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
            case .createExclusively: O_RDWR | O_CREAT | O_EXCL
            }
        let fd = try SystemCall.run("open", path) { open(path, flags | O_CLOEXEC, permissions) }
        self.path = path
        descriptor = Atomic(fd)
        // An error that is thrown from here on closes the file.
        if mode == .readRegular || mode == .readWriteRegular, try !status().isRegular {
            throw SystemError(call: "open", errno: 0, context: path, message: "it is not a regular file")
        }
    }

    deinit { close() }

    /// The descriptor. Using a file after `close()` is our own bug.
    var fd: Int32 {
        let fd = descriptor.load(ordering: .relaxed)
        precondition(fd >= 0, "the file is closed")
        return fd
    }

    /// Closes without syncing. No other call may be in progress.
    package func close() {
        let fd = descriptor.exchange(-1, ordering: .relaxed)
        if fd >= 0 { SystemCall.close(fd) }
    }

    /// Releases a `flock`, and closes.
    ///
    /// Closing alone releases it only when the last copy of the descriptor is closed, and a process that another thread
    /// is just starting has a copy until it runs its program.
    package func unlockAndClose() {
        let fd = descriptor.exchange(-1, ordering: .relaxed)
        guard fd >= 0 else { return }
        flock(fd, LOCK_UN)
        SystemCall.close(fd)
    }

    package func size() throws(SystemError) -> Int {
        var status = stat()
        try SystemCall.run("fstat", path) { fstat(fd, &status) }
        return Int(status.st_size)
    }

    /// Reads at an offset until `target` is full or the file ends.
    /// - Returns: How many bytes were read.
    package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try SystemCall.transferAll("pread", path, count: target.count) { done, remaining in
            pread(fd, target.baseAddress! + done, remaining, off_t(offset + done))
        }
    }

    /// Writes all of `bytes` at an offset.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        let written = try SystemCall.transferAll("pwrite", path, count: bytes.count) { done, remaining in
            pwrite(fd, bytes.baseAddress! + done, remaining, off_t(offset + done))
        }
        guard written == bytes.count else {
            throw SystemError(call: "pwrite", errno: EIO, context: path, message: "the disk took only a part")
        }
    }

    /// Makes the content durable, and the size where it changed.
    ///
    /// After a failure the state of the file is unknown: do not go on, and do not call it again (the kernel may have
    /// dropped what it could not write).
    package func syncData() throws(SystemError) {
        try SystemCall.run("fdatasync", path) { fdatasync(fd) }
    }

    /// Starts writing `range` to the disk, and waits for what was started before it. This makes nothing durable.
    ///
    /// Does nothing on file systems that don't support it.
    package func writeBack(_ range: Range<Int>) throws(SystemError) {
        func call(_ range: Range<Int>, waits: Bool) throws(SystemError) {
            do throws(SystemError) {
                try SystemCall.run("sync_file_range", path) {
                    brume_write_back(fd, Int64(range.lowerBound), Int64(range.count), waits)
                }
            } catch {
                if ![EINVAL, ENOSYS, EOPNOTSUPP].contains(error.errno) { throw error }
            }
        }
        // A length of 0 would mean the whole file.
        if range.isEmpty { return }
        if range.lowerBound > 0 { try call(0..<range.lowerBound, waits: true) }
        try call(range, waits: false)
    }

    /// Makes content and metadata durable. The same holds after a failure.
    package func sync() throws(SystemError) {
        try SystemCall.run("fsync", path) { fsync(fd) }
    }

    /// Makes it the folder's owner's, and of its group. For root alone.
    package func giveToOwner(of directory: String) throws(SystemError) {
        var status = stat()
        try SystemCall.run("stat", directory) { stat(directory, &status) }
        try SystemCall.run("fchown", path) { fchown(fd, status.st_uid, status.st_gid) }
    }

    package func truncate(to size: Int) throws(SystemError) {
        try SystemCall.run("ftruncate", path) { ftruncate(fd, off_t(size)) }
    }

    /// Frees the space of a file, 4 MiB at a time, if the file no longer has a name, links included, and no other
    /// descriptor is open for it: then nobody can read it any more. Any other file stays as it is, and after a failure
    /// the rest is freed when the file is closed.
    ///
    /// A file system may take a quarter of a second to free a gigabyte at once, and syncs of other files wait for that.
    package func giveBack() {
        guard brume_file_becomes_unreachable(fd), var left = try? size() else { return }
        while left > 0, brume_file_is_unreachable(fd) {
            left = max(left - (4 << 20), 0)
            guard (try? truncate(to: left)) != nil else { return }
        }
    }

    /// Fills `range` with zeros by writing them, so that later writes there change no metadata and a full disk is
    /// detected now.
    package func writeZeros(_ range: Range<Int>) throws(SystemError) {
        // Small enough for a core's own cache.
        let zeros = [UInt8](repeating: 0, count: min(range.count, 64 << 10))
        var offset = range.lowerBound
        var writtenBack = offset
        while offset < range.upperBound {
            let count = min(zeros.count, range.upperBound - offset)
            let written = try SystemCall.transferAll("pwrite", path, count: count) { done, remaining in
                zeros.withUnsafeBytes { pwrite(fd, $0.baseAddress! + done, remaining, off_t(offset + done)) }
            }
            guard written == count else {
                throw SystemError(call: "pwrite", errno: EIO, context: path, message: "the disk took only a part")
            }
            offset += count
            if offset - writtenBack >= 1 << 20 {
                try writeBack(writtenBack..<offset)
                writtenBack = offset
            }
        }
    }

    /// Whether the path still leads to this file, and not to another one or to none.
    package func isInPlace() throws(SystemError) -> Bool {
        do throws(SystemError) {
            let named = try FileSystem.status(path).version
            let open = try status().version
            return named.inode == open.inode && named.device == open.device
        } catch {
            guard error.isNotFound else { throw error }
            return false
        }
    }

    package func setPermissions(_ permissions: UInt32) throws(SystemError) {
        try SystemCall.run("fchmod", path) { fchmod(fd, permissions) }
    }
}
