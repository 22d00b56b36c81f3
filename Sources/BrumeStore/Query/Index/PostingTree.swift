/// An ordered set of (key, ordinal): which records have a key, in the order of their creation, keys in their own order.
///
/// Leaves of up to 512 ordinals, with each key once a leaf: so a common key costs four bytes a record, and a key of one record
/// 22. An insertion moves a few kilobytes at most, however many records share the key.
struct PostingTree {
    typealias Key = UInt128

    /// One entry's place; valid until the tree changes.
    struct Position {
        var leaf: Int
        var group: Int
        var index: Int
    }

    private struct Leaf {
        /// Rising.
        var keys: [Key] = []
        /// Where each key's ordinals end.
        var ends: [UInt16] = []
        /// Key by key, rising within each.
        var ordinals: [UInt32] = []

        func start(of group: Int) -> Int { group == 0 ? 0 : Int(ends[group - 1]) }

        /// The first group whose key is not below `key`.
        func group(of key: Key) -> Int {
            var low = 0
            var high = keys.count
            while low < high {
                let middle = (low + high) / 2
                if keys[middle] < key { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// The first place in a group whose ordinal is not below `ordinal`.
        func index(of ordinal: UInt32, inGroup group: Int) -> Int {
            var low = start(of: group)
            var high = Int(ends[group])
            while low < high {
                let middle = (low + high) / 2
                if ordinals[middle] < ordinal { low = middle + 1 } else { high = middle }
            }
            return low
        }

        mutating func insert(_ ordinal: UInt32, at index: Int, group: Int, key: Key) {
            ordinals.insert(ordinal, at: index)
            if group == keys.count || keys[group] != key {
                keys.insert(key, at: group)
                ends.insert(UInt16(index), at: group)
            }
            for later in group..<ends.count { ends[later] += 1 }
        }

        /// Takes the ordinals from `index` on off, with their keys.
        mutating func split(at index: Int) -> Leaf {
            var rest = Leaf()
            var group = 0
            while group < ends.count, Int(ends[group]) <= index { group += 1 }
            rest.keys = Array(keys[group...])
            rest.ends = ends[group...].map { $0 - UInt16(index) }
            rest.ordinals = Array(ordinals[index...])
            let isCut = group < keys.count && start(of: group) < index
            keys.removeSubrange((isCut ? group + 1 : group)...)
            ends.removeSubrange((isCut ? group + 1 : group)...)
            if isCut { ends[group] = UInt16(index) }
            ordinals.removeSubrange(index...)
            return rest
        }

        mutating func append(_ other: Leaf) {
            let count = UInt16(ordinals.count)
            var first = 0
            if let last = keys.last, last == other.keys.first {
                ends[ends.count - 1] = other.ends[0] + count
                first = 1
            }
            keys += other.keys[first...]
            ends += other.ends[first...].map { $0 + count }
            ordinals += other.ordinals
        }
    }

    private static let leafCapacity = 512

    private var leaves: [Leaf] = []
    /// Each leaf's first entry.
    private var firstKeys: [Key] = []
    private var firstOrdinals: [UInt32] = []
    private(set) var count = 0
    private var groupCount = 0

    /// About what the tree takes in memory: arrays have room for a third more than they hold.
    var approximateBytes: Int { leaves.count * 200 + (count * 4 + groupCount * 18) * 4 / 3 }

    // MARK: Changes

    /// False when it is there already.
    @discardableResult
    mutating func insert(_ key: Key, _ ordinal: UInt32) -> Bool {
        if leaves.isEmpty {
            leaves.append(Leaf(keys: [key], ends: [1], ordinals: [ordinal]))
            firstKeys.append(key)
            firstOrdinals.append(ordinal)
            count = 1
            groupCount = 1
            return true
        }
        let leaf = leafIndex(of: key, ordinal)
        let group = leaves[leaf].group(of: key)
        let isKnown = group < leaves[leaf].keys.count && leaves[leaf].keys[group] == key
        let index = isKnown ? leaves[leaf].index(of: ordinal, inGroup: group) : leaves[leaf].start(of: group)
        if isKnown, index < Int(leaves[leaf].ends[group]), leaves[leaf].ordinals[index] == ordinal { return false }
        count += 1
        if leaves[leaf].ordinals.count == PostingTree.leafCapacity {
            splitLeaf(leaf, around: index)
            return insertSplit(key, ordinal, leaf)
        }
        if !isKnown { groupCount += 1 }
        leaves[leaf].insert(ordinal, at: index, group: group, key: key)
        if index == 0 { noteFirst(of: leaf) }
        return true
    }

    /// Entries come in rising order within a key, so what is in front of the new one is kept together and full.
    private mutating func splitLeaf(_ leaf: Int, around index: Int) {
        let cut = max(index, PostingTree.leafCapacity / 2)
        if cut >= PostingTree.leafCapacity { return }
        groupCount -= leaves[leaf].keys.count
        let rest = leaves[leaf].split(at: cut)
        groupCount += leaves[leaf].keys.count + rest.keys.count
        leaves.insert(rest, at: leaf + 1)
        firstKeys.insert(rest.keys[0], at: leaf + 1)
        firstOrdinals.insert(rest.ordinals[0], at: leaf + 1)
    }

    private mutating func insertSplit(_ key: Key, _ ordinal: UInt32, _ leaf: Int) -> Bool {
        if leaves[leaf].ordinals.count == PostingTree.leafCapacity {
            // It belongs behind all of a full leaf.
            leaves.insert(Leaf(keys: [key], ends: [1], ordinals: [ordinal]), at: leaf + 1)
            firstKeys.insert(key, at: leaf + 1)
            firstOrdinals.insert(ordinal, at: leaf + 1)
            groupCount += 1
            return true
        }
        // At the cut, in front of the second leaf's first entry, is the end of the first one.
        let group = leaves[leaf].group(of: key)
        let isKnown = group < leaves[leaf].keys.count && leaves[leaf].keys[group] == key
        let index = isKnown ? leaves[leaf].index(of: ordinal, inGroup: group) : leaves[leaf].start(of: group)
        if !isKnown { groupCount += 1 }
        leaves[leaf].insert(ordinal, at: index, group: group, key: key)
        if index == 0 { noteFirst(of: leaf) }
        return true
    }

    /// False when it is not there.
    @discardableResult
    mutating func remove(_ key: Key, _ ordinal: UInt32) -> Bool {
        if leaves.isEmpty { return false }
        let leaf = leafIndex(of: key, ordinal)
        let group = leaves[leaf].group(of: key)
        guard group < leaves[leaf].keys.count, leaves[leaf].keys[group] == key else { return false }
        let index = leaves[leaf].index(of: ordinal, inGroup: group)
        guard index < Int(leaves[leaf].ends[group]), leaves[leaf].ordinals[index] == ordinal else { return false }
        count -= 1
        leaves[leaf].ordinals.remove(at: index)
        for later in group..<leaves[leaf].ends.count { leaves[leaf].ends[later] -= 1 }
        if leaves[leaf].start(of: group) == Int(leaves[leaf].ends[group]) {
            leaves[leaf].keys.remove(at: group)
            leaves[leaf].ends.remove(at: group)
            groupCount -= 1
        }
        if leaves[leaf].ordinals.isEmpty {
            removeLeaf(leaf)
        } else {
            if index == 0 { noteFirst(of: leaf) }
            mergeLeaf(leaf)
        }
        return true
    }

    /// Joins a nearly empty leaf with the next one where that leaves room.
    private mutating func mergeLeaf(_ leaf: Int) {
        guard leaves[leaf].ordinals.count < PostingTree.leafCapacity / 4, leaf + 1 < leaves.count,
            leaves[leaf].ordinals.count + leaves[leaf + 1].ordinals.count <= PostingTree.leafCapacity * 3 / 4
        else { return }
        groupCount -= leaves[leaf].keys.count + leaves[leaf + 1].keys.count
        let next = leaves[leaf + 1]
        leaves[leaf].append(next)
        groupCount += leaves[leaf].keys.count
        removeLeaf(leaf + 1)
    }

    private mutating func removeLeaf(_ leaf: Int) {
        leaves.remove(at: leaf)
        firstKeys.remove(at: leaf)
        firstOrdinals.remove(at: leaf)
    }

    private mutating func noteFirst(of leaf: Int) {
        firstKeys[leaf] = leaves[leaf].keys[0]
        firstOrdinals[leaf] = leaves[leaf].ordinals[0]
    }

    /// The last leaf that does not begin behind the entry.
    private func leafIndex(of key: Key, _ ordinal: UInt32) -> Int {
        var low = 0
        var high = firstKeys.count
        while low < high {
            let middle = (low + high) / 2
            if firstKeys[middle] < key || firstKeys[middle] == key && firstOrdinals[middle] <= ordinal {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return max(low - 1, 0)
    }

    // MARK: Reading

    /// The first entry that is not in front of (key, ordinal), or nil.
    func position(of key: Key, _ ordinal: UInt32 = 0) -> Position? {
        if leaves.isEmpty { return nil }
        let leaf = leafIndex(of: key, ordinal)
        let group = leaves[leaf].group(of: key)
        if group == leaves[leaf].keys.count { return beginning(of: leaf + 1) }
        if leaves[leaf].keys[group] != key {
            return Position(leaf: leaf, group: group, index: leaves[leaf].start(of: group))
        }
        let index = leaves[leaf].index(of: ordinal, inGroup: group)
        if index == leaves[leaf].ordinals.count { return beginning(of: leaf + 1) }
        return Position(leaf: leaf, group: index < Int(leaves[leaf].ends[group]) ? group : group + 1, index: index)
    }

    private func beginning(of leaf: Int) -> Position? {
        leaf < leaves.count ? Position(leaf: leaf, group: 0, index: 0) : nil
    }

    func key(at position: Position) -> Key { leaves[position.leaf].keys[position.group] }
    func ordinal(at position: Position) -> UInt32 { leaves[position.leaf].ordinals[position.index] }

    func position(after position: Position) -> Position? {
        var next = position
        next.index += 1
        if next.index == Int(leaves[next.leaf].ends[next.group]) { next.group += 1 }
        return next.group == leaves[next.leaf].keys.count ? beginning(of: next.leaf + 1) : next
    }

    /// The largest key below `key`, or nil.
    func key(below key: Key) -> Key? {
        guard let position = position(of: key) else {
            return leaves.last?.keys.last
        }
        if position.group > 0 { return leaves[position.leaf].keys[position.group - 1] }
        return position.leaf > 0 ? leaves[position.leaf - 1].keys.last : nil
    }

    /// About how many entries stand in a range of keys: exact for those within a leaf or two.
    func estimate(_ range: ClosedRange<Key>) -> Int {
        guard let first = position(of: range.lowerBound), key(at: first) <= range.upperBound else { return 0 }
        let last = position(of: range.upperBound, .max)
        let end = last.map { ($0.leaf, $0.index) } ?? (leaves.count, 0)
        if end.0 == first.leaf { return end.1 - first.index }
        let between = (first.leaf + 1..<end.0)
        let inside = leaves[first.leaf].ordinals.count - first.index + end.1
        if between.count <= 4 { return inside + between.reduce(0) { $0 + leaves[$1].ordinals.count } }
        return inside + between.count * count / leaves.count
    }

    var testOnly_entries: [(key: Key, ordinal: UInt32)] {
        var entries: [(key: Key, ordinal: UInt32)] = []
        var place = position(of: 0)
        while let current = place {
            entries.append((key(at: current), ordinal(at: current)))
            place = position(after: current)
        }
        return entries
    }
}
