/// Some leaves of a ``PostingTree`` that follow each other.
struct PostingBranch {
    typealias Key = PostingTree.Key

    private(set) var leaves: [PostingLeaf] = []
    /// Each leaf's first entry.
    private(set) var firstKeys: [Key] = []
    private(set) var firstOrdinals: [UInt32] = []
    /// Entries of all leaves.
    private(set) var count = 0
    /// Keys of all leaves.
    private(set) var groupCount = 0

    /// The index of the last of some rising entries that does not come after the given one, or 0.
    static func last(_ keys: [Key], _ ordinals: [UInt32], notBehind key: Key, _ ordinal: UInt32) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key || keys[middle] == key && ordinals[middle] <= ordinal {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return max(low - 1, 0)
    }

    /// The last leaf that does not begin after the entry.
    func leafIndex(of key: Key, _ ordinal: UInt32) -> Int {
        PostingBranch.last(firstKeys, firstOrdinals, notBehind: key, ordinal)
    }

    // MARK: Changes

    /// Adds an entry. Returns false when it exists already.
    mutating func insert(_ key: Key, _ ordinal: UInt32) -> Bool {
        let leaf = leafIndex(of: key, ordinal)
        let group = leaves[leaf].group(of: key)
        let isKnown = group < leaves[leaf].keys.count && leaves[leaf].keys[group] == key
        let index = isKnown ? leaves[leaf].index(of: ordinal, inGroup: group) : leaves[leaf].start(of: group)
        if isKnown, index < Int(leaves[leaf].ends[group]), leaves[leaf].ordinals[index] == ordinal { return false }
        count += 1
        if leaves[leaf].ordinals.count == PostingTree.leafCapacity {
            splitLeaf(leaf, around: index)
            insertSplit(key, ordinal, leaf)
            return true
        }
        if !isKnown { groupCount += 1 }
        leaves[leaf].insert(ordinal, at: index, group: group, key: key)
        if index == 0 { noteFirst(of: leaf) }
        return true
    }

    /// Entries come in rising order within a key, so those before the new one are kept together in a full leaf.
    private mutating func splitLeaf(_ leaf: Int, around index: Int) {
        let cut = max(index, PostingTree.leafCapacity / 2)
        if cut >= PostingTree.leafCapacity { return }
        groupCount -= leaves[leaf].keys.count
        let rest = leaves[leaf].split(at: cut)
        groupCount += leaves[leaf].keys.count
        insertLeaf(rest, at: leaf + 1)
    }

    private mutating func insertSplit(_ key: Key, _ ordinal: UInt32, _ leaf: Int) {
        if leaves[leaf].ordinals.count == PostingTree.leafCapacity {
            // It belongs after all entries of a full leaf.
            return insertLeaf(PostingLeaf(keys: [key], ends: [1], ordinals: [ordinal]), at: leaf + 1)
        }
        // An entry at the cut, before the second leaf's first one, belongs at the end of the first leaf.
        let group = leaves[leaf].group(of: key)
        let isKnown = group < leaves[leaf].keys.count && leaves[leaf].keys[group] == key
        let index = isKnown ? leaves[leaf].index(of: ordinal, inGroup: group) : leaves[leaf].start(of: group)
        if !isKnown { groupCount += 1 }
        leaves[leaf].insert(ordinal, at: index, group: group, key: key)
        if index == 0 { noteFirst(of: leaf) }
    }

    /// Whether there is no room for another leaf, and none for so many entries in the last one.
    func isFull(for more: Int) -> Bool {
        leaves.count == PostingTree.branchCapacity
            && leaves[leaves.count - 1].ordinals.count + more > PostingTree.leafCapacity
    }

    /// Appends entries of one key after all others.
    mutating func append(_ key: Key, _ ordinals: [UInt32]) {
        let last = leaves.count - 1
        guard last >= 0, leaves[last].ordinals.count + ordinals.count <= PostingTree.leafCapacity else {
            count += ordinals.count
            if last >= 0 { leaves[last].trim() }
            return insertLeaf(
                PostingLeaf(keys: [key], ends: [UInt16(ordinals.count)], ordinals: ordinals), at: leaves.count)
        }
        count += ordinals.count
        leaves[last].ordinals += ordinals
        if leaves[last].keys[leaves[last].keys.count - 1] == key {
            leaves[last].ends[leaves[last].ends.count - 1] += UInt16(ordinals.count)
        } else {
            leaves[last].keys.append(key)
            leaves[last].ends.append(UInt16(leaves[last].ordinals.count))
            groupCount += 1
        }
    }

    /// Removes an entry. Returns false when it does not exist.
    mutating func remove(_ key: Key, _ ordinal: UInt32) -> Bool {
        let leaf = leafIndex(of: key, ordinal)
        let group = leaves[leaf].group(of: key)
        guard group < leaves[leaf].keys.count, leaves[leaf].keys[group] == key else { return false }
        let index = leaves[leaf].index(of: ordinal, inGroup: group)
        guard index < Int(leaves[leaf].ends[group]), leaves[leaf].ordinals[index] == ordinal else { return false }
        count -= 1
        groupCount -= leaves[leaf].keys.count
        leaves[leaf].remove(at: index, group: group)
        groupCount += leaves[leaf].keys.count
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
        let next = leaves[leaf + 1]
        removeLeaf(leaf + 1)
        groupCount -= leaves[leaf].keys.count
        leaves[leaf].append(next)
        groupCount += leaves[leaf].keys.count
    }

    private mutating func insertLeaf(_ new: PostingLeaf, at leaf: Int) {
        leaves.insert(new, at: leaf)
        firstKeys.insert(new.keys[0], at: leaf)
        firstOrdinals.insert(new.ordinals[0], at: leaf)
        groupCount += new.keys.count
    }

    private mutating func removeLeaf(_ leaf: Int) {
        groupCount -= leaves[leaf].keys.count
        leaves.remove(at: leaf)
        firstKeys.remove(at: leaf)
        firstOrdinals.remove(at: leaf)
    }

    private mutating func noteFirst(of leaf: Int) {
        firstKeys[leaf] = leaves[leaf].keys[0]
        firstOrdinals[leaf] = leaves[leaf].ordinals[0]
    }

    /// Splits off the leaves from the given one on.
    mutating func split(_ leaf: Int) -> PostingBranch {
        var rest = PostingBranch()
        rest.leaves = Array(leaves[leaf...])
        rest.firstKeys = Array(firstKeys[leaf...])
        rest.firstOrdinals = Array(firstOrdinals[leaf...])
        for part in rest.leaves {
            rest.count += part.ordinals.count
            rest.groupCount += part.keys.count
        }
        leaves.removeSubrange(leaf...)
        firstKeys.removeSubrange(leaf...)
        firstOrdinals.removeSubrange(leaf...)
        count -= rest.count
        groupCount -= rest.groupCount
        return rest
    }

    mutating func append(_ other: PostingBranch) {
        leaves += other.leaves
        firstKeys += other.firstKeys
        firstOrdinals += other.firstOrdinals
        count += other.count
        groupCount += other.groupCount
    }

    // MARK: Reading

    /// About how many entries stand between two places: exact where few leaves are between them.
    func estimate(from start: (leaf: Int, index: Int), to end: (leaf: Int, index: Int)) -> Int {
        if start.leaf == end.leaf { return end.index - start.index }
        let inside = leaves[start.leaf].ordinals.count - start.index + end.index
        let between = start.leaf + 1..<end.leaf
        if between.count <= 4 { return inside + between.reduce(0) { $0 + leaves[$1].ordinals.count } }
        return inside + between.count * count / leaves.count
    }
}
