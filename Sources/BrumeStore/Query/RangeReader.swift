/// Reads the entries of an index under ranges of keys: keys rising, or falling; numbers rising within each.
struct RangeReader {
    typealias Key = PostingTree.Key

    let index: FieldIndex
    /// What is left of them.
    private var ranges: ArraySlice<ClosedRange<Key>>
    private let isFalling: Bool
    /// The entry that was read last, within the first of `ranges`.
    private var last: (key: Key, ordinal: UInt32)?
    private var place: PostingTree.Position?
    /// When keys fall: where the group of `last` begins, if that is known.
    private var groupStart: PostingTree.Position?
    private var isPlaced = false

    /// - Parameters:
    ///   - ranges: The ranges, in the order in which they are read.
    ///   - last: The entry after which reading begins; it is in the first range.
    init(
        _ index: FieldIndex, _ ranges: [ClosedRange<Key>], isFalling: Bool,
        after last: (key: Key, ordinal: UInt32)? = nil
    ) {
        self.index = index
        self.ranges = ranges[...]
        self.isFalling = isFalling
        self.last = last
    }

    /// Finds its place again at the next entry: commits may have changed the index.
    mutating func restart() {
        isPlaced = false
    }

    /// The next entry, or nil at the end.
    ///
    /// - Parameter tree: The tree of the index.
    mutating func next(_ tree: borrowing PostingTree) -> (key: Key, ordinal: UInt32)? {
        while let range = ranges.first {
            if !isPlaced {
                isPlaced = true
                place = start(of: range, tree)
                groupStart = last == nil ? place : nil
            } else if let place {
                self.place = tree.position(after: place)
            }
            if isFalling, let last, place.map({ tree.key(at: $0) }) != last.key {
                // The group is at its end; the next one is below it.
                place =
                    groupStart.flatMap { tree.group(below: $0) }
                    ?? tree.key(below: last.key).flatMap { tree.position(of: $0) }
                groupStart = place
            }
            if let place {
                let key = tree.key(at: place)
                if range.contains(key) {
                    last = (key, tree.ordinal(at: place))
                    return last
                }
            }
            ranges = ranges.dropFirst()
            last = nil
            isPlaced = false
        }
        return nil
    }

    private func start(of range: ClosedRange<Key>, _ tree: borrowing PostingTree) -> PostingTree.Position? {
        if let last { return tree.position(of: last.key, last.ordinal + 1) }
        if !isFalling { return tree.position(of: range.lowerBound) }
        if let place = tree.position(of: range.upperBound), tree.key(at: place) == range.upperBound {
            return place
        }
        return tree.key(below: range.upperBound).flatMap { tree.position(of: $0) }
    }
}
