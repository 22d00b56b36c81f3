internal import BrumeWire

/// Where a zone keeps the record of a name: slots by the hash of their names. The names stand in the slots alone.
///
/// No addition takes long, however many records there are. The slots lie in leaves, small open tables with linear probing; a leaf
/// that is full is split in two by the next bit of its hashes (extendible hashing), and hashes are kept, so that neither a split
/// nor a growing leaf looks at a name. A record takes about 16 bytes.
///
/// Hashes are the process's own (SipHash with a key of chance): nobody outside can choose names that collide.
struct NameIndex: Sendable {
    /// The first bits of a hash choose the leaf, the last ones the place in it.
    typealias Hash = UInt32

    private struct Leaf {
        /// How many first bits all of its hashes have in common.
        var depth: Int
        var count = 0
        /// The hash in the upper half, the slot and 1 in the lower one; 0: nothing. A power of 2 of them.
        var places: [UInt64]
    }

    private static let leafPlacesMin = 8
    /// Split into two such leaves, 3,072 slots take some 20 microseconds.
    private static let leafPlacesMax = 4_096
    /// Leaves that share more bits than this grow instead: hashes are too short to tell more apart.
    private static let depthMax = 24

    private var leaves = [Leaf(depth: 0, places: [UInt64](repeating: 0, count: leafPlacesMin))]
    /// Leaves by the first bits of a hash. A leaf of lesser depth stands there several times.
    private var directory: [Int32] = [0]
    private var directoryDepth = 0

    init() {}

    static func hash(_ name: UnsafeRawBufferPointer) -> Hash {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return Hash(truncatingIfNeeded: hasher.finalize() >> 16)
    }

    /// Makes the index of all slots at once; nil when two have the same name.
    ///
    /// The slots are sorted by leaf first, so that each leaf is filled while it is in the processor's caches.
    ///
    /// - Parameter hashes: Of the names, by slot.
    init?(of slots: RecordSlots, hashes: [Hash]) {
        precondition(slots.count == hashes.count, "slots are indexed whose names' hashes are unknown")
        while hashes.count >> directoryDepth > Self.leafPlacesMax / 8 * 5 && directoryDepth < Self.depthMax {
            directoryDepth += 1
        }
        let depth = directoryDepth
        let leafCount = 1 << depth
        func leaf(_ hash: Hash) -> Int { depth == 0 ? 0 : Int(hash >> Hash(32 - depth)) }
        var starts = [Int](repeating: 0, count: leafCount + 1)
        for hash in hashes { starts[leaf(hash) + 1] += 1 }
        for index in 0..<leafCount { starts[index + 1] += starts[index] }
        var next = starts
        var entries = [UInt64](repeating: 0, count: hashes.count)
        for (slot, hash) in hashes.enumerated() {
            let index = leaf(hash)
            entries[next[index]] = UInt64(hash) << 32 | UInt64(slot + 1)
            next[index] += 1
        }
        directory = (0..<Int32(leafCount)).map { $0 }
        leaves = []
        leaves.reserveCapacity(leafCount)
        for index in 0..<leafCount {
            let range = starts[index]..<starts[index + 1]
            var places = Self.leafPlacesMin
            while range.count * 4 > places * 3 { places *= 2 }
            var leaf = Leaf(depth: depth, count: range.count, places: [UInt64](repeating: 0, count: places))
            for entry in entries[range] {
                guard Self.putNew(entry, into: &leaf.places, of: slots) else { return nil }
            }
            leaves.append(leaf)
        }
    }

    /// Puts an entry whose name is not there yet; false when it is.
    private static func putNew(_ entry: UInt64, into places: inout [UInt64], of slots: RecordSlots) -> Bool {
        places.withUnsafeMutableBufferPointer { places in
            let mask = places.count - 1
            var place = Int(truncatingIfNeeded: entry >> 32) & mask
            while places[place] != 0 {
                if places[place] >> 32 == entry >> 32 {
                    let other = slot(of: places[place])
                    if slots.withBytes(of: slot(of: entry), { slots.isNamed(StoredRecord.head(of: $0).name, other) }) {
                        return false
                    }
                }
                place = (place + 1) & mask
            }
            places[place] = entry
            return true
        }
    }

