/// What one segment holds, checked: where its batches are, and where the next one goes.
struct SegmentScan: Sendable {
    struct Batch: Equatable, Sendable {
        let number: UInt64
        let offset: Int
        /// The entries' lengths and bytes.
        let body: Range<Int>
        let entryCount: UInt32
    }

    private(set) var batches: [Batch] = []
    /// Behind the last batch.
    private(set) var end: Int
    private(set) var nextBatch: UInt64
    /// The CRC field of the last batch.
    private(set) var lastCRC: UInt32
    /// Bytes behind `end` that a torn batch left; 0: none.
    private(set) var tornBytes = 0

    /// Scans a segment whose header has been checked.
    ///
    /// - Parameter isLast: Whether the segment is the journal's last, so that its last batch may be torn.
    init(_ bytes: [UInt8], header: SegmentHeader, file: String, isLast: Bool) throws(StoreError) {
        end = JournalFormat.segmentHeaderBytes
        nextBatch = header.firstBatch
        lastCRC = header.previousCRC
        while let batch = SegmentScan.batch(in: bytes, at: end, salt: header.salt) {
            guard batch.number == nextBatch, bytes.integer(at: end + 32, as: UInt32.self) == lastCRC else {
                throw .damaged(
                    Damage(
                        file: file, offset: UInt64(end),
                        problem: "batch \(batch.number) stands where batch \(nextBatch) belongs"))
            }
            batches.append(batch)
            lastCRC = bytes.integer(at: end + 4)
            nextBatch += 1
            end = SegmentScan.aligned(batch.body.upperBound)
        }
        guard let lastWritten = bytes.lastNonzeroIndex(from: end) else { return }
        let follows = SegmentScan.offsetOfBatch(in: bytes, from: end, salt: header.salt)
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
        tornBytes = lastWritten + 1 - end
    }

    /// The whole, undamaged batch at `offset`, or nil.
    private static func batch(in bytes: [UInt8], at offset: Int, salt: UInt64) -> Batch? {
        let bodyStart = offset + JournalFormat.batchHeaderBytes
        guard bodyStart <= bytes.count,
            bytes.integer(at: offset, as: UInt32.self) == JournalFormat.batchMagic,
            bytes.integer(at: offset + 8, as: UInt64.self) == salt
        else {
            return nil
        }
        let length = Int(bytes.integer(at: offset + 24, as: UInt32.self))
        let bodyEnd = bodyStart + length
        guard bodyEnd <= bytes.count, aligned(bodyEnd) <= bytes.count else { return nil }
        guard bytes.checksum(offset + 8..<aligned(bodyEnd)) == bytes.integer(at: offset + 4, as: UInt32.self) else {
            return nil
        }
        return Batch(
            number: bytes.integer(at: offset + 16), offset: offset, body: bodyStart..<bodyEnd,
            entryCount: bytes.integer(at: offset + 28))
    }

    private static func offsetOfBatch(in bytes: [UInt8], from start: Int, salt: UInt64) -> Int? {
        var offset = start + JournalFormat.alignment
        while offset + JournalFormat.batchHeaderBytes <= bytes.count {
            if batch(in: bytes, at: offset, salt: salt) != nil { return offset }
            offset += JournalFormat.alignment
        }
        return nil
    }

    private static func aligned(_ offset: Int) -> Int {
        (offset + JournalFormat.alignment - 1) / JournalFormat.alignment * JournalFormat.alignment
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
