/// A small hash table with linear probing: it finds numbers from 0 on by the hashes of what they stand for, which is
/// kept elsewhere.
///
/// Hashes are kept, so that neither growth nor a removal looks at what the numbers stand for. A number takes 8 bytes,
/// and its share of the free places. A full table does not grow by itself: see ``grow()``.
struct HashedSlots: Sendable {
    typealias Hash = UInt32

    /// The hash in the upper half, the number plus 1 in the lower one.
    typealias Entry = UInt64

    private(set) var count = 0
    /// A power of 2 of places; a free one holds 0.
    private var places: [Entry]

    static let placesMin = 8

    init(places count: Int = placesMin) {
        precondition(count.nonzeroBitCount == 1, "a table has a power of 2 of places")
        places = [Entry](repeating: 0, count: count)
    }

    /// A table with room for so many entries, with at least a quarter of its places left free.
    init(roomFor count: Int) {
        var places = HashedSlots.placesMin
        while count * 4 > places * 3 { places *= 2 }
        self.init(places: places)
    }

    /// A hash with the process's own key: nobody outside can choose bytes that collide.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> Hash {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return Hash(truncatingIfNeeded: hasher.finalize() >> 16)
    }

    static func entry(_ slot: Int32, hash: Hash) -> Entry {
        Entry(hash) << 32 | Entry(UInt32(slot) + 1)
    }

    static func slot(of entry: Entry) -> Int32 {
        Int32(UInt32(truncatingIfNeeded: entry) - 1)
    }

    static func hash(of entry: Entry) -> Hash { Hash(truncatingIfNeeded: entry >> 32) }

    var placeCount: Int { places.count }

    /// Whether another entry needs ``grow()`` first.
    var isFull: Bool { (count + 1) * 4 > places.count * 3 }

    /// All entries, in no order.
    var entries: [Entry] { places.filter { $0 != 0 } }

    /// The number under a hash for which `isMeant` returns true.
    @inline(__always)
    func slot(hash: Hash, where isMeant: (Int32) -> Bool) -> Int32? {
        places.withUnsafeBufferPointer { places in
            let mask = places.count - 1
            var place = Int(hash) & mask
            while places[place] != 0 {
                if HashedSlots.hash(of: places[place]) == hash {
                    let slot = HashedSlots.slot(of: places[place])
                    if isMeant(slot) { return slot }
                }
                place = (place + 1) & mask
            }
            return nil
        }
    }

    /// Adds an entry, for which there must be room.
    mutating func insert(_ entry: Entry) {
        places.withUnsafeMutableBufferPointer { places in
            let mask = places.count - 1
            var place = Int(HashedSlots.hash(of: entry)) & mask
            while places[place] != 0 { place = (place + 1) & mask }
            places[place] = entry
        }
        count += 1
    }

    /// Removes an entry, which must exist.
    mutating func remove(_ entry: Entry) {
        places.withUnsafeMutableBufferPointer { places in
            let mask = places.count - 1
            var hole = Int(HashedSlots.hash(of: entry)) & mask
            while places[hole] != entry {
                precondition(places[hole] != 0, "what is not in a table is removed from it")
                hole = (hole + 1) & mask
            }
            // An entry that would not be found after an empty place moves into it.
            var place = hole
            while true {
                place = (place + 1) & mask
                if places[place] == 0 { break }
                let home = Int(HashedSlots.hash(of: places[place])) & mask
                if (place - home) & mask >= (place - hole) & mask {
                    places[hole] = places[place]
                    hole = place
                }
            }
            places[hole] = 0
        }
        count -= 1
    }

    /// Doubles the places.
    mutating func grow() {
        var larger = HashedSlots(places: 2 * places.count)
        for entry in places where entry != 0 { larger.insert(entry) }
        self = larger
    }
}
