/// The arrays that records of a snapshot share, kept so that little of an array stays in memory that no record uses.
///
/// A pack holds the bytes of neighbouring slots, one after the other. A record that is saved later gets an array of its
/// own, and the room that it leaves in its pack is wasted: when half of a pack is, the remaining records move to a new
/// one. So packs take twice the bytes of their records at the most, and a change moves ``targetBytes`` at the most.
struct RecordPacks: Sendable {
    /// About what a pack holds: little enough to be moved in a few microseconds, and much more than the overhead of an
    /// allocation.
    static let targetBytes = 64 * 1024
    /// A record of this size or more has an array of its own.
    static let recordBytesMax = targetBytes / 8

    private struct Pack {
        var firstSlot: Int32
        var endSlot: Int32
        var bytes: Int32
        var usedBytes: Int32
    }

    /// In the order of their slots.
    private var packs: [Pack] = []

    /// Adds a pack for those slots of a range that are packed.
    mutating func add(_ slots: Range<Int32>, bytes: Int) {
        precondition(slots.lowerBound >= packs.last?.endSlot ?? 0, "packs overlap")
        packs.append(
            Pack(firstSlot: slots.lowerBound, endSlot: slots.upperBound, bytes: Int32(bytes), usedBytes: Int32(bytes)))
    }

    /// Notes that a record leaves its pack. Returns the slots whose packed records are to move to a new pack, or nil
    /// when it is not time.
    mutating func leave(_ slot: Int32, bytes: Int) -> Range<Int32>? {
        var low = 0
        var high = packs.count
        while low < high {
            let middle = (low + high) / 2
            if packs[middle].endSlot > slot { high = middle } else { low = middle + 1 }
        }
        precondition(low < packs.count && packs[low].firstSlot <= slot, "a packed record stands in no pack")
        packs[low].usedBytes -= Int32(bytes)
        let pack = packs[low]
        if pack.usedBytes == 0 || pack.usedBytes * 2 > pack.bytes { return nil }
        packs[low].bytes = pack.usedBytes
        return pack.firstSlot..<pack.endSlot
    }
}
