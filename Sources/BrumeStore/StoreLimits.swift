/// The store's own limits, each with its reason. What clients share is in `Limits`.
package enum StoreLimits {
    /// Snapshots that a start reads whole before it serves, all together: a quarter of a second at the speed of the checksum.
    /// Above it the start would keep clients waiting, and they are read behind it.
    package static let startCheckBytes: UInt64 = 256 * 1024 * 1024

    /// Files of those: opening one costs more than reading a small one.
    package static let startCheckFiles = 10_000

    /// Bytes a second that are read behind the start, a small file counted as ``checkedFileBytesMin``: a tenth of what one core
    /// checks, so that the loops don't notice.
    package static let backgroundCheckBytesPerSecond: UInt64 = 32 * 1024 * 1024

    /// Bytes that are read at a time then: what the snapshots' thread may be kept for, some milliseconds.
    package static let backgroundCheckSliceBytes: UInt64 = 1024 * 1024

    /// What a small file counts at least: opening it is a seek.
    package static let checkedFileBytesMin: UInt64 = 4096

    /// What the databases may take that a verification holds at a time. One database is always held, however large it is.
    package static let verificationBytes = 128 * 1024 * 1024

    /// Bytes of a file's content that a block of a backup file holds: large enough for its header to cost nothing.
    package static let backupBlockBytes = 1024 * 1024

    /// Files in one backup file: a reader keeps their names in memory.
    package static let backupFiles = 16_000_000

    /// Bytes of a journal's file in a backup file. Segments are read whole, so a small backup file that would expand to a huge
    /// one is refused; the largest segment that a server may be told to make is half as large.
    package static let backupSegmentBytes: UInt64 = 2 * 1024 * 1024 * 1024

    /// Bytes of a file in a backup file that is neither journal nor snapshot: the account file has the largest.
    package static let backupOtherBytes: UInt64 = 256 * 1024 * 1024

    /// Bytes of a schema file: two texts of the largest size and the members of their roles, with room.
    package static let schemaFileBytes: UInt64 = 64 * 1024 * 1024
}
