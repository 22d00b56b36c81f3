internal import BrumeModel
internal import BrumeRecord

/// Finds the record of a name in a zone: slots by the hash of their names. The names are kept in the slots alone.
///
/// No addition takes long, however many records there are. The slots lie in leaves, small open tables with linear
/// probing; a leaf that is full is split in two by the next bit of its hashes (extendible hashing), and hashes are
/// kept, so that neither a split nor a growing leaf looks at a name. A record takes about 16 bytes.
///
/// Hashes are the process's own (SipHash with a random key): nobody outside can choose names that collide.
struct NameIndex: Sendable {
    /// The first bits of a hash choose the leaf, the last ones the place in it.
    typealias Hash = HashedSlots.Hash

    private struct Leaf {
        /// How many first bits all of its hashes have in common.
        var depth: Int
        var slots = HashedSlots()
    }

    /// Split into two such leaves, 3,072 slots take some 20 microseconds.
    private static let leafPlacesMax = 4_096
    /// Leaves that share more bits than this grow instead: hashes are too short to tell more apart.
    private static let depthMax = 24

    private var leaves = [Leaf(depth: 0)]
    /// Leaves by the first bits of a hash. A leaf of lesser depth appears several times.
    private var directory: [Int32] = [0]
    private var directoryDepth = 0

    init() {}

    /// Makes the index of all slots at once. Returns nil when two have the same name.
    ///
    /// The slots are sorted by leaf first, so that each leaf is filled while it is in the processor's caches.
    ///
    /// - Parameter hashes: The hashes of the names, by slot.
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
        var entries = [HashedSlots.Entry](repeating: 0, count: hashes.count)
        for (slot, hash) in hashes.enumerated() {
            let index = leaf(hash)
            entries[next[index]] = HashedSlots.entry(Int32(slot), hash: hash)
            next[index] += 1
        }
        directory = (0..<Int32(leafCount)).map { $0 }
        leaves = []
        leaves.reserveCapacity(leafCount)
        for index in 0..<leafCount {
            let range = starts[index]..<starts[index + 1]
            var leaf = Leaf(depth: depth, slots: HashedSlots(roomFor: range.count))
            for entry in entries[range] {
                let other = leaf.slots.slot(hash: HashedSlots.hash(of: entry)) { other in
                    slots.withBytes(of: HashedSlots.slot(of: entry)) {
                        slots.isNamed(StoredRecord.head(of: $0).name, other)
                    }
                }
                if other != nil { return nil }
                leaf.slots.insert(entry)
            }
            leaves.append(leaf)
        }
    }

    /// The slot of a name in UTF-8, which has this hash.
    func slot(of name: UnsafeRawBufferPointer, hash: Hash, in slots: RecordSlots) -> Int32? {
        leaves[leafIndex(of: hash)].slots.slot(hash: hash) { slots.isNamed(name, $0) }
    }

    /// The slot of a name.
    func slot(of name: String, in slots: RecordSlots) -> Int32? {
        name.withUTF8Bytes { slot(of: $0, hash: HashedSlots.hash($0), in: slots) }
    }

    static func hash(_ name: String) -> Hash {
        name.withUTF8Bytes { HashedSlots.hash($0) }
    }

    /// Adds a slot under the hash of its name, which must not be in the index yet.
    mutating func insert(_ slot: Int32, hash: Hash) {
        var index = leafIndex(of: hash)
        while leaves[index].slots.isFull {
            makeRoom(inLeafAt: index)
            index = leafIndex(of: hash)
        }
        leaves[index].slots.insert(HashedSlots.entry(slot, hash: hash))
    }

    /// Removes a slot, which must be in the index under this hash.
    mutating func remove(_ slot: Int32, hash: Hash) {
        leaves[leafIndex(of: hash)].slots.remove(HashedSlots.entry(slot, hash: hash))
    }

    private func leafIndex(of hash: Hash) -> Int {
        directoryDepth == 0 ? 0 : Int(directory[Int(hash >> Hash(32 - directoryDepth))])
    }

    /// Doubles a leaf, or splits it.
    private mutating func makeRoom(inLeafAt index: Int) {
        let leaf = leaves[index]
        guard leaf.slots.placeCount >= Self.leafPlacesMax, leaf.depth < Self.depthMax else {
            return leaves[index].slots.grow()
        }
        if leaf.depth == directoryDepth {
            directory = directory.flatMap { [$0, $0] }
            directoryDepth += 1
        }
        // The bit that tells the two apart.
        let bit = Hash(1) << Hash(31 - leaf.depth)
        var lower = Leaf(depth: leaf.depth + 1, slots: HashedSlots(places: leaf.slots.placeCount))
        var upper = lower
        let entries = leaf.slots.entries
        for entry in entries {
            if HashedSlots.hash(of: entry) & bit == 0 { lower.slots.insert(entry) } else { upper.slots.insert(entry) }
        }
        leaves[index] = lower
        leaves.append(upper)
        // The leaf's part of the directory is contiguous; its upper half goes to the new one.
        let hash = HashedSlots.hash(of: entries.first ?? 0)
        let span = 1 << (directoryDepth - leaf.depth)
        let start = Int(hash >> Hash(32 - directoryDepth)) & ~(span - 1)
        for place in start + span / 2..<start + span { directory[place] = Int32(leaves.count - 1) }
    }
}
