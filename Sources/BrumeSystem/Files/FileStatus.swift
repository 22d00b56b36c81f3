internal import Glibc

/// What the file system says about a file.
package struct FileStatus: Equatable, Sendable {
    package let isRegular: Bool
    /// The time of the last read, in nanoseconds since 1970. Many file systems note only some reads.
    package let accessedNanoseconds: Int64
    package let version: FileVersion

    init(_ status: stat) {
        isRegular = status.st_mode & S_IFMT == S_IFREG
        accessedNanoseconds = FileStatus.nanoseconds(status.st_atim)
        version = FileVersion(
            byteCount: Int(status.st_size), modifiedNanoseconds: FileStatus.nanoseconds(status.st_mtim),
            inode: UInt64(status.st_ino), device: UInt64(status.st_dev))
    }

    // A file may claim any second: the result wraps instead of trapping, and still differs where the times do.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// What differs when a file was edited, or replaced by another one.
///
/// An edit that keeps the size and falls into the same step of the kernel's clock as the one before it (a few
/// milliseconds) leaves the version equal, and so does a program that sets the time back.
package struct FileVersion: Hashable, Sendable {
    package let byteCount: Int
    /// Since 1970.
    package let modifiedNanoseconds: Int64
    package let inode: UInt64
    package let device: UInt64

    package init(byteCount: Int, modifiedNanoseconds: Int64, inode: UInt64, device: UInt64) {
        self.byteCount = byteCount
        self.modifiedNanoseconds = modifiedNanoseconds
        self.inode = inode
        self.device = device
    }
}

extension FileSystem {
    /// The status of a file, or of the file that a link leads to.
    package static func status(_ path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        try SystemCall.run("stat", path) { stat(path, &status) }
        return FileStatus(status)
    }

    /// Sets the time of the last read, in nanoseconds since 1970, and leaves the file's version as it is.
    package static func setAccessTime(_ path: String, nanoseconds: Int64) throws(SystemError) {
        let times = [timespec(nanoseconds: nanoseconds), timespec.unchanged]
        try SystemCall.run("utimensat", path) { utimensat(AT_FDCWD, path, times, 0) }
    }
}

extension File {
    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try SystemCall.run("fstat", path) { fstat(fd, &status) }
        return FileStatus(status)
    }

    /// Sets the times of the last read and of the last change, in nanoseconds since 1970.
    package func setTimes(accessedNanoseconds: Int64, modifiedNanoseconds: Int64) throws(SystemError) {
        let times = [timespec(nanoseconds: accessedNanoseconds), timespec(nanoseconds: modifiedNanoseconds)]
        try SystemCall.run("futimens", path) { futimens(fd, times) }
    }

    /// Locks the file against other openers of it that ask, in this process and others; released by `unlockAndClose()`
    /// or when the process ends.
    ///
    /// - Returns: False if another one has it.
    package func tryLock() throws(SystemError) -> Bool {
        do throws(SystemError) {
            try SystemCall.run("flock", path) { flock(fd, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            guard error.errno == EWOULDBLOCK else { throw error }
            return false
        }
    }
}

extension timespec {
    /// Leaves a file's time as it is: `UTIME_OMIT`, a macro that Swift does not import.
    fileprivate static var unchanged: timespec { timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2) }

    fileprivate init(nanoseconds: Int64) {
        // The kernel wants the part of a second to be positive, before 1970 too.
        let second: Int64 = 1_000_000_000
        let part = (nanoseconds % second + second) % second
        self.init(tv_sec: Int((nanoseconds - part) / second), tv_nsec: Int(part))
    }
}
