package import BrumeModel
internal import BrumeRecord

/// Which records of a zone have encrypted values, and in which trees they are.
extension Database {
    /// Visits the records of a part of a zone that have encrypted values: with a record's name, the name of the root of
    /// its tree, and the trees that its values name. It ends where `visit` returns false, or after about
    /// ``StoreLimits/encryptedRecordSteps`` steps.
    ///
    /// A record whose root is further up than devices look is left out.
    ///
    /// - Parameters:
    ///   - start: Where the part starts: 0, then what the last call returned. A record keeps its place as long as it
    ///     lives.
    ///   - zone: The zone's incarnation.
    /// - Returns: Where the next part starts; 0 where there is none.
    package func visitEncryptedRecords(
        from start: UInt32, inZone zone: UInt64,
        _ visit: (_ name: String, _ root: String, _ trees: Set<EncryptedHeader.TreeID>) -> Bool
    ) -> UInt32 {
        guard let index = zoneIndexOfIncarnation[zone] else { return 0 }
        let count = UInt32(zoneStates[index].slots.count)
        var walk = RootWalk()
        var place = start
        while place < count, walk.steps < StoreLimits.encryptedRecordSteps {
            let slot = Int32(place)
            place += 1
            walk.steps += 1
            if zoneStates[index].slots.isDeleted(slot) { continue }
            var trees: Set<EncryptedHeader.TreeID> = []
            zoneStates[index].slots.withBytes(of: slot) { bytes in
                StoredRecord.forEachEncryptedHeader(of: bytes) { header in
                    walk.steps += 1
                    if let header { trees.insert(header.treeID) }
                }
            }
            guard !trees.isEmpty, let root = root(above: slot, inZoneAt: index, &walk) else { continue }
            if !visit(zoneStates[index].slots[slot].name, root, trees) { break }
        }
        return place < count ? place : 0
    }

    /// What one call has seen of roots.
    private struct RootWalk {
        var steps = 0
        /// By the names of parents; nil where the root is too far up.
        var roots: [String: String?] = [:]
    }

    /// The name of the root of the tree that a record is in, as devices find it: the root of a share, or else the last
    /// record above it.
    private func root(above slot: Int32, inZoneAt index: Int, _ walk: inout RootWalk) -> String? {
        let state = zoneStates[index]
        if let root = rootSlot(ofTreeOver: slot, inZoneAt: index) { return state.slots[root].name }
        let parent = state.slots[slot].parent
        if parent.isEmpty { return state.slots[slot].name }
        if let known = walk.roots[parent] { return known }
        var (name, found) = (parent, String?.none)
        for _ in 0..<Limits.treeDepth {
            walk.steps += 1
            let next = state.parent(of: name)
            guard let next else {
                found = name
                break
            }
            name = next
        }
        walk.roots.updateValue(found, forKey: parent)
        return found
    }
}
