/// Reads a journal from its oldest segment to its end, checking every byte; see ``JournalFormat``.
struct JournalReader {
    /// Where an entry stands.
    struct Location: Equatable, Sendable {
        let segment: UInt64
        let file: String
        let offset: UInt64
    }

    /// The end of a journal.
    struct End {
        let header: SegmentHeader
        let scan: SegmentScan
        let length: Int
        let oldestSegment: UInt64
    }

    let disk: any Disk
    /// What has to exist; nil when that is not known, as in folders of version 1.
    let extent: JournalExtent?
    private(set) var segmentCount = 0
    private(set) var batchCount = 0
    private(set) var entryCount = 0

    init(disk: any Disk, extent: JournalExtent?) {
        self.disk = disk
        self.extent = extent
    }

    /// Segment numbers in order. A hole in the row is damage, and so is a segment that is missing at its ends.
    func segments() throws(StoreError) -> [UInt64] {
        let names: [String]
        do throws(DiskError) {
            names = try disk.list(JournalFormat.folder)
        } catch {
            throw .disk(error)
        }
        let numbers = names.compactMap(JournalFormat.segmentNumber(ofFile:)).sorted()
        for (before, number) in zip(numbers, numbers.dropFirst()) where number != before + 1 {
            throw .damaged(
                Damage(missing: JournalFormat.path(ofSegment: before + 1), "the segment is missing"))
        }
        try extent?.check(segments: numbers)
        return numbers
    }

    /// Reads all segments, and gives each encoded entry to `visit`. Returns nil when there is no segment.
    ///
    /// - Parameter other: A file, and the content to use for it in place of its own.
    mutating func read(
        inPlaceOf other: (file: String, bytes: [UInt8])? = nil,
        _ visit: (_ entry: [UInt8], Location) throws(StoreError) -> Void = { _, _ in }
    ) throws(StoreError) -> End? {
        let numbers = try segments()
        var end: End?
        for number in numbers {
            let file = JournalFormat.path(ofSegment: number)
            let bytes = other?.file == file ? other!.bytes : try contents(of: file)
            let header = try SegmentHeader(decoding: bytes, file: file, number: number)
            if let end, end.scan.nextBatch != header.firstBatch || end.scan.lastCRC != header.previousCRC {
                throw .damaged(
                    Damage(
                        file: JournalFormat.path(ofSegment: number - 1), offset: UInt64(end.scan.end),
                        problem: "batches from \(end.scan.nextBatch) to the next segment's first, "
                            + "\(header.firstBatch), are missing or others"))
            }
            let scan = try SegmentScan(bytes, header: header, file: file, isLast: number == numbers.last)
            for batch in scan.batches {
                try batch.forEachEntry(in: bytes, file: file) { (entry, offset) throws(StoreError) in
                    entryCount += 1
                    try visit(entry, Location(segment: number, file: file, offset: UInt64(offset)))
                }
            }
            segmentCount += 1
            batchCount += scan.batches.count
            end = End(header: header, scan: scan, length: bytes.count, oldestSegment: numbers[0])
        }
        if let end { try extent?.check(end: end) }
        return end
    }

    private func contents(of file: String) throws(StoreError) -> [UInt8] {
        do throws(DiskError) {
            guard let bytes = try disk.readFile(file) else {
                throw DiskError(call: "open", path: file, message: "the file is gone", isMissing: true)
            }
            return bytes
        } catch {
            throw .disk(error)
        }
    }
}
