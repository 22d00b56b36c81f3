internal import Glibc

/// Memory of the process.
package enum Memory {
    /// Takes the pages of a range from the system at once, if it can: the range is about to be written, and taking a
    /// page at a time costs more. The content stays.
    package static func populate(_ range: UnsafeMutableRawBufferPointer) {
        guard let base = range.baseAddress else { return }
        let pageBytes = Int(getpagesize())
        let start = UInt(bitPattern: base) / UInt(pageBytes) * UInt(pageBytes)
        let count = Int(UInt(bitPattern: base) + UInt(range.count) - start) / pageBytes * pageBytes
        // An older system knows no such advice, and gives the pages as they are touched.
        if count > 0 { madvise(UnsafeMutableRawPointer(bitPattern: start), count, populateForWriting) }
    }

    /// MADV_POPULATE_WRITE.
    private static let populateForWriting: Int32 = 23
}
