/// Reads the entries of an index under ranges of keys: keys rising, or falling; numbers rising within each.
struct RangeReader {
    typealias Key = PostingTree.Key

    let index: FieldIndex
    private var ranges: ArraySlice<ClosedRange<Key>>
    private let isFalling: Bool
    /// The entry that was read last, within the first of `ranges`.
    private var last: (key: Key, ordinal: UInt32)?
    private var place: PostingTree.Position?
    private var isPlaced = false

    /// - Parameters:
    ///   - ranges: In the order in which they are read.
    ///   - last: Begins behind this entry, which is in the first range.
    init(
        _ index: FieldIndex, _ ranges: [ClosedRange<Key>], isFalling: Bool,
        after last: (key: Key, ordinal: UInt32)? = nil
    ) {
        self.index = index
        self.ranges = ranges[...]
        self.isFalling = isFalling
        self.last = last
    }

    /// Commits may have changed the index since.
    mutating func restart() {
        isPlaced = false
    }

    /// The next entry, or nil at the end.
    mutating func next() -> (key: Key, ordinal: UInt32)? {
        while let range = ranges.first {
            if !isPlaced {
                isPlaced = true
                place = start(of: range)
            } else if let place {
                self.place = index.tree.position(after: place)
            }
            if isFalling, let last, place.map({ index.tree.key(at: $0) }) != last.key {
                // The group is at its end; the next one is below it.
                place = index.tree.key(below: last.key).flatMap { index.tree.position(of: $0) }
            }
            if let place {
                let key = index.tree.key(at: place)
                if range.contains(key) {
                    last = (key, index.tree.ordinal(at: place))
                    return last
                }
            }
            ranges = ranges.dropFirst()
            last = nil
            isPlaced = false
        }
        return nil
    }

    private func start(of range: ClosedRange<Key>) -> PostingTree.Position? {
        if let last { return index.tree.position(of: last.key, last.ordinal + 1) }
        if !isFalling { return index.tree.position(of: range.lowerBound) }
        if let place = index.tree.position(of: range.upperBound), index.tree.key(at: place) == range.upperBound {
            return place
        }
        return index.tree.key(below: range.upperBound).flatMap { index.tree.position(of: $0) }
    }
}
