/// The numbers of the records that stand under one of a few keys of an index, rising.
///
/// Its places are valid until a commit changes the index; call ``restart()`` then.
struct OrdinalStream {
    private struct Place {
        let key: PostingTree.Key
        var position: PostingTree.Position
        /// What stands there.
        var ordinal: UInt32
    }

    let index: FieldIndex
    private let keys: [PostingTree.Key]
    /// One for each key that is not at its end.
    private var places: [Place] = []
    private var isPlaced = false

    init(_ index: FieldIndex, _ keys: [PostingTree.Key]) {
        self.index = index
        self.keys = keys
    }

    mutating func restart() {
        isPlaced = false
    }

    /// The smallest number that is not below `ordinal`, or nil. The numbers that are asked for must rise.
    ///
    /// - Parameter tree: The tree of the index.
    mutating func next(from ordinal: UInt32, _ tree: borrowing PostingTree) -> UInt32? {
        if !isPlaced { begin(ordinal, tree) }
        var smallest: UInt32?
        var index = 0
        while index < places.count {
            if places[index].ordinal < ordinal {
                guard let next = tree.position(places[index].position, of: places[index].key, to: ordinal) else {
                    places.remove(at: index)
                    continue
                }
                places[index].position = next
                places[index].ordinal = tree.ordinal(at: next)
            }
            if smallest == nil || places[index].ordinal < smallest! { smallest = places[index].ordinal }
            index += 1
        }
        return smallest
    }

    private mutating func begin(_ ordinal: UInt32, _ tree: borrowing PostingTree) {
        isPlaced = true
        places.removeAll(keepingCapacity: true)
        for key in keys {
            if let position = tree.position(of: key, ordinal), tree.key(at: position) == key {
                places.append(Place(key: key, position: position, ordinal: tree.ordinal(at: position)))
            }
        }
    }
}
