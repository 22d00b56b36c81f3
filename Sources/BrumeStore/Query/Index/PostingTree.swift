/// An ordered set of (key, ordinal): which records have a key, in the order of their creation, keys in their own order.
///
/// A leaf has up to 512 ordinals, and each of its keys once: so a common key costs four bytes a record, and a key of
/// one record 22. Up to 512 leaves are a branch. So an insertion moves a few kilobytes at most, however many records
/// share the key, and however large the tree is.
struct PostingTree {
    typealias Key = UInt128

    /// One entry's place; valid until the tree changes.
    struct Position {
        var branch: Int
        var leaf: Int
        var group: Int
        var index: Int
    }

    static let leafCapacity = 512
    static let branchCapacity = 512

    private var branches: [PostingBranch] = []
    /// Each branch's first entry.
    private var firstKeys: [Key] = []
    private var firstOrdinals: [UInt32] = []
    private(set) var count = 0
    private var groupCount = 0
    private var leafCount = 0

    /// About what the tree takes in memory: arrays have room for a third more than they hold.
    var approximateBytes: Int { leafCount * 200 + (count * 4 + groupCount * 18) * 4 / 3 }

    // MARK: Changes

    /// Adds an entry. Returns false when it exists already.
    @discardableResult
    mutating func insert(_ key: Key, _ ordinal: UInt32) -> Bool {
        if branches.isEmpty {
            append(key, [ordinal])
            return true
        }
        let branch = branchIndex(of: key, ordinal)
        count += 1
        groupCount -= branches[branch].groupCount
        leafCount -= branches[branch].leaves.count
        let isNew = branches[branch].insert(key, ordinal)
        groupCount += branches[branch].groupCount
        leafCount += branches[branch].leaves.count
        if !isNew { count -= 1 }
        if branches[branch].leaves.count > PostingTree.branchCapacity {
            // A tree that grows at its end keeps its branches full.
            let isLast = branch == branches.count - 1
            insertBranch(branches[branch].split(isLast ? PostingTree.branchCapacity : 256), at: branch + 1)
        }
        noteFirst(of: branch)
        return isNew
    }

    /// Appends entries after all others, unchecked: those of one key, rising, at most a leaf's worth.
    mutating func append(_ key: Key, _ ordinals: [UInt32]) {
        if branches.isEmpty || branches[branches.count - 1].isFull(for: ordinals.count) {
            insertBranch(PostingBranch(), at: branches.count)
        }
        let branch = branches.count - 1
        groupCount -= branches[branch].groupCount
        leafCount -= branches[branch].leaves.count
        branches[branch].append(key, ordinals)
        groupCount += branches[branch].groupCount
        leafCount += branches[branch].leaves.count
        count += ordinals.count
        if branches[branch].count == ordinals.count { noteFirst(of: branch) }
    }

    /// Removes an entry. Returns false when it does not exist.
    @discardableResult
    mutating func remove(_ key: Key, _ ordinal: UInt32) -> Bool {
        if branches.isEmpty { return false }
        let branch = branchIndex(of: key, ordinal)
        groupCount -= branches[branch].groupCount
        leafCount -= branches[branch].leaves.count
        let isGone = branches[branch].remove(key, ordinal)
        groupCount += branches[branch].groupCount
        leafCount += branches[branch].leaves.count
        if !isGone { return false }
        count -= 1
        if branches[branch].leaves.isEmpty {
            removeBranch(branch)
        } else {
            noteFirst(of: branch)
            mergeBranch(branch)
        }
        return true
    }

    /// Drops the last entries, some hundred leaves of them. Returns false when there are none.
    mutating func dropBranch() -> Bool {
        guard let last = branches.popLast() else { return false }
        firstKeys.removeLast()
        firstOrdinals.removeLast()
        count -= last.count
        groupCount -= last.groupCount
        leafCount -= last.leaves.count
        return true
    }

    /// Joins a nearly empty branch with the next one where that leaves room.
    private mutating func mergeBranch(_ branch: Int) {
        guard branches[branch].leaves.count < PostingTree.branchCapacity / 4, branch + 1 < branches.count,
            branches[branch].leaves.count + branches[branch + 1].leaves.count <= PostingTree.branchCapacity * 3 / 4
        else { return }
        let next = branches[branch + 1]
        branches[branch].append(next)
        removeBranch(branch + 1)
    }

    private mutating func insertBranch(_ new: PostingBranch, at branch: Int) {
        branches.insert(new, at: branch)
        firstKeys.insert(0, at: branch)
        firstOrdinals.insert(0, at: branch)
        if !new.leaves.isEmpty { noteFirst(of: branch) }
    }

    private mutating func removeBranch(_ branch: Int) {
        branches.remove(at: branch)
        firstKeys.remove(at: branch)
        firstOrdinals.remove(at: branch)
    }

