/// The journal on disk, format version 2.
///
/// The journal is a row of *segments*, files `journal/%016x.journal` with numbers that rise by one. A segment is made
/// under a temporary name, with its full length, all of which reads as zero, given its header, synced and renamed; so
/// one that has its name has its header. The file may have been another segment before; see ``SpareSegments``. Integers
/// are little-endian.
///
/// ```
/// segment header, 64 bytes
///  0  8  "BRUMEJNL"
///  8  4  format version, 2
/// 12  4  bytes of this header, 64
/// 16  8  segment number
/// 24  8  number of the first batch in it
/// 32  8  salt: random, so that no client can put a batch of its own making into a record
/// 40  4  CRC-32C field of the batch before the first one; 0 at the journal's beginning
/// 44 16  zero
/// 60  4  CRC-32C of bytes 0 to 59
///
/// batch, at a multiple of 8
///  0  4  "BTCH"
///  4  4  CRC-32C of everything from byte 8 to the end of the padding
///  8  8  the segment's salt
/// 16  8  batch number, rising by one over all segments
/// 24  4  bytes of the body
/// 28  4  entries in the body
/// 32  4  CRC-32C field of the batch before: the chain
/// 36  4  how many of the file's sectors (512 bytes) have nothing of this batch but zeros
/// 40  4  zero
/// 44  4  CRC-32C of bytes 8 to 43
/// 48     body: for each entry its length (4 bytes) and an encoded `brume.store.v1.JournalEntry`
///        zeros, at least none, and 0xED as the last byte before a multiple of 8
/// ```
///
/// A batch is one group commit: one write, one sync. The next one is written when the sync has returned, and the next
/// segment begins when the last batch of the one before is synced. So only the last batch of the last segment can be
/// torn by a crash, and it was acknowledged to nobody. After the last batch everything is zero.
///
/// A reader takes a place that holds no whole batch for the torn tail only if it looks like a write that was cut off
/// (``TornTail``), and nothing says that the batch was synced (``JournalExtent``, a later batch or segment). Otherwise,
/// and for a batch that breaks the chain, the file is damaged, and reading stops.
///
/// Version 1, which is still read, has batches with a header of 40 bytes: bytes 36 to 39 are zero, the body follows,
/// and there are zeros up to a multiple of 8. Nothing is written after them: the next batch begins a segment.
enum JournalFormat {
    static let segmentMagic = Array("BRUMEJNL".utf8)
    static let batchMagic: UInt32 = 0x4843_5442
    static let version: UInt32 = 2
    static let segmentHeaderBytes = 64
    /// The size of a batch's header in this version.
    static let batchHeaderBytes = 48
    static let alignment = 8
    static let sectorBytes = 512
    /// The last byte of a batch: it shows that the end was written.
    static let endByte: UInt8 = 0xED

    static func batchHeaderBytes(version: UInt32) -> Int { version == 1 ? 40 : batchHeaderBytes }

    /// What a batch takes whose header and body have `count` bytes.
    static func paddedCount(_ count: Int, version: UInt32) -> Int {
        let least = version == 1 ? count : count + 1
        return (least + alignment - 1) / alignment * alignment
    }

    static let folder = "journal"
    static let suffix = ".journal"

    static func path(ofSegment number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return folder + "/" + String(repeating: "0", count: 16 - digits.count) + digits + suffix
    }

    /// The number that a file's name spells, or nil for another file.
    static func segmentNumber(ofFile name: String) -> UInt64? {
        guard name.hasSuffix(suffix), name.utf8.count == 16 + suffix.utf8.count,
            let number = UInt64(name.dropLast(suffix.count), radix: 16),
            path(ofSegment: number) == folder + "/" + name
        else {
            return nil
        }
        return number
    }
}

/// The first 64 bytes of a segment; see ``JournalFormat``.
struct SegmentHeader: Equatable, Sendable {
    var version = JournalFormat.version
    var number: UInt64
    var firstBatch: UInt64
    var salt: UInt64
    var previousCRC: UInt32

    var encoded: [UInt8] {
        var bytes = JournalFormat.segmentMagic
        bytes.reserveCapacity(JournalFormat.segmentHeaderBytes)
        bytes.appendInteger(version)
        bytes.appendInteger(UInt32(JournalFormat.segmentHeaderBytes))
        bytes.appendInteger(number)
        bytes.appendInteger(firstBatch)
        bytes.appendInteger(salt)
        bytes.appendInteger(previousCRC)
        bytes += [UInt8](repeating: 0, count: 16)
        bytes.appendInteger(bytes.checksum(0..<bytes.count))
        return bytes
    }

    init(number: UInt64, firstBatch: UInt64, salt: UInt64, previousCRC: UInt32) {
        self.number = number
        self.firstBatch = firstBatch
        self.salt = salt
        self.previousCRC = previousCRC
    }

    /// Checks the header of the segment `number` in `file`.
    init(decoding bytes: [UInt8], file: String, number expected: UInt64) throws(StoreError) {
        guard bytes.count >= JournalFormat.segmentHeaderBytes else {
            throw .damaged(Damage(file: file, offset: UInt64(bytes.count), problem: "the file ends inside its header"))
        }
        guard Array(bytes[..<8]) == JournalFormat.segmentMagic else {
            throw .damaged(Damage(file: file, offset: 0, problem: "this is not the beginning of a journal segment"))
        }
        guard bytes.checksum(0..<60) == bytes.integer(at: 60, as: UInt32.self) else {
            throw .damaged(Damage(file: file, offset: 0, problem: "the header's checksum is wrong"))
        }
        version = bytes.integer(at: 8)
        guard version == 1 || version == JournalFormat.version else {
            throw .unknownVersion(file: file, version: version)
        }
        number = bytes.integer(at: 16)
        firstBatch = bytes.integer(at: 24)
        salt = bytes.integer(at: 32)
        previousCRC = bytes.integer(at: 40)
        guard number == expected else {
            throw .damaged(Damage(file: file, offset: 16, problem: "the header is that of segment \(number)"))
        }
        // Counting continues from both.
        let numbers = 1..<StoreLimits.journalNumberLimit
        guard numbers.contains(number), numbers.contains(firstBatch) else {
            throw .damaged(
                Damage(
                    file: file, offset: 16,
                    problem: "segment \(number) with batch \(firstBatch) as its first is none that a server makes"))
        }
    }
}
