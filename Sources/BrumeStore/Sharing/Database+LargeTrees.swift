package import BrumeModel
internal import BrumeRecord

/// A record that a request shares with many others below it. Its tree is made ready before the request is decided, in
/// steps, so that nobody waits for all of them: see ``Database/continueTree(_:units:)``.
package struct LargeTree: Hashable, Sendable {
    /// The zone's incarnation.
    let zone: UInt64
    /// The record's name.
    let root: String
}

extension Database {
    /// What a step says of a tree.
    package enum TreeProgress {
        case underWay
        /// The request can be decided in this turn. So it can where the record is gone: it will say so.
        case ready
        /// A record with others below it was moved meanwhile: to be begun anew.
        case broken
    }

    /// The records that a request of the owner's shares with more below them than come into a share with the commit
    /// alone.
    ///
    /// - Parameter limit: How many records those may be, for all shares of the request together.
    package func largeTrees(
        of request: ModifyRecordsRequest<CheckedFields>, above limit: Int
    ) -> [LargeTree] {
        var left = limit
        var found: [LargeTree] = []
        for modification in request.zones where !modification.shares.isEmpty {
            guard case .success(let index) = zoneIndex(of: modification.zone), !zoneStates[index].isDefault,
                zoneStates[index].sharing.shares[Names.zoneShare] == nil
            else { continue }
            let zone = zoneStates[index]
            let roots = modification.saves.compactMap { save -> String? in
                let root = zone.liveSlot(of: save.name) == nil ? modification.shares[save.name]?.root : nil
                return root.flatMap { $0.isEmpty ? nil : $0 }
            }
            // Where one stands below another the request is refused, and needs no tree.
            var parents = ShareTree(roots: []) { zone.parent(of: $0) }
            if Set(roots).count < roots.count || !parents.refusals(of: Set(roots)).isEmpty { return [] }
            for name in roots where found.count < StoreLimits.preparedTreesPerDatabase {
                // One that is shared already is refused, too.
                guard let root = zone.liveSlot(of: name), zone.trees.cover(of: root) == 0 else { continue }
                if let count = zone.holdsTree(of: root, within: left) {
                    left -= count
                } else {
                    found.append(LargeTree(zone: zone.incarnation, root: name))
                }
            }
        }
        return found
    }

    /// Begins to make a tree ready. Every one that was begun has to be ended.
    ///
    /// Throws `zoneBusy` where others have to be decided before.
    package func beginTree(_ tree: LargeTree) throws(ServiceError) {
        guard let index = zoneIndexOfIncarnation[tree.zone], let root = zoneStates[index].liveSlot(of: tree.root)
        else { return }
        guard preparedTrees.count < StoreLimits.preparedTreesPerDatabase,
            withZone(at: index, { $0.prepareTree(below: root) })
        else { throw Database.treesAreBusy }
        preparedTrees.insert(tree)
    }

    /// Goes on with a tree, by so many records at the most.
    package func continueTree(_ tree: LargeTree, units: Int) -> TreeProgress {
        guard let index = zoneIndexOfIncarnation[tree.zone] else { return .ready }
        return withZone(at: index) { $0.continueTree(below: tree.root, units: units) }
    }

    /// Drops what was made ready and is not in a share.
    package func endTree(_ tree: LargeTree) {
        preparedTrees.remove(tree)
        guard let index = zoneIndexOfIncarnation[tree.zone] else { return }
        withZone(at: index) { $0.trees.dropPreparation(below: tree.root) }
    }

    /// Why a record with many below it is not shared now.
    package static let treesAreBusy = ServiceError(
        .zoneBusy, "records with many others below them are being shared or moved in this zone; try again shortly",
        retryAfterMilliseconds: 1_000)
}