    /// The slot of a name in UTF-8, which has this hash.
    func slot(of name: UnsafeRawBufferPointer, hash: Hash, in slots: RecordSlots) -> Int32? {
        leaves[leafIndex(of: hash)].places.withUnsafeBufferPointer { places in
            let mask = places.count - 1
            var place = Int(hash) & mask
            while places[place] != 0 {
                if Hash(truncatingIfNeeded: places[place] >> 32) == hash {
                    let slot = Self.slot(of: places[place])
                    if slots.isNamed(name, slot) { return slot }
                }
                place = (place + 1) & mask
            }
            return nil
        }
    }

    /// The slot of a name.
    func slot(of name: String, in slots: RecordSlots) -> Int32? {
        var name = name
        return name.withUTF8 { name in
            let name = UnsafeRawBufferPointer(name)
            return slot(of: name, hash: Self.hash(name), in: slots)
        }
    }

    static func hash(_ name: String) -> Hash {
        var name = name
        return name.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// Adds a slot under the hash of its name, which is not there yet.
    mutating func insert(_ slot: Int32, hash: Hash) {
        var index = leafIndex(of: hash)
        while (leaves[index].count + 1) * 4 > leaves[index].places.count * 3 {
            makeRoom(inLeafAt: index)
            index = leafIndex(of: hash)
        }
        leaves[index].count += 1
        Self.put(UInt64(hash) << 32 | UInt64(UInt32(bitPattern: slot) + 1), into: &leaves[index].places)
    }

    /// Removes a slot, which is there under this hash.
    mutating func remove(_ slot: Int32, hash: Hash) {
        let index = leafIndex(of: hash)
        let entry = UInt64(hash) << 32 | UInt64(UInt32(bitPattern: slot) + 1)
        leaves[index].count -= 1
        leaves[index].places.withUnsafeMutableBufferPointer { places in
            let mask = places.count - 1
            var hole = Int(hash) & mask
            while places[hole] != entry {
                precondition(places[hole] != 0, "a name is removed that is not there")
                hole = (hole + 1) & mask
            }
            // What would not be found behind an empty place moves into it.
            var place = hole
            while true {
                place = (place + 1) & mask
                if places[place] == 0 { break }
                let home = Int(truncatingIfNeeded: places[place] >> 32) & mask
                if (place - home) & mask >= (place - hole) & mask {
                    places[hole] = places[place]
                    hole = place
                }
            }
            places[hole] = 0
        }
    }

    private static func slot(of entry: UInt64) -> Int32 {
        Int32(bitPattern: UInt32(truncatingIfNeeded: entry) - 1)
    }

    private func leafIndex(of hash: Hash) -> Int {
        directoryDepth == 0 ? 0 : Int(directory[Int(hash >> Hash(32 - directoryDepth))])
    }

    private static func put(_ entry: UInt64, into places: inout [UInt64]) {
        places.withUnsafeMutableBufferPointer { places in
            let mask = places.count - 1
            var place = Int(truncatingIfNeeded: entry >> 32) & mask
            while places[place] != 0 { place = (place + 1) & mask }
            places[place] = entry
        }
    }

    private static func table(of entries: [UInt64], places: Int) -> [UInt64] {
        var table = [UInt64](repeating: 0, count: places)
        for entry in entries { put(entry, into: &table) }
        return table
    }

    /// Doubles a leaf, or splits it.
    private mutating func makeRoom(inLeafAt index: Int) {
        let leaf = leaves[index]
        let entries = leaf.places.filter { $0 != 0 }
        guard leaf.places.count >= Self.leafPlacesMax, leaf.depth < Self.depthMax else {
            leaves[index].places = Self.table(of: entries, places: leaf.places.count * 2)
            return
        }
        if leaf.depth == directoryDepth {
            directory = directory.flatMap { [$0, $0] }
            directoryDepth += 1
        }
        // The bit that tells the two apart, in a hash and in the upper half of an entry.
        let bit = UInt64(1) << UInt64(63 - leaf.depth)
        let (upper, lower) = (entries.filter { $0 & bit != 0 }, entries.filter { $0 & bit == 0 })
        leaves[index] = Leaf(
            depth: leaf.depth + 1, count: lower.count, places: Self.table(of: lower, places: leaf.places.count))
        leaves.append(
            Leaf(depth: leaf.depth + 1, count: upper.count, places: Self.table(of: upper, places: leaf.places.count)))
        // The leaf's part of the directory is contiguous; its upper half goes to the new one.
        let hash = Hash(truncatingIfNeeded: (entries.first ?? 0) >> 32)
        let span = 1 << (directoryDepth - leaf.depth)
        let start = Int(hash >> Hash(32 - directoryDepth)) & ~(span - 1)
        for place in start + span / 2..<start + span { directory[place] = Int32(leaves.count - 1) }
    }
}
