/// What one segment holds, checked: where its batches are, and where the next one goes.
struct SegmentScan: Sendable {
    struct Batch: Equatable, Sendable {
        let number: UInt64
        let offset: Int
        /// The entries' lengths and bytes.
        let body: Range<Int>
        /// The end of the batch, after the padding.
        let end: Int
        let entryCount: UInt32
    }

    private(set) var batches: [Batch] = []
    /// The end of the last batch.
    private(set) var end: Int
    private(set) var nextBatch: UInt64
    /// The CRC field of the last batch.
    private(set) var lastCRC: UInt32
    /// The number of bytes after `end` that a torn batch left; 0 for none.
    private(set) var tornBytes = 0

    /// Scans a segment whose header has been checked.
    ///
    /// - Parameter isLast: Whether the segment is the journal's last, so that its last batch may be torn.
    init(_ bytes: [UInt8], header: SegmentHeader, file: String, isLast: Bool) throws(StoreError) {
        end = JournalFormat.segmentHeaderBytes
        nextBatch = header.firstBatch
        lastCRC = header.previousCRC
        while let batch = SegmentScan.batch(in: bytes, at: end, of: header) {
            guard batch.number == nextBatch, bytes.integer(at: end + 32, as: UInt32.self) == lastCRC else {
                throw .damaged(
                    Damage(
                        file: file, offset: UInt64(end),
                        problem: "batch \(batch.number) stands where batch \(nextBatch) belongs"))
            }
            batches.append(batch)
            lastCRC = bytes.integer(at: end + 4)
            nextBatch += 1
            end = batch.end
        }
        guard let lastWritten = bytes.lastNonzeroIndex(from: end) else { return }
        let follows = SegmentScan.offsetOfBatch(in: bytes, from: end, of: header)
        if let follows {
            throw .damaged(
                Damage(
                    file: file, offset: UInt64(end),
                    problem: "batch \(nextBatch) can't be read, but another follows it at byte \(follows)"))
        }
        guard isLast else {
            throw .damaged(
                Damage(
                    file: file, offset: UInt64(end),
                    problem: "batch \(nextBatch) can't be read, but another segment follows"))
        }
        if header.version > 1 {
            let tail = TornTail(
                bytes: bytes, segment: header, start: end, lastWritten: lastWritten, nextBatch: nextBatch,
                lastCRC: lastCRC)
            if let problem = tail.problem {
                throw .damaged(Damage(file: file, offset: UInt64(end), problem: problem))
            }
        }
        tornBytes = lastWritten + 1 - end
    }

    /// The whole, undamaged batch at `offset`, or nil.
    private static func batch(in bytes: [UInt8], at offset: Int, of segment: SegmentHeader) -> Batch? {
        guard let header = BatchHeader(in: bytes, at: offset, of: segment) else { return nil }
        let end = offset + header.batchBytes
        guard end <= bytes.count, bytes.checksum(offset + 8..<end) == header.crc else { return nil }
        let bodyStart = offset + header.byteCount
        return Batch(
            number: header.number, offset: offset, body: bodyStart..<bodyStart + header.bodyBytes, end: end,
            entryCount: header.entryCount)
    }

    private static func offsetOfBatch(in bytes: [UInt8], from start: Int, of segment: SegmentHeader) -> Int? {
        var offset = start + JournalFormat.alignment
        while offset < bytes.count {
            if batch(in: bytes, at: offset, of: segment) != nil { return offset }
            offset += JournalFormat.alignment
        }
        return nil
    }
}

extension SegmentScan.Batch {
    /// The encoded entries, one after another.
    func forEachEntry(
        in bytes: [UInt8], file: String, _ body: (_ entry: [UInt8], _ offset: Int) throws(StoreError) -> Void
    ) throws(StoreError) {
        var offset = self.body.lowerBound
        for _ in 0..<entryCount {
            guard offset + 4 <= self.body.upperBound else { throw lengthDamage(file, offset) }
            let length = Int(bytes.integer(at: offset, as: UInt32.self))
            guard offset + 4 + length <= self.body.upperBound else { throw lengthDamage(file, offset) }
            try body(Array(bytes[offset + 4..<offset + 4 + length]), offset)
            offset += 4 + length
        }
        guard offset == self.body.upperBound else { throw lengthDamage(file, offset) }
    }

    private func lengthDamage(_ file: String, _ offset: Int) -> StoreError {
        .damaged(
            Damage(file: file, offset: UInt64(offset), problem: "the lengths of the entries and of their batch differ"))
    }
}
