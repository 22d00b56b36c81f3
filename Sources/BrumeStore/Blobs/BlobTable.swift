internal import BrumeModel

/// What is known of blobs, by their names and by their contents.
///
/// A content has one copy, except while a former one goes, or is damaged. So the first copy of each stands by itself,
/// and the few others beside them. A blob takes 72 bytes of a table that is about half to three quarters full.
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
    private var others: [AssetChecksum: [Copy]] = [:]
    private(set) var count = 0

    /// The copies of a content, in the order in which they became known.
    func copies(of checksum: AssetChecksum) -> [Copy] {
        guard let copy = first[checksum] else { return [] }
        return [copy] + (others[checksum] ?? [])
    }

    func forEach(_ visit: (BlobName, Entry) -> Void) {
        for checksum in first.keys {
            for copy in copies(of: checksum) {
                visit(BlobName(checksum: checksum, generation: copy.generation), copy.entry)
            }
        }
    }

    subscript(name: BlobName) -> Entry? {
        get {
            guard let copy = first[name.checksum] else { return nil }
            if copy.generation == name.generation { return copy.entry }
            return others[name.checksum]?.first { $0.generation == name.generation }?.entry
        }
        set {
            if let newValue { set(newValue, name) } else { remove(name) }
        }
    }

    private mutating func set(_ entry: Entry, _ name: BlobName) {
        let copy = Copy(generation: name.generation, entry: entry)
        guard let known = first[name.checksum] else {
            first[name.checksum] = copy
            count += 1
            return
        }
        if known.generation == name.generation {
            first[name.checksum] = copy
        } else if let index = others[name.checksum]?.firstIndex(where: { $0.generation == name.generation }) {
            others[name.checksum]![index] = copy
        } else {
            others[name.checksum, default: []].append(copy)
            count += 1
        }
    }

    private mutating func remove(_ name: BlobName) {
        var copies = copies(of: name.checksum)
        guard let index = copies.firstIndex(where: { $0.generation == name.generation }) else { return }
        copies.remove(at: index)
        count -= 1
        first[name.checksum] = copies.first
        others[name.checksum] = copies.count > 1 ? Array(copies.dropFirst()) : nil
    }
}
