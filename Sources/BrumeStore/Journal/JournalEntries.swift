package import BrumeModel
internal import BrumeRecord

/// Encoded entries in a row, laid out as a batch holds them: what a loop has committed and the journal's thread will
/// write.
package struct JournalEntries: Sendable {
    /// For each entry its length (4 bytes) and its bytes.
    private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// About what they take in memory and on the disk.
    package var byteCount: Int { bytes.count }

    /// The bytes for which it has room.
    package var capacity: Int { bytes.capacity }

    package mutating func reserveCapacity(_ byteCount: Int) { bytes.reserveCapacity(byteCount) }

    /// Empties it, and keeps the room.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }

    package mutating func append(_ entry: JournalEntry) {
        let start = bytes.count
        bytes.appendInteger(UInt32(0))
        StoreCoder.encodeJournalEntry(entry, into: &bytes)
        guard let length = UInt32(exactly: bytes.count - start - 4) else {
            preconditionFailure("an entry is larger than a request may be")
        }
        bytes.setInteger(length, at: start)
        count += 1
    }

    /// Each entry by itself.
    package var separate: [[UInt8]] {
        var entries: [[UInt8]] = []
        var offset = 0
        while offset < bytes.count {
            entries.append(Array(bytes[offset + 4..<end(ofEntryAt: offset)]))
            offset = end(ofEntryAt: offset)
        }
        return entries
    }

    /// The end of the entry whose length stands at `offset`.
    func end(ofEntryAt offset: Int) -> Int { offset + 4 + Int(bytes.integer(at: offset, as: UInt32.self)) }
}
