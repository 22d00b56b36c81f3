/// The entries of one group commit, laid out as they go to the disk: one buffer, one write.
///
/// Filled by ``append(_:)``, finished by the ``JournalWriter``; ``removeAll()`` keeps the memory for the next one.
package struct JournalBatch: Sendable {
    /// Room for the header, then the body.
    fileprivate(set) var bytes: [UInt8]
    package private(set) var entryCount: UInt32 = 0

    /// The bytes that a batch may reach; only a single entry may be larger. More entries go into the next batch, which
    /// limits the memory at recovery.
    package static let bytesLimit = 64 * 1024 * 1024

    package init() {
        bytes = [UInt8](repeating: 0, count: JournalFormat.batchHeaderBytes)
    }

    package var isEmpty: Bool { entryCount == 0 }

    /// Bytes that go to the disk, but for the padding.
    package var count: Int { bytes.count }

    /// Whether `entry` fits. An empty batch takes any entry.
    package func hasRoom(for entry: [UInt8]) -> Bool {
        isEmpty || bytes.count + entry.count + 4 <= JournalBatch.bytesLimit
    }

    /// Adds an encoded `JournalEntry`.
    package mutating func append(_ entry: [UInt8]) {
        precondition(hasRoom(for: entry), "a journal batch takes no more; write it first")
        bytes.appendInteger(UInt32(entry.count))
        bytes += entry
        entryCount += 1
    }

    /// Adds entries as long as they fit, beginning with the one at `offset`; returns the offset of the first one that
    /// did not.
    package mutating func append(_ entries: JournalEntries, from offset: Int = 0) -> Int {
        var end = offset
        var added: UInt32 = 0
        while end < entries.byteCount {
            let next = entries.end(ofEntryAt: end)
            if !(isEmpty && added == 0), bytes.count + next - offset > JournalBatch.bytesLimit { break }
            end = next
            added += 1
        }
        bytes += entries.bytes[offset..<end]
        entryCount += added
        return end
    }

    package mutating func removeAll() {
        bytes.removeSubrange(JournalFormat.batchHeaderBytes...)
        entryCount = 0
    }

    /// Bytes on the disk, padding included.
    var paddedCount: Int { JournalFormat.paddedCount(bytes.count, version: JournalFormat.version) }

    /// Writes header and padding in place; returns the checksum, which the next batch is chained to.
    ///
    /// May be called again, with another salt, number or offset, after ``unseal(bodyEnd:)``.
    ///
    /// - Parameter offset: Where the batch will stand in its file.
    mutating func seal(number: UInt64, salt: UInt64, previousCRC: UInt32, offset: UInt64) -> UInt32 {
        let bodyBytes = bytes.count - JournalFormat.batchHeaderBytes
        for _ in bytes.count..<paddedCount - 1 { bytes.append(0) }
        bytes.append(JournalFormat.endByte)
        bytes.setInteger(JournalFormat.batchMagic, at: 0)
        bytes.setInteger(salt, at: 8)
        bytes.setInteger(number, at: 16)
        bytes.setInteger(UInt32(bodyBytes), at: 24)
        bytes.setInteger(entryCount, at: 28)
        bytes.setInteger(previousCRC, at: 32)
        let zeroSectors = bytes.countOfZeroSectors(in: 0..<bytes.count, fileOffset: Int(offset))
        bytes.setInteger(UInt32(zeroSectors), at: 36)
        bytes.setInteger(UInt32(0), at: 40)
        bytes.setInteger(bytes.checksum(8..<44), at: 44)
        let crc = bytes.checksum(8..<bytes.count)
        bytes.setInteger(crc, at: 4)
        return crc
    }

    /// Takes the padding off again, so that a batch that could not be written can be tried once more.
    mutating func unseal(bodyEnd: Int) {
        bytes.removeSubrange(bodyEnd...)
    }
}
