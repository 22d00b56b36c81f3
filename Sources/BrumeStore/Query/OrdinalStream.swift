/// The numbers of the records that stand under one of a few keys of an index, rising.
///
/// Its places are valid until a commit changes the index: ``restart()`` begins every step.
struct OrdinalStream {
    let index: FieldIndex
    private let keys: [PostingTree.Key]
    /// One for each key that is not at its end.
    private var places: [(key: PostingTree.Key, place: PostingTree.Position)] = []
    private var isPlaced = false

    init(_ index: FieldIndex, _ keys: [PostingTree.Key]) {
        self.index = index
        self.keys = keys
    }

    mutating func restart() {
        isPlaced = false
    }

    /// The smallest number that is not below `ordinal`, or nil. Numbers that are asked for rise.
    mutating func next(from ordinal: UInt32) -> UInt32? {
        if !isPlaced {
            isPlaced = true
            places.removeAll(keepingCapacity: true)
            for key in keys {
                if let place = index.tree.position(of: key, ordinal), index.tree.key(at: place) == key {
                    places.append((key, place))
                }
            }
        }
        var smallest: UInt32?
        var position = 0
        while position < places.count {
            let key = places[position].key
            var found = index.tree.ordinal(at: places[position].place)
            if found < ordinal {
                var place = index.tree.position(after: places[position].place)
                if let next = place, index.tree.key(at: next) == key, index.tree.ordinal(at: next) < ordinal {
                    place = index.tree.position(of: key, ordinal)
                }
                guard let place, index.tree.key(at: place) == key else {
                    places.remove(at: position)
                    continue
                }
                places[position].place = place
                found = index.tree.ordinal(at: place)
            }
            if smallest == nil || found < smallest! { smallest = found }
            position += 1
        }
        return smallest
    }
}
