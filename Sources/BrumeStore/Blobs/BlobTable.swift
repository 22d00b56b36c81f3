internal import BrumeModel

/// What is known of blobs, by their names and by their contents.
///
/// Most contents have one copy. So the first copy of each stands by itself, and the others beside them. A blob takes 72
/// bytes of a table that is about half to three quarters full.
struct BlobTable {
    struct Entry {
        let byteCount: UInt64
        /// Fields of records that name it.
        var references: UInt32 = 0
        /// Saves and transfers that keep it.
        var pins: UInt32 = 0
        /// Until when somebody was promised that they may name it.
        var promisedUntil: UInt32 = 0
        /// When the last of them ceased to need it; means nothing while one does.
        var unneededSince: UInt32 = 0
        /// Whether it was stored in this life of the process, and no record has named it since.
        var isPending = false
        /// Whether it is known to be whole: stored in this life of the process.
        var isFresh = false
        var isDamaged = false
        /// Whether it stands in the queue of those to look at.
        var isQueued = false
        var isDeleting = false

        init(byteCount: UInt64) { self.byteCount = byteCount }
    }

    struct Copy {
        let generation: UInt64
        var entry: Entry
    }

    /// About what a blob takes in memory, with its part of what is empty, and its place in the queue.
    static let bytesPerBlob = 160

    private var first: [AssetChecksum: Copy] = [:]
    /// The further copies of a content, by their generations. There may be any number: whoever must not learn what the
    /// database has stores a copy of their own.
    private var others: [AssetChecksum: [UInt64: Entry]] = [:]
    /// Some of the further copies, in the order in which they became known.
    private var someOthers: [AssetChecksum: [UInt64]] = [:]
    private(set) var count = 0

    private static let someOthersMax = 32

    /// Copies of a content, in the order in which they became known: where there are many, some of them.
    func someCopies(of checksum: AssetChecksum) -> [Copy] {
        var copies = first[checksum].map { [$0] } ?? []
        for generation in someOthers[checksum] ?? [] {
            copies.append(Copy(generation: generation, entry: others[checksum]![generation]!))
        }
        return copies
    }

    func forEach(_ visit: (BlobName, Entry) -> Void) {
        for (checksum, copy) in first { visit(BlobName(checksum: checksum, generation: copy.generation), copy.entry) }
        for (checksum, copies) in others {
            for (generation, entry) in copies { visit(BlobName(checksum: checksum, generation: generation), entry) }
        }
    }

    subscript(name: BlobName) -> Entry? {
        get {
            if let copy = first[name.checksum], copy.generation == name.generation { return copy.entry }
            return others[name.checksum]?[name.generation]
        }
        set {
            if let newValue { set(newValue, name) } else { remove(name) }
        }
    }

    private mutating func set(_ entry: Entry, _ name: BlobName) {
        let known = first[name.checksum]
        if known?.generation == name.generation || known == nil && others[name.checksum] == nil {
            if known == nil { count += 1 }
            first[name.checksum] = Copy(generation: name.generation, entry: entry)
            return
        }
        guard others[name.checksum, default: [:]].updateValue(entry, forKey: name.generation) == nil else { return }
        count += 1
        if someOthers[name.checksum, default: []].count < BlobTable.someOthersMax {
            someOthers[name.checksum, default: []].append(name.generation)
        }
    }

    private mutating func remove(_ name: BlobName) {
        let checksum = name.checksum
        if first[checksum]?.generation == name.generation {
            count -= 1
            first[checksum] = nil
            // The next one takes its place; one of very many is not looked for.
            if let next = someOthers[checksum]?.first {
                first[checksum] = Copy(generation: next, entry: others[checksum]!.removeValue(forKey: next)!)
                someOthers[checksum]!.removeFirst()
            }
        } else if others[checksum]?.removeValue(forKey: name.generation) != nil {
            count -= 1
            someOthers[checksum]?.removeAll { $0 == name.generation }
        }
        if others[checksum]?.isEmpty == true { (others[checksum], someOthers[checksum]) = (nil, nil) }
    }
}
