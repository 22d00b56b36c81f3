internal import BrumeModel

/// A way to records that holds all matches of a predicate, or of a part of it, and perhaps others.
indirect enum Access {
    /// Records that stand under one of a few keys: their numbers come in rising order.
    case stream(IndexID, [PostingTree.Key])
    /// Records that stand under all keys of some ranges.
    case ranges(IndexID, [ClosedRange<PostingTree.Key>])
    /// Records by name.
    case names([String])
    case union([Access])

    /// The most keys of a ``stream``: more are read one after the other.
    static let streamKeys = 16

    /// The indexes that it needs.
    var ids: [IndexID] {
        switch self {
        case .stream(let id, _), .ranges(let id, _): [id]
        case .names: []
        case .union(let branches): branches.flatMap(\.ids)
        }
    }

    /// The number of index look-ups that an estimate takes.
    var seeks: Int {
        switch self {
        case .stream(_, let keys): keys.count
        case .ranges(_, let ranges): ranges.count
        case .names: 1
        case .union(let branches): branches.reduce(1) { $0 + $1.seeks }
        }
    }

    /// Whether indexes alone lead to its records.
    var isOfEntries: Bool {
        switch self {
        case .stream, .ranges: true
        case .names: false
        case .union(let branches): branches.allSatisfy(\.isOfEntries)
        }
    }

    /// Whether it may lead to one record several times.
    var mayRepeat: Bool {
        switch self {
        case .stream: false
        // A record has one value of a key, and one place; it may have several words or elements.
        case .ranges(let id, _):
            switch id.kind {
            case .words, .members: true
            case .all, .order, .equality, .places: false
            }
        case .names: true
        case .union(let branches): branches.count > 1 || branches.contains(where: \.mayRepeat)
        }
    }

    /// The same plus the records that have more words or elements than their index takes in, and whether there are any.
    func withUnindexed(_ indexes: ZoneIndexes) -> (access: Access, isWider: Bool) {
        switch self {
        case .stream(let id, let keys):
            guard indexes.index(id)?.hasUnindexed == true else { return (self, false) }
            return (.stream(id, keys + [IndexKeys.unindexed]), true)
        case .ranges(let id, let ranges):
            guard indexes.index(id)?.hasUnindexed == true else { return (self, false) }
            return (.ranges(id, ranges + [IndexKeys.unindexed...IndexKeys.unindexed]), true)
        case .names: return (self, false)
        case .union(let branches):
            let wider = branches.map { $0.withUnindexed(indexes) }
            return (.union(wider.map(\.access)), wider.contains(where: \.isWider))
        }
    }

    /// About how many records it leads to; nil when an index does not exist.
    func estimate(_ indexes: ZoneIndexes) -> Int? {
        switch self {
        case .stream(let id, let keys):
            guard let index = indexes.index(id) else { return nil }
            return keys.reduce(0) { $0 + index.tree.estimate($1...$1) }
        case .ranges(let id, let ranges):
            guard let index = indexes.index(id) else { return nil }
            return ranges.reduce(0) { $0 + index.tree.estimate($1) }
        case .names(let names): return names.count
        case .union(let branches):
            var sum = 0
            for branch in branches {
                guard let count = branch.estimate(indexes) else { return nil }
                sum += count
            }
            return sum
        }
    }

    /// A description of it for a query's plan.
    var sentence: String {
        switch self {
        case .stream(let id, let keys): "index \(id.name), \(keys.count == 1 ? "one key" : "\(keys.count) keys")"
        case .ranges(let id, let ranges):
            "index \(id.name), \(ranges.count == 1 ? "a range" : "\(ranges.count) ranges")"
        case .names(let names): "\(names.count) records by name"
        case .union(let branches): "any of: " + branches.map(\.sentence).joined(separator: "; ")
        }
    }
}
