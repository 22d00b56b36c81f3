/// Some entries of a ``PostingTree`` that follow each other.
struct PostingLeaf {
    typealias Key = PostingTree.Key

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
        index(of: ordinal, in: start(of: group)..<Int(ends[group]))
    }

    func index(of ordinal: UInt32, in range: Range<Int>) -> Int {
        var low = range.lowerBound
        var high = range.upperBound
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

    /// Removes an entry, with its key if that was its only one.
    mutating func remove(at index: Int, group: Int) {
        ordinals.remove(at: index)
        for later in group..<ends.count { ends[later] -= 1 }
        if start(of: group) == Int(ends[group]) {
            keys.remove(at: group)
            ends.remove(at: group)
        }
    }

    /// Splits off the ordinals from `index` on, with their keys.
    mutating func split(at index: Int) -> PostingLeaf {
        var rest = PostingLeaf()
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

    /// Frees the room that growing took too much of.
    mutating func trim() {
        if keys.capacity > keys.count * 5 / 4 { keys = keys.withUnsafeBufferPointer { Array($0) } }
        if ends.capacity > ends.count * 5 / 4 { ends = ends.withUnsafeBufferPointer { Array($0) } }
        if ordinals.capacity > ordinals.count * 5 / 4 { ordinals = ordinals.withUnsafeBufferPointer { Array($0) } }
    }

    mutating func append(_ other: PostingLeaf) {
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
