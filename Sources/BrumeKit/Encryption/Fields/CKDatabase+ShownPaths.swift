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
        // Roots whose rings this device has kept name trees as well as those that it has looked at since.
        let knownRoots: Set<String> =
            databaseScope == .shared ? try await zones.othersZone(zone.id.ringID, for: account).roots : []
        let seen = try await treesSeen(of: zone, places, roots, trees, sealer, account, options)
        var refusals: [String: CKError] = [:]
        var doubtful: [DoubtfulPlace] = []
        var knownIDs: Set<[UInt8]>?
        for outgoing in places.map({ zone.saves[$0] }) {
            guard let root = roots[outgoing.name], root != outgoing.name else { continue }
            let tree = sealer.tree(root: root)
            if tree.kind == .isPrivate, databaseScope == .shared || sealer.isPerZone { continue }
            if databaseScope == .shared, knownIDs == nil {
                knownIDs = Set(
                    knownRoots.filter { !$0.isEmpty }.map { Tree(place: tree.place, root: $0, kind: .isShared).id })
            }
            let place = DoubtfulPlace(
                outgoing, moving[outgoing.name], below: root, of: tree, isGiven: given.contains(outgoing.name), trees,
                seen: seen, known: knownIDs)
            guard let place else { continue }
            if place.isOutOfSight {
                refusals[place.name] = .withDoubtfulPlace(
                    place.name, below: root, unproven: CKRecord.ID(recordName: place.name, zoneID: zone.id))
            } else {
                doubtful.append(place)
            }
        }
        if doubtful.isEmpty { return (refusals, []) }
        let names = Set(doubtful.flatMap { $0.path.names[$0.index...].dropLast() }).subtracting(given)
        let records = try await fetchRaw(names.sorted(), zone.id, desiredKeys: [], account, options)
        var inPrivateTrees: Set<String> = []
        for item in doubtful {
            let stamped = item.path.names.compactMap { records[$0] }
            // Stamps of what was moved here by an owner's device may be of a share that this device has keys of, too.
            let roots = item.shownPath + knownRoots.subtracting(item.shownPath + [""]).sorted()
            let rings = try await keys(ofStamps: stamped, of: roots, zone.id, account, options)
            func ciphers(_ header: ValueHeader) -> [TreeCipher] { rings.flatMap { $0.ciphers(header) } }
            // What was noted of a record ends with a save that puts it elsewhere, also while this goes on.
            let noted = zones.withMovedZones { $0.notedRecords(in: zone.id.ringID) }
            let moved = zone.moved.filter { noted.contains($0.key) }
            let unproved =
                if let ids = item.anewIDs {
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
            refusals[item.name] = .withDoubtfulPlace(
                item.name, below: item.root, unproven: CKRecord.ID(recordName: unproved, zoneID: zone.id))
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
        var known = zones.trees(zone.id.ringID).forOneOperation()
        let new = Set(zone.saves.filter { $0.sent.version == nil && !$0.keepsParent }.map(\.name))
        var unseen: Set<String> = []
        for outgoing in places.map({ zone.saves[$0] }) where !sealer.isPerZone {
            guard let root = roots[outgoing.name], root != outgoing.name else { continue }
            let above = trees.path(of: outgoing.name, parent: outgoing.parent).dropFirst().prefix { $0 != root }
            unseen.formUnion(above.filter { !known.knowsTrees(of: $0) })
        }
        unseen.subtract(new)
        if unseen.isEmpty { return known }
        try await fetchParents(of: unseen.sorted(), withTrees: true, into: &known, zone.id, account, options)
        return known
    }

    /// The keys with which stamps of records may have been made: those that are known, and those of shared trees with
    /// these roots.
    private func keys(
        ofStamps records: some Sequence<Record>, of names: [String], _ zoneID: CKRecordZone.ID,
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

/// A record whose place has to be proved before something is encrypted in it with the keys of the tree in which it is
/// shown.
private struct DoubtfulPlace {
    let name: String
    let root: String
    let path: ShownPath
    /// The first of the path whose place needs a proof.
    let index: Int
    /// All that are above it, as they are shown.
    let shownPath: [String]
    /// The trees of its values, where all of these are encrypted anew.
    let anewIDs: Set<[UInt8]>?
    /// Whether the root is further up than is looked, so that nothing above the record bears it out.
    let isOutOfSight: Bool

    /// Nil where nothing is in doubt.
    ///
    /// - Parameters:
    ///   - fetched: The record as the server has it, where it moves.
    ///   - isGiven: Whether the app says below which record it is.
    ///   - trees: With which the root was found.
    ///   - seen: With what the device has seen encrypted in records.
    ///   - known: The trees that say something here; nil for all.
    init?(
        _ outgoing: OutgoingRecord, _ fetched: Record?, below root: String, of tree: Tree, isGiven: Bool,
        _ trees: ZoneTrees, seen: ZoneTrees, known: Set<[UInt8]>?
    ) {
        // More than are kept of a record may be any.
        let known = known?.union([ZoneTrees.moreTrees])
        func evidence(_ ids: Set<[UInt8]>) -> Set<[UInt8]> { known.map { ids.intersection($0) } ?? ids }
        name = outgoing.name
        self.root = root
        let shown = outgoing.treeIDs.union((fetched?.valueHeaders ?? []).map(\.treeID))
        let ids = evidence(shown.union(seen.treeIDs(of: name)))
        shownPath = trees.path(of: name, parent: outgoing.parent)
        let isInSight = shownPath.contains(root)
        path = ShownPath(isInSight ? Array(shownPath.prefix { $0 != root }) + [root] : [name, root], in: tree.place)
        isOutOfSight = !isInSight && tree.kind == .isShared && ids != [tree.id]
        let above = path.firstToProveAbove { evidence(seen.treeIDs(of: $0)) }
        // In a private tree an app may put a record below one that has no stamp.
        let own = tree.kind == .isPrivate && isGiven ? nil : path.firstToProve(ids)
        guard let first = isOutOfSight ? 0 : [own, above].compactMap(\.self).min() else { return nil }
        index = outgoing.isEncryptedAnew ? 0 : first
        anewIDs = outgoing.isEncryptedAnew ? ids : nil
    }
}

extension OutgoingRecord {
    /// Whether the save says which parent the record has: then it is the app's word.
    var setsParent: Bool { !keepsParent && (sent.version == nil || sent.parentEdit != nil) }
}

extension OutgoingRecord {
    /// Whether the record has the parent that the app has given it once the save is done: nil says nothing in an
    /// instance that knows none.
    var changesParent: Bool {
        sent.parentEdit != nil && !keepsParent && (sent.parent != nil || sent.version != nil)
    }
}

extension ZoneTrees {
    /// Takes what the records of a request say of their parents: a record's own parent is the one that it is saved
    /// with, and so are those of the others.
    mutating func learnParents(of zone: OutgoingZone) {
        for outgoing in zone.saves where outgoing.setsParent || outgoing.serversParent != nil {
            learn(outgoing.name, parent: outgoing.parent)
        }
    }
}
