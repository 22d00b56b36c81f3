internal import BrumeEncryption
internal import BrumeModel

/// In which trees encrypted values are, and in which they should be.
extension CommitHistory {
    /// The id of the tree of a root, where the zone's ring says where that is.
    func tree(of root: String, in kept: KeptRings) -> EncryptedHeader.TreeID? {
        guard let place = kept.entries[""]?.first.flatMap(outline)?.ring.place else { return nil }
        return EncryptedHeader.TreeID(Tree(place: place, root: root, kind: .isPrivate).id)
    }

    /// The roots that a caller has to be told who asks for all trees of a zone; nil where that does not exist for them.
    func ringRoots(of zone: String, in state: State, to user: String?) -> Set<String>? {
        guard state.zones[zone] != nil, user.map({ state.start(of: $0, in: zone) != nil }) ?? true else { return nil }
        let kept = state.rings(of: zone)
        guard kept.entries[""] != nil else { return [] }
        return Set(kept.entries.keys.filter { !$0.isEmpty }).filter { root in
            user.map { state.mayLearn($0, ofRing: root, in: zone) } ?? true
        }
    }

    /// The records of shared trees in a zone that have encrypted values of others, or such of which the tree's ring
    /// hands on no keys.
    func misplacedRecords(of zone: String, in state: State) -> Set<String> {
        let kept = state.rings(of: zone)
        guard let records = state.zones[zone]?.records, let first = kept.entries[""]?.last.flatMap(outline),
            !first.isPerZone
        else { return [] }
        var misplaced: Set<String> = []
        for (name, version) in records {
            let headers = version.record.fields.values.compactMap { Self.header(of: $0) }
            guard !headers.isEmpty, let root = state.zones[zone]!.root(ofTreeOver: name) else { continue }
            let tree = tree(of: root, in: kept)!
            let first = kept.entries[root]?.first.flatMap(outline)?.zoneKeyNumber ?? .max
            if headers.contains(where: { $0.treeID != tree || !$0.isShared && $0.keyNumber >= first }) {
                misplaced.insert(name)
            }
        }
        return misplaced
    }
}
