/// What stands before a batch's body; see ``JournalFormat``.
struct BatchHeader: Equatable, Sendable {
    let crc: UInt32
    let number: UInt64
    let bodyBytes: Int
    let entryCount: UInt32
    let previousCRC: UInt32
    /// The number of the file's sectors that have nothing of this batch but zeros; 0 in version 1, which does not count
    /// them.
    let zeroSectors: Int
    private let version: UInt32

    /// Reads the header at `offset`. Returns nil when the bytes are no header of a batch of that segment.
    init?(in bytes: [UInt8], at offset: Int, of segment: SegmentHeader) {
        let count = JournalFormat.batchHeaderBytes(version: segment.version)
        guard offset + count <= bytes.count,
            bytes.integer(at: offset, as: UInt32.self) == JournalFormat.batchMagic,
            bytes.integer(at: offset + 8, as: UInt64.self) == segment.salt
        else { return nil }
        if segment.version > 1 {
            guard bytes.checksum(offset + 8..<offset + 44) == bytes.integer(at: offset + 44, as: UInt32.self) else {
                return nil
            }
        }
        version = segment.version
        crc = bytes.integer(at: offset + 4)
        number = bytes.integer(at: offset + 16)
        bodyBytes = Int(bytes.integer(at: offset + 24, as: UInt32.self))
        entryCount = bytes.integer(at: offset + 28)
        previousCRC = bytes.integer(at: offset + 32)
        zeroSectors = Int(bytes.integer(at: offset + 36, as: UInt32.self))
    }

    var byteCount: Int { JournalFormat.batchHeaderBytes(version: version) }

    /// The size of the whole batch, with header and padding.
    var batchBytes: Int { JournalFormat.paddedCount(byteCount + bodyBytes, version: version) }
}
