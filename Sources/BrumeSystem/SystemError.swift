internal import Glibc

/// A failed system call: its name, its `errno`, and its path or address.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the call, such as `open`.
    package let call: String
    /// The value of `errno` after it, or 0 where the failure is not the kernel's.
    package let errno: Int32
    /// The path or address that the call was about; empty where there is none.
    package let context: String
    /// What was wrong, where `errno` does not say it.
    package let message: String?

    package init(call: String, errno: Int32, context: String = "", message: String? = nil) {
        self.call = call
        self.errno = errno
        self.context = context
        self.message = message
    }

    package var description: String {
        let reason = message ?? SystemError.text(of: errno)
        return context.isEmpty ? "\(call): \(reason)" : "\(call) \(context): \(reason)"
    }

    /// The system's own words for an `errno`.
    static func text(of errno: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            // The XSI form, which fills the buffer, is the one that Swift's Glibc declares.
            guard strerror_r(errno, buffer.baseAddress!, 256) == 0 else { return "error \(errno)" }
            return "\(String(cString: buffer.baseAddress!)) (errno \(errno))"
        }
    }

    /// The file or folder does not exist.
    package var isNotFound: Bool { errno == ENOENT }
    /// Somebody else has the address.
    package var isInUse: Bool { errno == EADDRINUSE }
    /// This user may not do it.
    package var isForbidden: Bool { errno == EACCES || errno == EPERM }
    /// The file exists already, or another process holds the lock.
    package var isExisting: Bool { errno == EEXIST }
    /// No space is left, the quota is used up, or the file is at the process's size limit. Not for a sync: such a sync
    /// has failed like any other.
    package var isDiskFull: Bool { !isFailedSync && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) }
    /// The call was a sync: it is unknown whether what was written, or named, is on the disk, and no later call can
    /// tell.
    package var isFailedSync: Bool { ["fsync", "fdatasync", "sync_file_range"].contains(call) }
}
