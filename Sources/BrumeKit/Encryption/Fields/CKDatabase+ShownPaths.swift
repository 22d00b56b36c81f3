internal import BrumeEncryption
internal import BrumeModel

/// Finding out whether records are in the shared trees in which a server shows them.
extension CKDatabase {
    /// Why nothing may be encrypted in records for those with whom a tree is shared, by the records' names: what is
    /// encrypted in them already, or in what is above them, is of another tree, and no stamp says that they were put
    /// into this one.
    ///
    /// It costs nothing where all of that is of the tree. A guest's device knows the trees alone whose keys it has:
    /// what is of others says nothing there.
    ///
    /// - Parameters:
    ///   - trees: With which the roots were found.
    ///   - moving: Records that move, as the server has them: all that is encrypted in them is encrypted anew.
    /// - Returns: Also the names of those for which the same is so in a private tree, which is shown to nobody.
    func doubtfulPlaces(
        of zone: OutgoingZone, _ places: [Int], _ roots: [String: String], _ trees: ZoneTrees,
        moving: [String: Record], _ sealer: RecordSealer, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> (refusals: [String: CKError], inPrivateTrees: Set<String>) {
        let zones = account.encryptedZones
        let given = Set(zone.saves.filter(\.setsParent).map(\.name))
        let seen = try await treesSeen(of: zone, places, roots, trees, sealer, account, options)
        var refusals: [String: CKError] = [:]
        let knownRoots = databaseScope == .shared ? zones.knownRoots(zone.id.ringID) : []
        var doubtful: [(name: String, root: String, path: ShownPath, index: Int, above: [String], ids: Set<[UInt8]>?)] =
            []
        for place in places {
            let outgoing = zone.saves[place]
            let name = outgoing.name
            guard let root = roots[name], root != name else { continue }
            let tree = sealer.tree(root: root)
            if tree.kind == .isPrivate, databaseScope == .shared || sealer.isPerZone { continue }
            let known =
                databaseScope == .shared
                ? Set(knownRoots.map { Tree(place: tree.place, root: $0, kind: .isShared).id }) : nil
            func evidence(_ ids: Set<[UInt8]>) -> Set<[UInt8]> { known.map { ids.intersection($0) } ?? ids }
            let shown = outgoing.treeIDs.union((moving[name]?.valueHeaders ?? []).map(\.treeID))
            let ids = evidence(shown.union(seen.treeIDs(of: name)))
            let shownPath = trees.path(of: name, parent: outgoing.sent.parent)
            // Where the root is further up than is looked nothing above bears it out.
            let isOnPath = shownPath.contains(root)
            let path = ShownPath(
                isOnPath ? Array(shownPath.prefix { $0 != root }) + [root] : [name, root], in: tree.place)
            if !isOnPath, tree.kind == .isShared, ids != [tree.id] {
                refusals[name] = .withDoubtfulPlace(name, below: root, unproved: name)
                continue
            }
            let above = path.firstToProveAbove { evidence(seen.treeIDs(of: $0)) }
            // In a private tree an app may put a record below one that has no stamp.
            let own = tree.kind == .isPrivate && given.contains(name) ? nil : path.firstToProve(ids)
            guard let index = [own, above].compactMap(\.self).min() else { continue }
            let isAnew = outgoing.isEncryptedAnew
            doubtful.append((name, root, path, isAnew ? 0 : index, shownPath, isAnew ? ids : nil))
        }
        if doubtful.isEmpty { return (refusals, []) }
        let names = Set(doubtful.flatMap { $0.path.names[$0.index...].dropLast() }).subtracting(given)
        let records = try await fetchRaw(names.sorted(), zone.id, desiredKeys: [], account, options)
        var inPrivateTrees: Set<String> = []
        for item in doubtful {
            let stamped = item.path.names.compactMap { records[$0] }
            let rings = try await keys(ofStamps: stamped, above: item.above, zone.id, account, options)
            func ciphers(_ header: ValueHeader) -> [TreeCipher] { rings.flatMap { $0.ciphers(header) } }
            // What was noted ends with a save that puts something elsewhere, also while this goes on.
            let moved =
                zones.withMovedZones { $0.endings(in: zone.id.ringID) } == zone.endingsOfMoves ? zone.moved : [:]
            let unproved =
                if let ids = item.ids {
                    item.path.firstUnprovedAnew(
                        ids, records, moved: moved, believesStamps: zone.believesStamps,
                        ciphers: ciphers)
                } else {
                    item.path.firstUnproved(
                        from: item.index, records, isGiven: { given.contains($0) }, ciphers: ciphers)
                }
            guard let unproved else {
                let proved = item.path.names[item.index...].dropLast().filter { !given.contains($0) }
                zones.updateTrees(zone.id.ringID) { $0.forgetTrees(of: proved) }
                continue
            }
            if sealer.tree(root: item.root).kind == .isPrivate {
                inPrivateTrees.insert(item.name)
                continue
            }
            refusals[item.name] = .withDoubtfulPlace(item.name, below: item.root, unproved: unproved)
        }
        return (refusals, inPrivateTrees)
    }

    /// What is known of the records, after the server was asked for what is above them and was not seen yet, or not
    /// whole.
    private func treesSeen(
        of zone: OutgoingZone, _ places: [Int], _ roots: [String: String], _ trees: ZoneTrees, _ sealer: RecordSealer,
        _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> ZoneTrees {
        let zones = account.encryptedZones
        let known = zones.trees(zone.id.ringID)
        let new = Set(zone.saves.filter { $0.sent.version == nil }.map(\.name))
        var unseen: Set<String> = []
        for outgoing in places.map({ zone.saves[$0] }) where !sealer.isPerZone {
            guard let root = roots[outgoing.name], root != outgoing.name else { continue }
            let above = trees.path(of: outgoing.name, parent: outgoing.sent.parent).dropFirst().prefix { $0 != root }
            unseen.formUnion(above.filter { !known.knowsTrees(of: $0) })
        }
        unseen.subtract(new)
        if unseen.isEmpty { return known }
        try await fetchParents(of: unseen.sorted(), withTrees: true, zone.id, account, options)
        return zones.trees(zone.id.ringID)
    }

    /// The keys with which stamps of records may have been made: those that are known, and those of shared trees whose
    /// roots are above them.
    private func keys(
        ofStamps records: some Sequence<Record>, above names: [String], _ zoneID: CKRecordZone.ID,
        _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> [RingKeys] {
        let zones = account.encryptedZones
        let zone = zoneID.ringID
        var known = zones.allKnownKeys(zone)
        guard let place = known.first?.place else { return [] }
        let ids = names.map { Tree(place: place, root: $0, kind: .isShared).id }
        for record in records {
            guard let header = try? ValueHeader(of: record.system.stamp),
                known.allSatisfy({ $0.ciphers(header).isEmpty })
            else { continue }
            let index = ids.firstIndex(of: header.treeID)
            if header.kind == .isShared ? index == nil : databaseScope == .shared { continue }
            do throws(CKError) {
                // A private tree's keys are its zone's.
                let root = header.kind == .isShared ? index.map { names[$0] } ?? "" : ""
                let ring = ZoneRingID(owner: zone.owner, zone: zone.zone, root: root)
                let keys = try await zones.keysForReading(ring, upTo: header.keyNumber, for: account, options)
                if let keys { known.append(keys) }
            } catch {
                if error.keepsFromAsking, error.unreadableReason == nil { throw error }
            }
        }
        return known
    }
}

extension CKError {
    fileprivate static func withDoubtfulPlace(_ name: String, below root: String, unproved: String) -> CKError {
        .withoutKeys(
            "\(name.quotedName) is not saved: what is encrypted in it, or above it, belongs to another tree, and only the "
                + "server says that \(unproved.quotedName) is below \(root.quotedName), which is shared; if it belongs "
                + "there, set the parent of \(unproved.quotedName) again, save that, and try again")
    }
}

extension OutgoingRecord {
    /// Whether the save says which parent the record has: then it is the app's word.
    var setsParent: Bool { sent.version == nil || sent.parentEdit != nil }
}

extension ZoneTrees {
    /// Takes what the records of a request say of their parents: a record's own parent is the one that it is saved
    /// with, and so are those of the others.
    mutating func learnParents(of zone: OutgoingZone) {
        for outgoing in zone.saves where outgoing.setsParent {
            learn(outgoing.name, parent: outgoing.sent.parent)
        }
    }
}
