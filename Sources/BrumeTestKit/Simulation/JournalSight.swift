internal import BrumeStore

/// Finds the batches of a journal's segment from its bytes alone; the format is written down in `JournalFormat`.
enum JournalSight {
    static let headerBytes = 64
    private static let batchHeaderBytes = 48
    private static let magic = Array("BTCH".utf8)

    /// The last whole batch; an empty range after the header if there is none.
    static func lastWholeBatch(of bytes: [UInt8]) -> Range<Int> {
        var last = headerBytes..<headerBytes
        forEachBatch(of: bytes) { last = $0 }
        return last
    }

    /// Where the batch that holds a byte begins; the end of the header if no batch does.
    static func batch(of bytes: [UInt8], around offset: Int) -> Int {
        var start = headerBytes
        forEachBatch(of: bytes) { start = $0.contains(offset) ? $0.lowerBound : start }
        return start
    }

    /// The batches that are whole, until one is not.
    private static func forEachBatch(of bytes: [UInt8], _ body: (Range<Int>) -> Void) {
        var offset = headerBytes
        while offset + batchHeaderBytes <= bytes.count, Array(bytes[offset..<offset + 4]) == magic {
            let end = (offset + batchHeaderBytes + number(bytes, at: offset + 24) + 8) / 8 * 8
            guard end <= bytes.count, Int(CRC32C.checksum(bytes[offset + 8..<end])) == number(bytes, at: offset + 4)
            else { return }
            body(offset..<end)
            offset = end
        }
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> Int {
        bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
