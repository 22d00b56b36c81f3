/// Tells the torn tail of a journal from damage: what stands in the last segment where a whole batch is missing.
///
/// Everything after the last batch was zero, and synced, before another one was written there. A disk writes a sector
/// (512 bytes) whole or not at all. So of a batch that was being written when the power failed, some sectors are still
/// zero, and the others as they should be. A batch that lacks none of its sectors, and is wrong all the same, was
/// damaged later. So was a batch after which something stands: the next one is written when the sync of this one has
/// returned.
///
/// The header says how many of the batch's sectors are zero by their content, and the batch's last byte never is: so a
/// missing sector shows. What is left undecided is a synced batch of which whole sectors became zero; ``JournalExtent``
/// knows most of those.
struct TornTail {
    /// The bytes of the last segment, whose batches are of version 2.
    let bytes: [UInt8]
    let segment: SegmentHeader
    /// The end of the last whole batch.
    let start: Int
    /// The last byte that is not zero.
    let lastWritten: Int
    let nextBatch: UInt64
    let lastCRC: UInt32

    /// Why it is damage; nil when it is what a write leaves that was cut off.
    var problem: String? {
        if let (number, offset) = laterBatch {
            return "batch \(nextBatch) can't be read, but batch \(number) begins at byte \(offset)"
        }
        guard let header = BatchHeader(in: bytes, at: start, of: segment) else { return problemWithoutHeader }
        guard header.number == nextBatch, header.previousCRC == lastCRC else {
            return "batch \(header.number) stands where batch \(nextBatch) belongs"
        }
        let end = start + header.batchBytes
        if end > bytes.count { return "the file ends inside of batch \(nextBatch)" }
        if lastWritten >= end { return "batch \(nextBatch) can't be read, but something follows it" }
        // Its end is missing …
        if lastWritten < end - 1 { return nil }
        // … or a sector before it.
        if bytes.countOfZeroSectors(in: start..<end) > header.zeroSectors { return nil }
        return "batch \(nextBatch) is all there, and its checksum is wrong"
    }

    /// A batch that was begun after the one that can't be read.
    private var laterBatch: (number: UInt64, offset: Int)? {
        var offset = start + JournalFormat.alignment
        while offset <= lastWritten {
            if let header = BatchHeader(in: bytes, at: offset, of: segment) { return (header.number, offset) }
            offset += JournalFormat.alignment
        }
        return nil
    }

    private var problemWithoutHeader: String? {
        let headerEnd = start + JournalFormat.batchHeaderBytes(version: segment.version)
        let boundary = (start / JournalFormat.sectorBytes + 1) * JournalFormat.sectorBytes
        if bytes.isZero(start..<min(boundary, bytes.count)) { return nil }
        if headerEnd > boundary, bytes.isZero(boundary..<min(boundary + JournalFormat.sectorBytes, bytes.count)) {
            return nil
        }
        // A system that was cut off may have left less than a sector.
        if lastWritten < headerEnd - 1, isBeginningOfHeader { return nil }
        return "batch \(nextBatch) can't be read, and this is not what a cut write leaves of it"
    }

    /// Whether what is there, up to the last byte that is not zero, is how the header of the next batch begins.
    private var isBeginningOfHeader: Bool {
        var expected: [UInt8?] = []
        func known(_ value: some FixedWidthInteger) {
            Swift.withUnsafeBytes(of: value.littleEndian) { bytes in expected += bytes.map { $0 } }
        }
        func unknown(_ count: Int) { expected += [UInt8?](repeating: nil, count: count) }
        known(JournalFormat.batchMagic)
        unknown(4)
        known(segment.salt)
        known(nextBatch)
        unknown(8)
        known(lastCRC)
        return zip(start...lastWritten, expected).allSatisfy { $1 == nil || bytes[$0] == $1 }
    }
}

extension [UInt8] {
    /// Whether all bytes of a part are zero.
    func isZero(_ range: Range<Int>) -> Bool {
        withUnsafeBytes { bytes in
            var index = range.lowerBound
            while index + 8 <= range.upperBound {
                if bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) != 0 { return false }
                index += 8
            }
            while index < range.upperBound {
                if bytes[index] != 0 { return false }
                index += 1
            }
            return true
        }
    }

    /// How many sectors of a file have nothing but zeros in a part of it. The array begins at `fileOffset` of the file.
    func countOfZeroSectors(in range: Range<Int>, fileOffset: Int = 0) -> Int {
        var count = 0
        var start = range.lowerBound
        while start < range.upperBound {
            let sector = (start + fileOffset) / JournalFormat.sectorBytes
            let end = Swift.min((sector + 1) * JournalFormat.sectorBytes - fileOffset, range.upperBound)
            if isZero(start..<end) { count += 1 }
            start = end
        }
        return count
    }
}
