/// How far the journal reaches, apart from its segments: `journal/extent`, one sector.
///
/// ```
///   0   8  "BRUMEEXT"
///   8   4  format version, 1
///  12   4  zero
///  16   8  the oldest segment that has to be there
///  24   8  the newest segment that may hold a batch
///  32   8  number of the last batch that is known to be synced; 0: none is
///  40 468  zero
/// 508   4  CRC-32C of bytes 0 to 507
/// ```
///
/// It is written in place and synced: a disk writes a sector whole or not at all. Each statement is durable before the
/// event that makes it necessary, and after the event that makes it true:
///
/// - a new segment is named here before the first batch goes into it, and an old one is no longer named before its file
///   is removed. So a segment that is missing, at either end, is told from one that never existed.
/// - a batch is named here when it is synced: the last one when the journal has had nothing to do for a moment, at its
///   end, and when a segment begins. So damage to what was synced is told from a batch that was torn when the power
///   failed, but for the last batch before a crash in the midst of work: there ``TornTail`` tells all but whole sectors
///   that became zero.
package struct JournalExtent: Equatable, Sendable {
    package static let path = JournalFormat.folder + "/extent"
    static let byteCount = 512
    private static let version: UInt32 = 1
    private static let magic = Array("BRUMEEXT".utf8)

    var oldestSegment: UInt64
    var newestSegment: UInt64
    var lastSyncedBatch: UInt64

    var encoded: [UInt8] {
        var bytes = JournalExtent.magic
        bytes.reserveCapacity(JournalExtent.byteCount)
        bytes.appendInteger(JournalExtent.version)
        bytes.appendInteger(UInt32(0))
        bytes.appendInteger(oldestSegment)
        bytes.appendInteger(newestSegment)
        bytes.appendInteger(lastSyncedBatch)
        bytes += [UInt8](repeating: 0, count: JournalExtent.byteCount - 4 - bytes.count)
        bytes.appendInteger(bytes.checksum(0..<bytes.count))
        return bytes
    }

    /// Reads the file; nil when there is none.
    static func read(from disk: any Disk) throws(StoreError) -> JournalExtent? {
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readFile(path, limit: 4096)
        } catch {
            throw .disk(error)
        }
        return try bytes.map { (bytes) throws(StoreError) in try JournalExtent(decoding: bytes) }
    }

    init(oldestSegment: UInt64, newestSegment: UInt64, lastSyncedBatch: UInt64) {
        self.oldestSegment = oldestSegment
        self.newestSegment = newestSegment
        self.lastSyncedBatch = lastSyncedBatch
    }

    init(decoding bytes: [UInt8]) throws(StoreError) {
        guard bytes.count == JournalExtent.byteCount, Array(bytes[..<8]) == JournalExtent.magic else {
            throw JournalExtent.damage("this is not the file that says how far the journal reaches")
        }
        guard bytes.checksum(0..<508) == bytes.integer(at: 508, as: UInt32.self) else {
            throw JournalExtent.damage("the checksum is wrong")
        }
        let version: UInt32 = bytes.integer(at: 8)
        guard version == JournalExtent.version else {
            throw .unknownVersion(file: JournalExtent.path, version: version)
        }
        oldestSegment = bytes.integer(at: 16)
        newestSegment = bytes.integer(at: 24)
        lastSyncedBatch = bytes.integer(at: 32)
        guard oldestSegment > 0, oldestSegment <= newestSegment, newestSegment < StoreLimits.journalNumberLimit else {
            throw JournalExtent.damage("the segments that it names make no row")
        }
    }

    // MARK: What is there

    /// Checks the numbers of the segments' files, in order: none that has to exist is missing.
    func check(segments: [UInt64]) throws(StoreError) {
        guard let first = segments.first, let last = segments.last else { throw missing(oldestSegment) }
        if first > oldestSegment { throw missing(oldestSegment) }
        if last < newestSegment { throw missing(last + 1) }
        // One is made before it is named here.
        if last > newestSegment + 1 { throw olderThanJournal }
    }

    /// Checks the journal's end: no batch is missing that was synced, and none stands where none can be.
    func check(end: JournalReader.End) throws(StoreError) {
        if end.header.number > newestSegment {
            if !end.scan.batches.isEmpty { throw olderThanJournal }
            if end.scan.tornBytes > 0 {
                throw .damaged(
                    Damage(
                        file: JournalFormat.path(ofSegment: end.header.number), offset: UInt64(end.scan.end),
                        problem: "something stands in a segment that no batch was written to"))
            }
        }
        if end.scan.nextBatch <= lastSyncedBatch {
            throw .damaged(
                Damage(
                    file: JournalFormat.path(ofSegment: end.header.number), offset: UInt64(end.scan.end),
                    problem: "batch \(end.scan.nextBatch) can't be read, but was synced, as all to \(lastSyncedBatch)"))
        }
    }

    private func missing(_ number: UInt64) -> StoreError {
        .damaged(
            Damage(
                file: JournalFormat.path(ofSegment: number), offset: 0,
                problem: "the segment is missing: the journal has segments \(oldestSegment) to \(newestSegment)"))
    }

    private var olderThanJournal: StoreError {
        JournalExtent.damage("the file is older than the journal, which goes on behind segment \(newestSegment)")
    }

    static func damage(_ problem: String) -> StoreError {
        .damaged(Damage(file: path, offset: 0, problem: problem))
    }
}
