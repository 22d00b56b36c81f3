package import BrumeModel

/// The signed entries of one ring, the first in front: who has a key of a zone, or of a shared tree in it, and the key
/// in a box for each (Documentation/EncryptionFormats.md, section 10). What an entry says only devices need to know,
/// and whether it follows from the one before is checked before it comes here.
///
/// Bounded by ``Limits/entriesPerRing`` and ``Limits/bytesPerRing``.
package struct KeyRing: Equatable, Sendable {
    package private(set) var entries: [SharedBytes] = []
    /// The bytes of all of them.
    package private(set) var byteCount = 0

    package init() {}

    /// The number of the last one; 0 where there is none.
    package var last: UInt32 { UInt32(entries.count) }

    /// The entry of a number, which begin with 1; nil where there is none.
    package subscript(number: UInt32) -> SharedBytes? {
        number >= 1 && number <= last ? entries[Int(number) - 1] : nil
    }

    /// About what it takes in memory.
    var approximateBytes: Int { Self.emptyBytes + byteCount + entries.count * Self.placeBytes }

    private static let emptyBytes = 128
    private static let placeBytes = 64

    /// Whether there is room for another entry.
    func hasRoom(for entry: SharedBytes) -> Bool {
        !entry.isEmpty && entry.count <= Limits.ringEntryBytes && entries.count < Limits.entriesPerRing
            && byteCount + entry.count <= Limits.bytesPerRing
    }

    /// Takes the next one, for which there is room; returns ``approximateBytes``.
    mutating func append(_ entry: SharedBytes) -> Int {
        precondition(hasRoom(for: entry), "a ring's entry is taken for which there is no room")
        entries.append(entry)
        byteCount += entry.count
        return approximateBytes
    }

    /// Those behind a number, the first in front, as many as fit into so many bytes; one at least where there are any.
    func page(after number: UInt32, bytes limit: Int) -> ArraySlice<SharedBytes> {
        guard number < last else { return [] }
        let start = Int(number)
        var end = start
        var bytes = 0
        repeat {
            bytes += entries[end].count
            end += 1
        } while end < entries.count && bytes + entries[end].count <= limit
        return entries[start..<end]
    }
}
