internal import BrumeEncryption
internal import BrumeModel

/// The records from one to the root of the shared tree in which a server shows it, and what bears that out. Pure.
///
/// Guests read what is encrypted in a shared tree, and which record is below which is the server's word. But what a
/// record has encrypted names the tree in which that was done: where it is another one, somebody with keys has to have
/// put the record where it is shown, or whatever is above it, and to have said so with a stamp.
struct ShownPath {
    /// From the record on; the last one is the root.
    let names: [String]
    private let ids: [[UInt8]]

    init(_ names: [String], in place: Place) {
        self.names = names
        ids = names.map { Tree(place: place, root: $0, kind: .isPrivate).id }
    }

    /// The first of the records whose place below the next one needs a stamp; nil where what the record has encrypted
    /// was encrypted in this tree, or nothing is.
    ///
    /// A value of a tree whose root is on the path says that the record belongs below that one, and no more.
    func firstToProve(_ treeIDs: Set<[UInt8]>) -> Int? {
        treeIDs.subtracting([ids[ids.count - 1]]).map { ids.firstIndex(of: $0) ?? 0 }.min()
    }

    /// The same for what is above the record: nothing there may have something encrypted that is of another tree.
    ///
    /// - Parameter treeIDs: The trees of what a record has encrypted; none where nothing is known of it.
    func firstToProveAbove(_ treeIDs: (String) -> Set<[UInt8]>) -> Int? {
        names.indices.dropFirst().dropLast().flatMap { index in
            let others = treeIDs(names[index]).subtracting([ids[ids.count - 1]])
            return others.map { ids[index...].firstIndex(of: $0) ?? index }
        }.min()
    }

    /// The first record that no stamp says is below the one behind it; nil where all are.
    ///
    /// - Parameters:
    ///   - records: As the server has them, by name.
    ///   - isGiven: Of which records the app has set the parent just now: those need no stamp.
    ///   - ciphers: The keys that a stamp may be of.
    func firstUnproved(
        from index: Int, _ records: [String: Record], isGiven: (String) -> Bool, ciphers: (ValueHeader) -> [TreeCipher]
    ) -> String? {
        zip(names, names.dropFirst()).dropFirst(index).first { name, parent in
            !isGiven(name) && stampHeader(of: name, below: parent, records, ciphers) == nil
        }?.0
    }

    /// The same for a record that is encrypted anew without an app that sends anything: what says where it is has to be
    /// such that nobody with whom the tree is shared could have made it.
    ///
    /// Each record up to the one that moved has a stamp of a key that guests of this tree don't have. The record's own
    /// is of a tree of its values: what it has encrypted would pass with an old stamp else. Or its values are of a tree
    /// that the one above has left: they came into that one with something above them, and kept their stamps. That the
    /// one above them moved is what the device has noted, and the stamp of its move says that no other device has moved
    /// it since.
    ///
    /// - Parameters:
    ///   - treeIDs: The trees of the record's values.
    ///   - moved: The records that this device has put below others.
    ///   - believesStamps: Whether a stamp of the tree itself says as much, which its guests, too, can make.
    func firstUnprovedAnew(
        _ treeIDs: Set<[UInt8]>, _ records: [String: Record], moved: [String: Move],
        believesStamps: Bool, ciphers: (ValueHeader) -> [TreeCipher]
    ) -> String? {
        let root = ids[ids.count - 1]
        let former = treeIDs.subtracting([root])
        func move(of name: String, below parent: String) -> Move? {
            guard let move = moved[name], move.parent == parent, records[name]?.system.parent == parent else {
                return nil
            }
            return move
        }
        let left = zip(names, names.dropFirst()).lazy.compactMap(move).first?.formerTreeIDs ?? []
        var hasCome = false
        for (index, (name, parent)) in zip(names, names.dropFirst()).enumerated() {
            guard let header = stampHeader(of: name, below: parent, records, ciphers) else { return name }
            if move(of: name, below: parent) != nil { hasCome = true }
            if hasCome { continue }
            let isOfValues = former.contains(header.treeID)
            let isOfZone = header.kind == .isPrivate && header.treeID != root
            if isOfValues || isOfZone && (index > 0 || former.isSubset(of: left)) { continue }
            guard believesStamps, header.treeID == root else { return name }
            hasCome = true
        }
        return nil
    }

    /// The header of the stamp that says that a record is below another one; nil where none does.
    private func stampHeader(
        of name: String, below parent: String, _ records: [String: Record], _ ciphers: (ValueHeader) -> [TreeCipher]
    ) -> ValueHeader? {
        guard let system = records[name]?.system, system.name == name, system.parent == parent,
            let header = try? ValueHeader(of: system.stamp)
        else { return nil }
        let isGenuine = ciphers(header).contains { cipher in
            let record = cipher.record(named: name, type: system.type)
            return (try? record.check(stamp: system.stamp, parent: parent)) != nil
        }
        return isGenuine ? header : nil
    }
}