    private mutating func noteFirst(of branch: Int) {
        firstKeys[branch] = branches[branch].firstKeys[0]
        firstOrdinals[branch] = branches[branch].firstOrdinals[0]
    }

    /// The last branch that does not begin after the entry.
    private func branchIndex(of key: Key, _ ordinal: UInt32) -> Int {
        PostingBranch.last(firstKeys, firstOrdinals, notBehind: key, ordinal)
    }

    // MARK: Reading

    /// The first entry that does not come before (key, ordinal), or nil.
    func position(of key: Key, _ ordinal: UInt32 = 0) -> Position? {
        if branches.isEmpty { return nil }
        let branch = branchIndex(of: key, ordinal)
        let leaf = branches[branch].leafIndex(of: key, ordinal)
        let group = branches[branch].leaves[leaf].group(of: key)
        if group == branches[branch].leaves[leaf].keys.count { return beginning(branch, leaf + 1) }
        if branches[branch].leaves[leaf].keys[group] != key {
            return Position(
                branch: branch, leaf: leaf, group: group, index: branches[branch].leaves[leaf].start(of: group))
        }
        let index = branches[branch].leaves[leaf].index(of: ordinal, inGroup: group)
        if index == branches[branch].leaves[leaf].ordinals.count { return beginning(branch, leaf + 1) }
        let isInGroup = index < Int(branches[branch].leaves[leaf].ends[group])
        return Position(branch: branch, leaf: leaf, group: isInGroup ? group : group + 1, index: index)
    }

    private func beginning(_ branch: Int, _ leaf: Int) -> Position? {
        if leaf < branches[branch].leaves.count { return Position(branch: branch, leaf: leaf, group: 0, index: 0) }
        return branch + 1 < branches.count ? Position(branch: branch + 1, leaf: 0, group: 0, index: 0) : nil
    }

    func key(at position: Position) -> Key {
        branches[position.branch].leaves[position.leaf].keys[position.group]
    }

    func ordinal(at position: Position) -> UInt32 {
        branches[position.branch].leaves[position.leaf].ordinals[position.index]
    }

    func position(after position: Position) -> Position? {
        var next = position
        next.index += 1
        if next.index < Int(branches[next.branch].leaves[next.leaf].ends[next.group]) { return next }
        next.group += 1
        if next.group < branches[next.branch].leaves[next.leaf].keys.count { return next }
        return beginning(next.branch, next.leaf + 1)
    }

    /// The first entry of the key at `position` whose ordinal is not below `ordinal`, at or after the position; nil
    /// when there is none.
    func position(_ position: Position, of key: Key, to ordinal: UInt32) -> Position? {
        let end = Int(branches[position.branch].leaves[position.leaf].ends[position.group])
        var next = position
        // Usually it is at the position, or right after it.
        for _ in 0..<2 where next.index < end {
            if branches[next.branch].leaves[next.leaf].ordinals[next.index] >= ordinal { return next }
            next.index += 1
        }
        if next.index < end, branches[next.branch].leaves[next.leaf].ordinals[end - 1] >= ordinal {
            next.index = branches[next.branch].leaves[next.leaf].index(of: ordinal, in: next.index..<end)
            return next
        }
        guard let found = self.position(of: key, ordinal), self.key(at: found) == key else { return nil }
        return found
    }

    /// The beginning of the group before the one that begins at `start`, if it is known without a search; else nil.
    func group(below start: Position) -> Position? {
        // The first group of a leaf may have begun in the leaf before.
        guard start.group > 1 else { return nil }
        var position = start
        position.group -= 1
        position.index = branches[start.branch].leaves[start.leaf].start(of: position.group)
        return position
    }

    /// The largest key below `key`, or nil.
    func key(below key: Key) -> Key? {
        guard let position = position(of: key) else { return branches.last?.leaves.last?.keys.last }
        if position.group > 0 { return branches[position.branch].leaves[position.leaf].keys[position.group - 1] }
        if position.leaf > 0 { return branches[position.branch].leaves[position.leaf - 1].keys.last }
        return position.branch > 0 ? branches[position.branch - 1].leaves.last?.keys.last : nil
    }

    /// About how many entries stand in a range of keys: exact for those within a leaf or two.
    func estimate(_ range: ClosedRange<Key>) -> Int {
        guard let first = position(of: range.lowerBound), key(at: first) <= range.upperBound else { return 0 }
        let end =
            position(of: range.upperBound, .max)
            ?? Position(branch: branches.count, leaf: 0, group: 0, index: 0)
        if end.branch == first.branch {
            return branches[end.branch].estimate(from: (first.leaf, first.index), to: (end.leaf, end.index))
        }
        var sum = branches[first.branch].estimate(
            from: (first.leaf, first.index), to: (branches[first.branch].leaves.count, 0))
        for branch in first.branch + 1..<end.branch { sum += branches[branch].count }
        if end.branch < branches.count {
            sum += branches[end.branch].estimate(from: (0, 0), to: (end.leaf, end.index))
        }
        return sum
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
